"""Reading in another process: `python -m ledger.traces.elsewhere FILE FOLDER PART OF` writes tables, prints facts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.errors import InputError, StackproofError
from ledger.traces.interface import Facts, Part


class Elsewhere:
    """A part of a trace file that another process reads into Parquet files."""

    def __init__(self, process: subprocess.Popen[bytes], path: Path, folder: Path, part: Part) -> None:
        self._process, self._path, self.folder, self.part = process, path, folder, part

    def wait(self) -> Facts:
        """What the part's reader learnt, once it is done. Raises InputError when it failed."""
        out, err = self._process.communicate()
        try:
            answer = json.loads(out)
        except ValueError:
            last = err.decode(errors="replace").strip().rpartition("\n")[2]
            raise InputError(
                f"could not be read in a process of its own ({last or f'it ended with {self._process.returncode}'})",
                where=str(self._path),
                todo="free memory or disk space and run the same command again",
            ) from None
        if "facts" in answer:
            return Facts.of(answer["facts"])
        raise InputError(answer["what"], where=answer["where"], todo=answer["todo"])


@contextmanager
def elsewhere(path: Path, folder: Path, part: Part) -> Iterator[Elsewhere]:
    """Start reading a part of a file into `folder`; the process ends with the context at the latest."""
    command = [sys.executable, "-m", __name__, str(path), str(folder), str(part.number), str(part.of)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        yield Elsewhere(process, path, folder, part)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _answer(path: Path, folder: Path, part: Part) -> dict[str, object]:
    from ledger.traces.reading import format_of  # noqa: PLC0415 (it reads through this module)
    from ledger.traces.storage import Writing  # noqa: PLC0415

    facts = Facts()
    try:
        with Writing(folder, part) as writing:
            for batch in format_of(path).read(path, facts, part):
                writing.write(batch)
    except StackproofError as error:
        return {"what": error.what, "where": error.where, "todo": error.todo}
    return {"facts": facts.data()}


if __name__ == "__main__":
    file, into, number, of = sys.argv[1:]
    print(json.dumps(_answer(Path(file), Path(into), Part(int(number), int(of)))))
