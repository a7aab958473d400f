"""Rendering of a chart's SVG template."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from sitegen.templates import render


def draw(name: str, **values: Any) -> Markup:
    """The SVG of `site_templates/charts/<name>.svg.jinja`; its templates escape all text."""
    return Markup(render(f"charts/{name}.svg.jinja", **values))  # noqa: S704 (the template escaped it)
