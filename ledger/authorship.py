"""Who writes a status record, about which run."""

from __future__ import annotations

from pathlib import Path

import click

from ledger import git, run_folder
from ledger.errors import GitError, GitMissingError, InputError
from ledger.plain_text import neutral
from ledger.run_folder import RunFolder
from ledger.status import SETS_ASIDE, StatusRecord


def author(who: str | None, folder: Path) -> str:
    """`who`, or the name and address that git knows for `folder`. Raises InputError when neither is there."""
    if who is not None and who.strip():
        return _text(who.strip(), "--who")
    try:
        repository = git.Repository(folder, folder)
        parts = [_config(repository, "user.name"), _config(repository, "user.email")]
    except GitError as error:
        raise InputError(f"no name to sign with ({error.what})", todo="give one with --who NAME") from None
    name, address = parts
    if not name and not address:
        raise InputError("no name to sign with: git knows none", todo="give one with --who NAME")
    return f"{name} <{address}>" if name and address else name or address


def reason(why: str) -> str:
    """The reason as one paragraph. Raises InputError when it says nothing."""
    text = " ".join(why.split())
    if not text:
        raise InputError("--why says nothing", todo="say in a sentence what is wrong with the run")
    return _text(text, "--why")


def own_run(evidence: Path, name: str) -> RunFolder:
    """The run of this evidence folder that `name` means. Raises InputError."""
    found = run_folder.find(evidence, name)
    if found.path.resolve().parents[2] != evidence.resolve():
        raise InputError("is not a run of this workspace", where=str(found.path), todo=f"name a run below {evidence}")
    return found


def must_add(records: list[StatusRecord], record: StatusRecord) -> str | None:
    """What to note of a run that is out of use already. Raises InputError when `record` would say nothing new."""
    before = [each for each in records if each.kind in SETS_ASIDE]
    if any((each.kind, each.by, each.why) == (record.kind, record.by, record.why) for each in before):
        what = f"is {record.kind} already, for the same reason"
        raise InputError(what, where=record.run_id, todo="nothing was added; give another --why to add one")
    kinds = sorted({each.kind.value for each in before})
    return f"{record.run_id} was {' and '.join(kinds)} already; both records stand" if kinds else None


def announce(path: Path, said: str, note: str | None = None) -> None:
    """Print where a record was written, and that it counts only when it is committed."""
    if note:
        click.echo(f"note: {neutral(note)}", err=True)
    place = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    click.echo(f"{said}: {neutral(str(place))}")
    click.echo(f"commit it: git add -f {neutral(str(place))} && git commit")


def _text(said: str, option: str) -> str:
    try:
        said.encode()
    except UnicodeEncodeError:
        raise InputError(f"{option} is not UTF-8 text", todo="write it in UTF-8") from None
    return said


def _config(repository: git.Repository, key: str) -> str:
    try:
        return repository.text("config", "--get", key)
    except GitMissingError:
        raise
    except GitError:
        return ""
