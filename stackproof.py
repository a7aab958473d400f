"""The front door: one command over the three rooms. Each subcommand is loaded only when it is asked for."""

from __future__ import annotations

import importlib
import os
import sys

import click

from ledger.errors import StackproofError
from ledger.plain_text import neutral

COMMANDS = {
    "init": "collector.commands.init",
    "collect": "collector.commands.collect",
    "verify": "ledger.commands.verify",
    "query": "ledger.commands.query",
    "catalog": "ledger.commands.catalog",
    "schema": "ledger.commands.schema",
    "trace": "ledger.commands.trace",
    "retract": "ledger.commands.retract",
    "supersede": "ledger.commands.supersede",
    "compare": "sitegen.commands.compare",
    "review": "sitegen.commands.review",
    "build": "sitegen.commands.build",
    "serve": "sitegen.commands.serve",
}
"""{subcommand: module}; each module holds a click command named `command`."""


class FrontDoor(click.Group):
    """A group that imports a subcommand's module on first use, so that `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands in the order of a day's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name]}.command is not a click command")
        return command


@click.group(cls=FrontDoor, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stackproof", prog_name="stackproof")
def cli() -> None:
    """Run, seal, query, compare and explain complete AI stacks."""


def main() -> None:
    """Run the command line; errors become one line on stderr and exit code 2."""
    try:
        code = cli.main(standalone_mode=False, auto_envvar_prefix="STACKPROOF")
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except StackproofError as error:
        click.echo(f"error: {neutral(error.diagnostics())}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
