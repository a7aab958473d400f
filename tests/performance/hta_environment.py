"""An environment of its own for Holistic Trace Analysis, which wants pandas before 3."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent


def hta_python(folder: Path) -> str:
    """The Python of an environment that has HTA, made in `folder` where it is not there. Exits where that fails."""
    python, ready = folder / "bin" / "python", folder / ".ready"
    wanted = HERE / "requirements-hta.txt"
    if not ready.exists() or ready.read_bytes() != wanted.read_bytes():
        print(f"installing Holistic Trace Analysis into {folder} …", file=sys.stderr)
        venv.create(folder, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
        ran = subprocess.run([*pip, "install", "--no-deps", "-r", str(wanted)])
        if ran.returncode:
            sys.exit("Holistic Trace Analysis cannot be installed; to measure speed without it: --peers json")
        ready.write_bytes(wanted.read_bytes())
    return str(python)
