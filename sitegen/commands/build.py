"""`stackproof build`: the static site."""

from __future__ import annotations

from pathlib import Path

import click

from ledger import workspace as workspaces
from sitegen import publishing


@click.command(epilog="Example: stackproof build --strict --site-dir public")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 on a warning, as of a page that cites a retracted run or says what the tables contradict.",
)
@click.option(
    "--site-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the site goes (default: site_dir of mkdocs.yml, else `site`).",
)
@click.option("--pages-only", is_flag=True, help="Write the pages (Markdown and finished HTML) for another builder.")
def command(strict: bool, site_dir: Path | None, pages_only: bool) -> int:
    """Build the static site of this workspace: it opens from disk, without a server or a network."""
    workspace = workspaces.find()
    result = publishing.pages(workspace) if pages_only else publishing.build(workspace, site_dir)
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(f"{'Pages' if pages_only else 'Site'}: {result.place}")
    return 1 if strict and result.warnings else 0
