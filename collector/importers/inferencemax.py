"""InferenceMAX, now InferenceX: `agg_*.json`, one configuration a file, and `agg_bmk.json`, a list of them.

Layout: https://github.com/SemiAnalysisAI/InferenceX (`utils/process_result.py`, the artifact `results_bmk`). Times are
seconds, each result is one run.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from collector.importers import dialect, draft, names, serving, values
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import Files, first_lines, mapping
from collector.importers.interface import LIKELY, SURE, CollectionImporter, Facts, Match
from ledger.errors import InputError
from ledger.public import Collection, Problem

KEYS = ("hw", "conc", "tput_per_gpu")
"""What every result of a fixed load has."""
_POWER = ("average_power_per_device@inferencemax", "energy_per_output_token@inferencemax")
_CLOSE = 0.02


class InferenceMax(CollectionImporter):
    """Results of InferenceMAX's nightly runs."""

    name = "inferencemax"
    title = "InferenceMAX / InferenceX results (agg_*.json)"

    def detect(self, path: Path) -> Match | None:
        """By a result's keys."""
        if path.is_dir():
            for each in sorted([*path.glob("*.json"), *path.glob("*/*.json")])[:50]:
                if each.is_file() and _has_keys(first_lines(each)):
                    return Match(LIKELY, f"{each.relative_to(path)} is a result of InferenceMAX")
            return None
        if path.suffix == ".json" and _has_keys(first_lines(path)):
            return Match(SURE, f"a result of InferenceMAX: {', '.join(KEYS)}")
        return None

    def read(self, files: Files, facts: Facts) -> Collection:
        """Every configuration below the path; of a folder, files of other kinds are told and left out."""
        language = dialect.load("inferencemax")
        problems: list[Problem] = []
        drafts: list[Draft] = []
        for name in files.names(".json"):
            content = files.json(name)
            found = [each for each in (content if isinstance(content, list) else [content]) if _is_result(each)]
            total = len(content) if isinstance(content, list) else 1
            if not found and not files.path.is_dir():
                todo = "name an agg_*.json or a folder with some"
                raise InputError("holds no result of a fixed load", where=files.where(name), todo=todo)
            if len(found) < total:
                what = f"{name}: {total - len(found)} of {total} entries are no results of a fixed load: not taken"
                problems.append(Problem("other_format", what))
            drafts += [_draft(record, language) for record in found]
        aggregated = [name for name in files.names("agg_bmk.json") if files.path.is_dir()]
        if aggregated and len(files.taken) > len(aggregated):
            problems.append(Problem("aggregated", f"{PurePosixPath(aggregated[0]).name} may repeat the other files"))
        return draft.finish(self.name, self.title, drafts, language, files, facts, problems)


def _has_keys(text: str) -> bool:
    return all(f'"{key}"' in text for key in KEYS)


def _is_result(record: Any) -> bool:
    return all(key in mapping(record) for key in KEYS)


def _draft(record: dict[str, Any], language: Dialect) -> Draft:
    hardware = str(record.get("hw") or "").removeprefix("cluster:")
    framework, version = names.framework(values.known(record.get("framework")))
    made = Draft(_id(record, hardware), "", framework=framework, framework_version=version)
    serving.describe(made)
    parallel, devices = _devices(record)
    made.hardware = {**names.hardware(hardware), "count": devices}
    made.workload |= {
        "model": values.known(record.get("model")),
        "precision": names.precision(values.known(record.get("precision"))),
        "input_length": values.whole(record.get("isl")),
        "output_length": values.whole(record.get("osl")),
        "concurrency": values.whole(record.get("conc")),
        "load": "closed loop",
        "parallelism": parallel,
    }
    made.settings = {
        name: record[name]
        for name in (
            "image",
            "spec_decoding",
            "mtp",
            "disagg",
            "is_multinode",
            "prefill_hw",
            "decode_hw",
            "date",
            "run_url",
        )
        if not values.is_nothing(record.get(name))
    }
    count = f"{devices} × " if devices else ""
    made.title = (
        f"{made.workload['model']} {record.get('precision')} on {count}{made.hardware.get('device')}, {framework}, "
        f"{record.get('isl')}/{record.get('osl')} tokens, {record.get('conc')} in flight"
    )
    made.cannot_show["repeats"] = "one run"
    serving.take_all(made, language, record, None)
    _judge(made, record)
    return made


def _id(record: dict[str, Any], hardware: str) -> str:
    parallel = "-".join(f"{name}{record[name]}" for name in ("tp", "ep", "prefill_tp", "decode_tp") if name in record)
    model = record.get("infmax_model_prefix") or PurePosixPath(str(record.get("model") or "model")).name
    parts = [model, record.get("precision"), record.get("framework"), hardware, parallel, f"conc{record.get('conc')}"]
    lengths = f"{record.get('isl')}x{record.get('osl')}" if "isl" in record else None
    return "-".join(str(part) for part in (*parts, lengths) if part)


def _devices(record: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    """Degrees of parallelism, and all devices: those that prefill and decode, or TP x PP x PCP."""
    split = {name: record[name] for name in record if name.startswith(("prefill_", "decode_")) and name[-3:] != "_hw"}
    if "num_prefill_gpu" in record or "num_decode_gpu" in record:
        both = [values.whole(record.get(name)) or 0 for name in ("num_prefill_gpu", "num_decode_gpu")]
        return split, sum(both) or None
    wanted = ("tp", "pp", "ep", "dp_attention", "dcp_size", "pcp_size")
    parallel: dict[str, Any] = {name: record[name] for name in wanted if name in record}
    tensor = values.whole(record.get("tp"))
    others = [values.whole(record.get(name)) or 1 for name in ("pp", "pcp_size")]
    return parallel, tensor * others[0] * others[1] if tensor else None


def _judge(made: Draft, record: dict[str, Any]) -> None:
    """Take back what cannot be true: times in another unit, power that the source itself calls not valid."""
    tpot, rate = made.values.get("tpot.mean"), made.values.get("interactivity.mean@inferencemax")
    if tpot and rate and abs(tpot * rate - 1) > _CLOSE:
        what = f"mean TPOT {tpot:g} s and {rate:g} tokens/s a user do not fit: times may be in another unit"
        made.problem("mixed_units", what)
        for metric in [each for each in made.values if each.startswith(("ttft.", "tpot.", "inter_chunk_gap.", "e2e."))]:
            made.withdraw(metric, "its unit is not certain: TPOT and interactivity do not fit")
    if "power_valid" in record and not values.whole(record["power_valid"]):
        for metric in _POWER:
            made.withdraw(metric, "the source calls its power not valid")
    if not made.values:
        made.state, made.failure = "failed", "no value that can be one"
    if str(record.get("disagg")).lower() == "true":
        what = "output tokens are divided by the decode devices, input tokens by the prefill devices"
        made.problem("disaggregated", what)
