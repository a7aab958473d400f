"""Who writes a status record, about which run."""

from __future__ import annotations

from pathlib import Path

import click

from ledger import git, run_folder
from ledger.errors import GitError, InputError
from ledger.plain_text import neutral
from ledger.run_folder import RunFolder


def author(who: str | None, folder: Path) -> str:
    """`who`, or the name and address that git knows for `folder`. Raises InputError when neither is there."""
    if who is not None and who.strip():
        return who.strip()
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
    return text


def own_run(evidence: Path, name: str) -> RunFolder:
    """The run of this evidence folder that `name` means. Raises InputError."""
    found = run_folder.find(evidence, name)
    if found.path.resolve().parents[2] != evidence.resolve():
        raise InputError("is not a run of this workspace", where=str(found.path), todo=f"name a run below {evidence}")
    return found


def announce(path: Path, said: str) -> None:
    """Print where a record was written, and that it counts only when it is committed."""
    place = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    click.echo(f"{said}: {neutral(str(place))}")
    click.echo(f"commit it: git add -f {neutral(str(place))} && git commit")


def _config(repository: git.Repository, key: str) -> str:
    try:
        return repository.text("config", "--get", key)
    except GitError as error:
        if "not installed" in error.what:
            raise
        return ""
