"""The pages of the site: generated Markdown for the theme, and one finished HTML page a run."""

from sitegen.pages.site import ASSETS_PATH, Finding, Site, write

__all__ = ["ASSETS_PATH", "Finding", "Site", "write"]
