"""A workspace: the folder with mkdocs.yml, where benchmark files, evidence and pages belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ledger import quantity
from ledger.errors import InputError
from ledger.suggestion import nearest

CONFIG = "mkdocs.yml"
FOLDERS = ("evidence", "benchmarks")
"""Options of `extra.stackproof`: folders that lie elsewhere than under these names."""
OF_THE_SITE = ("trace_viewer",)
"""Further ones, which the site reads and checks."""
LOCAL = ".stackproof"
"""Folder for what can be made again: caches, generated pages. Never committed."""


@dataclass(frozen=True)
class Workspace:
    """Paths of one workspace, all absolute, and the `extra.stackproof` options of its mkdocs.yml."""

    root: Path
    options: dict[str, Any]

    @property
    def evidence(self) -> Path:
        """The run folders."""
        return self.root / str(self.options.get("evidence", "evidence"))

    @property
    def benchmarks(self) -> Path:
        """The benchmark files."""
        return self.root / str(self.options.get("benchmarks", "benchmarks"))

    @property
    def local(self) -> Path:
        """What can be deleted and made again."""
        return self.root / LOCAL

    @property
    def traces(self) -> Path:
        """Tables of traces that were read before."""
        return self.local / "traces"

    def benchmark_files(self) -> list[Path]:
        """Every benchmark file of the workspace, sorted."""
        return sorted(self.benchmarks.glob("*.yaml"))

    def find_benchmark(self, name: str) -> Path:
        """The file that `name` means: a path, or a name in the benchmarks folder. Raises InputError."""
        direct = Path(name)
        if direct.suffix in {".yaml", ".yml"} or direct.exists():
            if not direct.is_file():
                raise InputError("no such benchmark file", where=name, todo=self._known_benchmarks())
            return direct
        path = self.benchmarks / f"{name}.yaml"
        if not path.is_file():
            raise InputError(f"no benchmark {name!r}", where=str(self.benchmarks), todo=self._known_benchmarks())
        return path

    def _known_benchmarks(self) -> str:
        names = [path.stem for path in self.benchmark_files()]
        return (
            f"use one of: {', '.join(names)}"
            if names
            else "run `stackproof init DIR --example cpu-training` for a first one"
        )


def find(start: Path | None = None) -> Workspace:
    """The workspace that holds `start` (default: the current folder). Raises InputError outside of one."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / CONFIG).is_file():
            return Workspace(folder, _options(folder / CONFIG))
    raise InputError(
        "is not in a stackproof workspace (no mkdocs.yml here or above)",
        where=str(here),
        todo="change to one, or make one with `stackproof init DIR`",
    )


class _AnyTagLoader(yaml.SafeLoader):
    """Reads past the `!!python/name:` and `!ENV` tags that mkdocs.yml may hold; they mean nothing here."""


_AnyTagLoader.add_multi_constructor("", lambda *_: None)


def _options(config: Path) -> dict[str, Any]:
    try:
        data = yaml.load(config.read_text(encoding="utf-8"), Loader=_AnyTagLoader)  # noqa: S506 (a SafeLoader)
    except RecursionError:
        raise InputError("nests too deep", where=str(config), todo="correct the file") from None
    # PyYAML's own constructors break in their own ways on text that its tag does not fit, such as `!!bool foo`.
    except (yaml.YAMLError, OSError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"cannot be read ({line})", where=str(config), todo="correct the file") from None
    extra = (data or {}).get("extra") if isinstance(data, dict) else None
    options = (extra or {}).get("stackproof") if isinstance(extra, dict) else None
    return _checked(options, config) if isinstance(options, dict) else {}


def _checked(options: dict[Any, Any], config: Path) -> dict[str, Any]:
    """The options, when each is known and names a folder below the workspace or beside it. Raises InputError."""
    for key, value in options.items():
        if key in OF_THE_SITE:
            continue
        if key not in FOLDERS:
            what, todo = f"extra.stackproof.{key}: unknown option", nearest(str(key), (*FOLDERS, *OF_THE_SITE))
        elif not isinstance(value, str) or not value.strip(" ./"):
            what = f"extra.stackproof.{key}: must be a folder's path, got {quantity.shown(value)}"
            todo = f"write one, such as `{key}`"
        else:
            continue
        raise InputError(what, where=str(config), todo=todo)
    return options
