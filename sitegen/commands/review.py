"""`stackproof review`: what a pull request adds to the evidence, or breaks."""

from __future__ import annotations

import json

import click

from ledger import workspace
from sitegen import review_text
from sitegen.review import review


@click.command("review")
@click.option("--base", required=True, metavar="REV", help="The branch that the pull request goes to.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="How to print it.",
)
def command(base: str, form: str) -> int:
    """Say what this branch adds to the evidence of REV, and what it breaks, as one comment in Markdown.

    Its first line is the state; then come violations, verdicts before and after, runs and status records added.

    \b
    Exit code: 0 nothing is broken, 1 a violation, 2 it could not be reviewed.

    \b
    Example: stackproof review --base origin/main
    """
    found = review(workspace.find(), base)
    if form == "json":
        click.echo(json.dumps(review_text.to_json(found), indent=1, allow_nan=False))
    else:
        click.echo(review_text.to_markdown(found), nl=False)
    return 1 if found.violations else 0
