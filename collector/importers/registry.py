"""Every importer by its name. A new format is one file beside this one and one line here."""

from __future__ import annotations

from pathlib import Path

from collector.importers.aiperf import AiPerf
from collector.importers.ccl_bench import CclBench
from collector.importers.guidellm import GuideLlm
from collector.importers.inferencemax import InferenceMax
from collector.importers.interface import Importer, Match
from collector.importers.megatron_log import MegatronLog
from collector.importers.sglang_bench import SglangBench
from collector.importers.torchtitan_log import TorchtitanLog
from collector.importers.traces import TraceImporter
from collector.importers.vllm_bench import VllmBench
from ledger.errors import InputError
from ledger.suggestion import nearest

AUTO = "auto"
"""Stands for the importer that recognises a path."""
IMPORTERS: dict[str, Importer] = {
    importer.name: importer
    for importer in (
        CclBench(),
        VllmBench(),
        SglangBench(),
        GuideLlm(),
        AiPerf(),
        InferenceMax(),
        TorchtitanLog(),
        MegatronLog(),
        TraceImporter(),
    )
}


def get(name: str) -> Importer:
    """The importer of that name. Raises InputError with the nearest one."""
    if name not in IMPORTERS:
        raise InputError(f"no format {name!r}", todo=nearest(name, (*IMPORTERS, AUTO)))
    return IMPORTERS[name]


def recognise(path: Path) -> tuple[Importer, Match]:
    """The importer that is surest of `path`. Raises InputError when none knows it, or two are equally sure."""
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), todo="check the path")
    found = [(importer, match) for importer in IMPORTERS.values() if (match := importer.detect(path))]
    if not found:
        formats = ", ".join(IMPORTERS)
        raise InputError("is of no known format", where=str(path), todo=f"name the format: {formats}")
    found.sort(key=lambda each: -each[1].confidence)
    if len(found) > 1 and found[0][1].confidence == found[1][1].confidence:
        both = f"{found[0][0].name} or {found[1][0].name}"
        raise InputError(f"may be {both}", where=str(path), todo="name the format instead of auto")
    return found[0]
