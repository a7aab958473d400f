"""The wheel holds every file that the installed command reads: SQL, templates, patterns, benchmarks, dot files."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("collector", "sitegen", "ledger", "site_templates")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel that is built from a copy of the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ROOMS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "stackproof.py"):
        shutil.copy(ROOT / name, source)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "--wheel-dir",
        folder,
    ]
    done = subprocess.run([*map(str, build), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(zipfile.ZipFile(next(folder.glob("*.whl"))).namelist())


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_of_a_room_is_packed(room: str, packed: set[str]) -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    assert files
    assert files <= packed, f"not in the wheel: {sorted(files - packed)}"


def test_the_front_door_is_packed_and_the_tests_are_not(packed: set[str]) -> None:
    assert "stackproof.py" in packed
    assert not [name for name in packed if name.startswith(("tests/", "evidence/"))]
