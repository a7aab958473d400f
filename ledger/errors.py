"""Every error that stackproof raises on purpose.

An error says what is wrong, where, and what to do, in one line. Only the command line turns it into an exit code.
"""

from __future__ import annotations


class StackproofError(Exception):
    """Something the user can put right.

    `where` is a file, a file with a line (`file:14`) or a run id; `todo` is the next step in the imperative.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, todo: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.todo = todo

    def diagnostics(self) -> str:
        """The error as one line: `where: what; todo`."""
        line = f"{self.where}: {self.what}" if self.where else self.what
        line = f"{line}; {self.todo}" if self.todo else line
        return " ".join(line.split())

    def __str__(self) -> str:
        return self.diagnostics()


class InputError(StackproofError):
    """A file, argument or folder that cannot be used as it is."""


class PrerequisiteError(StackproofError):
    """Something that must be installed first; `todo` holds the command."""


class EvidenceError(StackproofError):
    """A run folder that breaks a rule of the format."""


class GitError(StackproofError):
    """A git repository that is missing, busy or refuses."""


class GitMissingError(GitError, PrerequisiteError):
    """git itself is not there."""


class StorageError(StackproofError):
    """A disk that is full, read-only or failing. What was sealed before it stays whole."""
