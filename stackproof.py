"""The front door: one command over the three rooms. Each subcommand is loaded only when it is asked for."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from pathlib import Path
from typing import NoReturn, TextIO

import click

from ledger.commands.group import Group, usage_line
from ledger.errors import StackproofError, StorageError
from ledger.plain_text import neutral

COMMANDS = {
    "init": "collector.commands.init",
    "collect": "collector.commands.collect",
    "agent": "collector.commands.agent",
    "workload": "collector.commands.workload",
    "import": "collector.commands.import_",
    "shortlist": "collector.commands.shortlist",
    "export": "collector.commands.export",
    "doctor": "collector.commands.doctor",
    "verify": "ledger.commands.verify",
    "query": "ledger.commands.query",
    "catalog": "ledger.commands.catalog",
    "trace": "ledger.commands.trace",
    "retract": "ledger.commands.retract",
    "supersede": "ledger.commands.supersede",
    "compare": "sitegen.commands.compare",
    "schema": "sitegen.commands.schema",
    "review": "sitegen.commands.review",
    "build": "sitegen.commands.build",
    "serve": "sitegen.commands.serve",
}
"""{subcommand: module}; each module holds a click command named `command`."""


DEBUG = "STACKPROOF_DEBUG"
"""Set to anything: what should never happen ends with its traceback instead of one line."""
_OUTPUT_FAILS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG})


class FrontDoor(Group):
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
    """Run the command line; an error becomes one line on stderr and an exit code."""
    _need_streams()
    try:
        code = cli.main(prog_name="stackproof", standalone_mode=False, auto_envvar_prefix="STACKPROOF")
        sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _fail(usage_line(error), error.exit_code)
    except StackproofError as error:
        _fail(error.diagnostics(), error.exit_code)
    except BrokenPipeError:
        _drop(sys.stdout)
        sys.exit(141)
    except Exception as error:
        _fail_unexpectedly(error)
    sys.exit(code if isinstance(code, int) else 0)


def _need_streams() -> None:
    """All three streams, able to write any text: what prints nothing because nobody can read it has not run."""
    nowhere = Path(os.devnull)
    sys.stdin = sys.stdin or nowhere.open()
    sys.stderr = sys.stderr or nowhere.open("w")
    if sys.stdout is None:
        _fail("standard output is closed; send it to a file, or to /dev/null", 2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _fail_unexpectedly(error: Exception) -> NoReturn:
    """The last line of defence: what the system refuses, output or memory that is full, or a fault of ours."""
    if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_FAILS:
        _drop(sys.stdout)
        what = f"cannot be written ({error.strerror})"
        failure = StorageError(what, where="standard output", todo="free some space, or send it elsewhere")
        _fail(failure.diagnostics(), failure.exit_code)
    if os.environ.get(DEBUG):
        raise error
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        todo = f"correct that path or its permissions ({DEBUG}=1 shows where it was needed)"
        refused = StackproofError(error.strerror.lower(), where=str(error.filename)[:200], todo=todo)
        _fail(refused.diagnostics(), refused.exit_code)
    if isinstance(error, MemoryError):
        _fail("the memory is full; end other programs, or ask for less at once", 2)
    said = " ".join(str(error).split())[:300]
    kind = f"{type(error).__name__}: {said}" if said else type(error).__name__
    _fail(f"a fault in stackproof itself ({kind}); run it again with {DEBUG}=1 and report the traceback", 1)


def _fail(line: str, code: int) -> NoReturn:
    try:
        click.echo(f"error: {neutral(line)}", err=True)
    except OSError:
        _drop(sys.stderr)
    sys.exit(code)


def _drop(stream: TextIO) -> None:
    """Nothing more can be printed there: let Python's own last flush, which decides the exit code, go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
