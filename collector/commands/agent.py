"""`stackproof agent`: the long-running collector on a benchmark host, its status, and its systemd unit."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ledger import quantity
from ledger.commands.group import Group
from ledger.errors import InputError
from ledger.plain_text import neutral

DEFAULT_STATE = Path("~/.local/state/stackproof-agent")
WIDTH = 80


class Period(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A duration as benchmark files write it, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds of `10 min`."""
        try:
            seconds = quantity.duration(value)
        except ValueError as error:
            self.fail(f"{error}; write one such as '10 min'", param, ctx)
        if not 1 <= seconds <= 86_400:
            self.fail(f"must be from 1 s to 1 day, got {value}", param, ctx)
        return seconds


STATE = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_STATE,
    show_default=True,
    metavar="DIR",
    help="Where the agent keeps its clone and its state file.",
)


@dataclass(frozen=True)
class Asked:
    """The options of an agent, as they were given."""

    remote: str | None
    state: Path
    branch: str
    folder: str
    signers: Path | None
    trust_from: str | None
    trust_unsigned: bool
    only: tuple[str, ...]
    interval: float

    def words(self) -> list[str]:
        """The same options as words of a command line."""
        pairs = [("--remote", self.remote), ("--state", self.state), ("--branch", self.branch)]
        pairs += [("--folder", self.folder or None), ("--signers", self.signers), ("--trust-from", self.trust_from)]
        pairs += [("--benchmark", name) for name in self.only] + [("--interval", f"{self.interval:g} s")]
        found = [word for name, value in pairs if value is not None for word in (name, str(value))]
        return found + (["--trust-unsigned"] if self.trust_unsigned else [])


@click.group("agent", cls=Group, invoke_without_command=True)
@click.option("--remote", metavar="URL", help="The workspace's git repository, as `git clone` takes it.")
@STATE
@click.option("--branch", default="main", show_default=True, help="The protected branch, whose files are run.")
@click.option("--folder", default="", metavar="DIR", help="The workspace's folder in the repository.  [its root]")
@click.option(
    "--signers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Whose commits are run: an allowed-signers file of ssh-keygen.",
)
@click.option("--trust-from", metavar="COMMIT", help="Trust this commit and all before it; check those after it.")
@click.option("--trust-unsigned", is_flag=True, help="Run the branch's files whoever made its commits.")
@click.option("--benchmark", "only", multiple=True, metavar="NAME", help="Only this benchmark (may be given again).")
@click.option("--interval", type=Period(), default="10 min", show_default=True, help="Between two looks at the remote.")
@click.option("--once", is_flag=True, help="One pass: run what is missing or due, push, and end.")
@click.pass_context
def command(
    context: click.Context,
    remote: str | None,
    state: Path,
    branch: str,
    folder: str,
    signers: Path | None,
    trust_from: str | None,
    trust_unsigned: bool,
    only: tuple[str, ...],
    interval: float,
    once: bool,
) -> int | None:
    """Run benchmarks on this host for as long as it is up.

    The agent keeps a clone of the workspace's repository, runs what its benchmark files lack, what is stale and what
    their `schedule` asks for, commits it on a branch of its own (evidence/HOST/DATE), and pushes that. It never writes
    to the protected branch, and runs its files only when allowed signers made the commits.

    SIGTERM lets the running trial end; a second one ends the trial too.

    \b
    Example:
      stackproof agent --remote git@example.org:team/bench.git --signers /etc/stackproof/signers
    """
    asked = Asked(remote, state.expanduser(), branch, folder, signers, trust_from, trust_unsigned, only, interval)
    if context.invoked_subcommand is not None:
        context.obj = asked
        return None
    return _run(asked, once)


def _run(asked: Asked, once: bool) -> int:
    from collector.agent import loop, trust  # noqa: PLC0415 (the subcommands need none of it)
    from collector.agent.lock import only_agent  # noqa: PLC0415
    from collector.agent.patience import Patience  # noqa: PLC0415
    from collector.progress import Progress  # noqa: PLC0415

    url = _remote(asked)
    state = asked.state.absolute()
    allowed = trust.make(asked.signers, asked.trust_from, unsigned=asked.trust_unsigned, clone=state / loop.CLONE)
    options = loop.Options(
        url=url,
        state=state.resolve(),
        branch=asked.branch,
        folder=_folder(asked.folder),
        interval_s=asked.interval,
        only=asked.only,
        trust=allowed,
    )
    patience = Patience()
    with only_agent(options.state), patience.caught():
        return loop.start(options, patience, Progress(), once=once)


def _remote(asked: Asked) -> str:
    if not asked.remote:
        raise InputError("no remote to work for", todo="name the workspace's repository with --remote URL")
    if asked.remote.startswith("-"):
        raise InputError(f"{asked.remote!r} is no address of a repository", todo="name it as `git clone` takes it")
    local = Path(asked.remote)
    return str(local.resolve()) if local.exists() else asked.remote


def _folder(folder: str) -> str:
    parts = [part for part in Path(folder).parts if part != "."]
    if Path(folder).is_absolute() or ".." in parts:
        raise InputError(f"--folder {folder!r} leaves the repository", todo="write it from the repository's root")
    return "/".join(parts)


