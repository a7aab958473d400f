"""Rows of CCL-Bench's table and their cards, with the faults of the public toolkit told where they show."""

from __future__ import annotations

import re
from typing import Any

from collector.importers import ccl_bench_cards as cards
from collector.importers import names, values
from collector.importers.ccl_bench_cards import Card
from collector.importers.ccl_bench_launch import Launch
from collector.importers.dialect import Dialect
from collector.importers.draft import Draft
from collector.importers.files import mapping

_FELL_BACK = re.compile(
    r"[^.;]*\b(?:f[ae]ll(?:s|ing)? back to|indicat(?:es|ing) (?:a )?fallback|still show(?:ed|s)? \w+ kernels)[^.]*",
    re.I,
)
NO_REQUESTS = "averages of engine iterations from a trace, no requests"
ZERO_IS_NOTHING = {
    "straggler_delay@ccl-bench": "0 there stands for nothing: ranks never take the very same time",
    "exposed_copy_share@ccl-bench": "0 there stands for nothing: copies of JSON traces were not read",
}
_COMMUNICATION = (
    "communication_share@ccl-bench",
    "communication_time@ccl-bench",
    "overlap_share@ccl-bench",
    "all_reduce_bytes@ccl-bench",
    "all_gather_bytes@ccl-bench",
    "reduce_scatter_bytes@ccl-bench",
    "all_to_all_bytes@ccl-bench",
    "collective_bytes@ccl-bench",
)


def draft(name: str, row: dict[str, Any] | None, card: Card | None, launch: Launch, dialect: Dialect) -> Draft:
    """One row of the table (None: a card without one) and its card (None: a row without one), with all that is odd."""
    told = mapping(row.get("metadata")) if row is not None else {}
    facts = card.facts if card is not None else {key: values.known(value) for key, value in told.items()}
    framework, version = names.framework(facts.get("framework"))
    found = Draft(
        id=name,
        title=name,
        workload=cards.workload(facts, card.architecture if card is not None else {}),
        hardware=cards.hardware(facts),
        framework=framework,
        framework_version=values.text(facts.get("framework_version")) or version,
        settings=cards.settings(facts),
    )
    if card is not None and card.others:
        found.settings["card"] = card.others
    if launch.files:
        found.settings["launch_files"] = list(launch.files)
    _compare(found, told if row is not None else None, card)
    if row is None:
        found.state = "described"
    else:
        for metric, raw in mapping(row.get("metrics")).items():
            if metric in dialect.entries:
                found.take(dialect.entries[metric], raw)
            else:
                found.problem("unknown_metric", f"{metric} is not known here and is left out")
        _judge(found)
    _treatment(found, str(facts.get("description") or ""))
    _work(found, facts, launch)
    _topics(found, facts, row)
    return found


def _compare(found: Draft, told: dict[str, Any] | None, card: Card | None) -> None:
    if card is None:
        found.problem("no_card", "the card of this row is missing or cannot be read: facts are the row's own")
        return
    found.problems += card.problems
    differences = cards.disagreements(told, card) if told is not None else []
    if differences:
        found.problem("row_and_card_disagree", "; ".join(differences))


def _judge(found: Draft) -> None:
    """Take back what cannot be a value, and tell what contradicts itself."""
    single = found.hardware.get("count") == 1
    for metric, reason in ZERO_IS_NOTHING.items():
        if found.values.get(metric) == 0:
            found.withdraw(metric, reason)
    if found.workload.get("mixture_of_experts") and found.values.get("moe_share@ccl-bench") == 0:
        found.withdraw("moe_share@ccl-bench", "0 there on a mixture-of-experts model: no kernel's name was recognised")
    busy = found.values.get("communication_time@ccl-bench", 0.0)
    for metric in _COMMUNICATION:
        zero = found.values.get(metric) == 0
        if found.settings.get("communication_library") == "Gloo" and zero:
            found.withdraw(
                metric, "0 there stands for nothing: Gloo communicates on the host, only device kernels count"
            )
        elif single and metric == "overlap_share@ccl-bench":
            found.withdraw(metric, "one device: there is no communication to overlap")
        elif metric.endswith("_bytes@ccl-bench") and zero and busy > 0 and not single:
            sizes = [each for each in _COMMUNICATION if each.endswith("_bytes@ccl-bench")]
            if not any(found.values.get(each) for each in sizes):
                reason = f"0 there stands for nothing: communication took {busy:g} s"
                for each in sizes:
                    found.withdraw(each, reason)
    step = found.values.get("step_time@ccl-bench")
    if step is not None and busy > step:
        what = f"communication of {busy:g} s is published as exposed in a step of {step:g} s"
        found.problem("exceeds_step", what)


def _treatment(found: Draft, description: str) -> None:
    """What the source itself says was not there though the row is named for it."""
    match = _FELL_BACK.search(" ".join(description.split()))
    library = found.settings.get("communication_library")
    if match and library not in (None, "NCCL"):
        found.problem(
            "treatment_not_observed",
            f'treatment not observed (stated by the source): {library}; "{match[0].strip()}"',
        )


def _work(found: Draft, facts: dict[str, Any], launch: Launch) -> None:
    """How much is done in one step: from the launch file, else from a card that says that its batch is global."""
    batch = values.whole(facts.get("batch_size"))
    length = values.whole(facts.get("seq_len"))
    if found.workload["kind"] != "train":
        found.cannot_show["work_per_step"] = "an engine's iteration has no fixed work"
        return
    if launch.samples:
        samples, source = launch.samples, f"launch file {launch.source}"
        length = launch.sequence_length or length
        if batch is not None and batch != samples:
            what = f"batch: card {batch}, launch file {launch.source} gives {samples} over all replicas"
            found.problem("launch_and_card_disagree", what)
    elif facts.get("batch_size_scope") == "global" and batch:
        samples, source = batch, "the card, which calls its batch global"
    else:
        why = launch.why_not or "no launch file tells it"
        found.cannot_show["work_per_step"] = f"the card does not say whether its batch is global, and {why}"
        return
    tokens = samples * length if length else None
    found.workload |= {"samples_per_step": samples, "tokens_per_step": tokens}
    size = f", {tokens:,} tokens" if tokens else ""
    found.shows["work_per_step"] = f"{samples:,} sequences{size} ({source})"


def _topics(found: Draft, facts: dict[str, Any], row: dict[str, Any] | None) -> None:
    found.cannot_show["quality"] = "the source publishes no accuracy and no loss"
    found.cannot_show["cost"] = "the source publishes no price"
    found.cannot_show["requests"] = NO_REQUESTS if found.workload["kind"] == "serve" else "training has none"
    found.cannot_show["repeats"] = "one profiled launch" if row is not None else "no result"
    place = str(facts.get("trace_url") or "")
    if place.startswith(("http://", "https://")):
        found.shows["trace"] = f"elsewhere, not fetched: {place}"
    elif place or row is not None:
        found.cannot_show["trace"] = "it lies on the source's own disk"