@command.command("status")
@click.option(
    "--state", type=click.Path(path_type=Path), metavar="DIR", help="The agent's state folder, where not before."
)
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@click.pass_obj
def status(asked: Asked, state: Path | None, output: str) -> int:
    """Tell what the agent of this host does, and what it did last.

    Ends with 0 while an agent runs, with 1 when none does.

    \b
    Example:
      stackproof agent status
      stackproof agent status --state /var/lib/stackproof --format json
    """
    from collector.agent import lock  # noqa: PLC0415 (quick to leave out)
    from collector.agent import state as states  # noqa: PLC0415

    folder = (state or asked.state).expanduser()
    told, runs = states.read(folder), lock.is_held(folder)
    if output == "json":
        click.echo(json.dumps({"running": runs, "state": told}, indent=1, sort_keys=True))
    elif told is None:
        click.echo(f"no agent has run on {neutral(str(folder))}; start one with `stackproof agent --remote URL`")
    else:
        for line in _lines(told, runs):
            click.echo(neutral(line))
    return 0 if runs else 1


def _lines(told: dict[str, Any], runs: bool) -> list[str]:
    doing = str(told["state"]).replace("_", " ")
    now = f"{doing} since {told['since']}" if runs else f"not running (last seen {told['at']}, {doing})"
    counts, pending, last = told["counts"], told["pending"], told["last_push"]
    rows = [
        ("agent", f"{told['host']}, process {told['pid']}: {now}"),
        ("remote", f"{told['remote']}, branch {told['branch']}" + (f" at {told['main'][:12]}" if told["main"] else "")),
        ("work", f"{told['runs']}" if told["runs"] else ""),
        ("next look", told["next_look"] or ""),
        ("next due", told["next_due"] or ""),
        (
            "done",
            f"{counts['launched']} launches in {counts['batches']} batches: {counts['completed']} completed, "
            f"{counts['failed']} failed; {counts['pushes']} pushes in {counts['passes']} passes",
        ),
        ("last push", f"{last['branch']} ({last['commit'][:12]}) at {last['at']}" if last else "none yet"),
        ("waiting", f"{pending['files']} files on {', '.join(pending['branches'])}" if pending["files"] else "nothing"),
        ("error", f"{told['last_error']['at']}: {told['last_error']['what']}" if told["last_error"] else ""),
    ]
    lines = [line for name, text in rows if text for line in _row(name, text)]
    lines += ["", "benchmarks"] if told["benchmarks"] else []
    for name, each in sorted(told["benchmarks"].items()):
        due = f"; due again {each['next_due']}" if each["next_due"] else ""
        lines += _row(name, f"{each['state']}: {each['what']}{due}", indent=2)
    return lines


def _row(name: str, text: str, indent: int = 0) -> list[str]:
    first = " " * indent + name.ljust(11) + " "
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * 13, break_on_hyphens=False)


@command.command("install")
@click.option("--print", "print_it", is_flag=True, help="Print the unit; nothing is installed.")
@click.option("--user", metavar="NAME", help="Whom the agent runs as.  [who runs this command]")
@click.pass_obj
def install(asked: Asked, print_it: bool, user: str | None) -> None:
    """Print a systemd unit that runs the agent with the options given before `install`.

    \b
    Example:
      stackproof agent --remote git@example.org:team/bench.git --signers /etc/stackproof/signers install --print
    """
    if not print_it:
        todo = "add --print, and write what it prints to /etc/systemd/system/stackproof-agent.service"
        raise InputError("installs nothing by itself", where="stackproof agent install", todo=todo)
    remote = _remote(asked)
    if asked.signers is None and not asked.trust_unsigned:
        raise InputError("nobody is trusted yet", todo="give --signers FILE or --trust-unsigned before `install`")
    click.echo(unit(replace(asked, remote=remote), user or _user()), nl=False)


def _user() -> str:
    import getpass  # noqa: PLC0415 (only here)

    return getpass.getuser()


def unit(asked: Asked, user: str) -> str:
    """The text of a systemd service."""
    program = shutil.which("stackproof") or str(Path(sys.executable).with_name("stackproof"))
    signers = asked.signers.absolute() if asked.signers else None
    absolute = replace(asked, state=asked.state.expanduser().absolute(), signers=signers)
    command_line = " ".join(_quoted(word.replace("$", "$$")) for word in (program, "agent", *absolute.words()))
    path = os.environ.get("PATH", os.defpath)
    return f"""\
# /etc/systemd/system/stackproof-agent.service
# sudo systemctl daemon-reload && sudo systemctl enable --now stackproof-agent
[Unit]
Description=stackproof agent: runs a repository's benchmarks on this host
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User={user}
Environment={_quoted(f"PATH={path}")}
ExecStart={command_line}
Restart=on-failure
RestartSec=60
RestartPreventExitStatus=2
# SIGTERM goes to the agent alone, which lets the running trial end; after this long everything is ended.
KillMode=mixed
TimeoutStopSec=2h
NoNewPrivileges=yes
PrivateTmp=no

[Install]
WantedBy=multi-user.target
"""


def _quoted(word: str) -> str:
    """A word of a systemd unit: its % would be expanded, and it ends at a space unless it is quoted."""
    word = word.replace("%", "%%")
    if word == shlex.quote(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
