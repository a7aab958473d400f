"""What a side is said to run with must be seen in its traces; what is not seen wins nothing."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger import benchmark as benchmark_file
from ledger import catalog
from sitegen.comparison import judge_file, report
from sitegen.comparison.evidence import Libraries, TrialRun
from sitegen.comparison.report import to_json, to_text
from sitegen.comparison.verdict import Decision, Sameness, Treatment, Verdict
from tests.factory import BENCHMARK, make_run, write_benchmark
from tests.ledger.traces.builder import annotation, launched, op, write
from tests.sitegen.comparison.made import interleaved, profiled, swapped_file, verdict
from tests.sitegen.comparison.test_claims import FAST, ONE_CAUSE, SLOW, traced

NCCL, MSCCLPP = (
    {"nccl": "ncclDevKernel_AllReduce", "rccl": "ncclDevKernel_AllReduce"},
    {"mscclpp": "mscclpp::allreduce"},
)


def launches(**changes: Any) -> list[TrialRun]:
    """Timed launches that decide and profiled ones that explain."""
    slow, fast, _ = ONE_CAUSE["host_bound"]
    return interleaved(SLOW, FAST, **changes) + profiled(traced(**slow), traced(**fast))


def shown(slow: dict[str, str] | None, *fast: dict[str, str] | None) -> Libraries:
    """What the traces of slow, and of fast's launches in turn, show; None: no trace that can be read."""

    def read(run_ids: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        found = {}
        for run_id in sorted(run_ids):
            stack, _, repeat, _ = run_id.split("-")
            of = slow if stack == "slow" else fast[min(int(repeat), len(fast)) - 1]
            if of is not None:
                found[run_id] = of
        return found

    return read


def declaring(**observe: list[str]) -> dict[str, Any]:
    """The benchmark file's stacks, each with what is to be observed of it."""
    return {
        "stacks": {name: {**stack, "observe": observe.get(name, [])} for name, stack in BENCHMARK["stacks"].items()}
    }


def judged(libraries: Libraries, observe: tuple[str, ...] = ("mscclpp",), **changes: Any) -> Verdict:
    """`fast` is said to run with these libraries."""
    return verdict(launches(), **declaring(fast=list(observe)), libraries=libraries, **changes)


def codes(found: Verdict) -> list[str]:
    return [note.code for note in found.readiness.reasons]


def test_what_is_seen_wins_as_before() -> None:
    found = judged(shown(NCCL, MSCCLPP))
    assert (found.decision, found.winner, found.readiness.ready) == (Decision.WINS, "fast", True)
    (line,) = [each for each in found.fields if each.field == "trace.mscclpp"]
    assert (line.treatment, line.sameness) == (Treatment.INTENDED, Sameness.DIFFERENT)
    assert (line.baseline, line.candidate, line.title) == ("not seen", "seen, as declared", "MSCCL++")
    assert not [note for note in found.downgrades if note.code.startswith("treatment")]


def test_another_library_in_its_place_is_no_win() -> None:
    found = judged(shown(NCCL, NCCL))
    assert (found.decision, found.winner) == (Decision.INCONCLUSIVE, None)
    assert codes(found) == ["treatment_not_observed"]
    (reason,) = found.readiness.reasons
    assert reason.text == (
        "treatment not observed: the traces of 3 of 3 profiled launches of fast show nothing of MSCCL++, which "
        "the benchmark file declares, but NCCL"
    )
    assert len(reason.evidence) == 3
    assert all(run.startswith("fast-profiled") for run in reason.evidence)
    assert "have fast run with MSCCL++" in (found.readiness.next_step or "")
    assert "treatment not observed" in found.sentence
    (line,) = [each for each in found.fields if each.field == "trace.mscclpp"]
    assert (line.sameness, line.candidate) == (Sameness.SAME, "not seen, though declared")


def test_nothing_of_its_kind_in_the_traces_is_no_win_either() -> None:
    found = judged(shown({}, {}))
    assert codes(found) == ["treatment_not_observed"]
    assert found.readiness.reasons[0].text.endswith("declares")


def test_it_must_be_seen_in_every_launch_that_has_a_trace() -> None:
    found = judged(shown(NCCL, MSCCLPP, NCCL, None))
    assert codes(found) == ["treatment_not_observed"]
    assert "1 of 2 profiled launches of fast" in found.readiness.reasons[0].text
    assert found.readiness.reasons[0].evidence == ("fast-profiled-2-35",)


def test_swapping_the_sides_changes_nothing_of_it() -> None:
    one, other = judged(shown(NCCL, NCCL)), judged(shown(NCCL, NCCL), **swapped_file())
    assert one.readiness.reasons == other.readiness.reasons
    assert one.decision == other.decision


def test_both_libraries_are_a_downgrade() -> None:
    found = judged(shown(NCCL, NCCL | MSCCLPP))
    assert (found.decision, found.winner, found.readiness.ready) == (Decision.WINS, "fast", True)
    (note,) = [note for note in found.downgrades if note.code == "treatment_mixed"]
    assert note.text == "beside MSCCL++ the traces of fast show NCCL, which does the same"


def test_a_fork_that_kept_the_names_is_not_another_library() -> None:
    found = judged(shown(NCCL, NCCL), observe=("nccl",))
    assert found.readiness.ready
    assert not [note for note in found.downgrades if note.code.startswith("treatment")]


def test_without_a_trace_it_is_unknown_and_said_to_be_where_it_was_declared() -> None:
    found = judged(shown(None, None))
    assert (found.decision, found.winner) == (Decision.WINS, "fast")
    (note,) = [note for note in found.downgrades if note.code.startswith("treatment")]
    assert (note.code, note.text) == (
        "treatment_unknown",
        "whether fast runs with MSCCL++ is not known: no trace tells",
    )
    (line,) = [each for each in found.fields if each.field == "trace.mscclpp"]
    assert (line.sameness, line.baseline, line.candidate) == (Sameness.UNKNOWN, None, None)


def compiled() -> list[TrialRun]:
    """The same launches, `fast` with torch.compile."""
    more = {"setting.compile": "true", "run.adapter": "torch"}
    return [replace(run, fields=run.fields | more) if run.stack == "fast" else run for run in launches()]


def test_settings_declare_too() -> None:
    inductor = {"inductor": "triton_poi_fused_add_0"}
    found = verdict(compiled(), libraries=shown({}, inductor))
    assert found.readiness.ready
    found = verdict(compiled(), libraries=shown({}, {}))
    assert (found.decision, codes(found)) == (Decision.INCONCLUSIVE, ["treatment_not_observed"])
    assert "Inductor (torch.compile), which its settings declare" in found.readiness.reasons[0].text


def test_what_settings_declare_is_no_downgrade_where_no_trace_tells() -> None:
    found = verdict(compiled(), libraries=shown(None, None))
    assert found.winner == "fast"
    assert not [note for note in found.downgrades if note.code.startswith("treatment")]


def test_the_slower_side_counts_as_well() -> None:
    found = verdict(launches(), **declaring(slow=["gloo"]), libraries=shown(NCCL, NCCL))
    assert (found.decision, codes(found)) == (Decision.INCONCLUSIVE, ["treatment_not_observed"])


def test_one_that_alone_holds_the_envelope_does_not_win_by_that() -> None:
    runs = launches(slow_changes={"loss": 9.0})
    assert verdict(runs, libraries=shown(NCCL, NCCL)).winner == "fast"
    found = verdict(runs, **declaring(fast=["mscclpp"]), libraries=shown(NCCL, NCCL))
    assert (found.decision, found.winner) == (Decision.INCONCLUSIVE, None)
    assert codes(found) == ["treatment_not_observed"]


def test_no_trace_is_read_where_nothing_is_declared() -> None:
    def refuse(run_ids: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        raise AssertionError(run_ids)

    assert verdict(launches(), libraries=refuse).winner == "fast"


def test_terminal_and_json_say_it() -> None:
    found = judged(shown(NCCL, NCCL))
    said = " ".join(to_text(found).split())
    assert "treatment_not_observed: treatment not observed: the traces of 3 of 3" in said
    assert "not seen, though declared" in " ".join(to_text(judged(shown(MSCCLPP, NCCL))).split())
    data = to_json([found])["verdicts"][0]
    assert data["readiness"]["reasons"][0]["code"] == "treatment_not_observed"
    assert [each for each in data["fields"] if each["field"] == "trace.mscclpp"]


def trace(path: Path, name: str) -> bytes:
    """A profiled step in which a kernel of this name runs."""
    step = [annotation("ProfilerStep#1", 0, 100), op("aten::mm", 1, 2), *launched("kernel", name, 3, 5, 50, 1)]
    return write(path / "trace.json.gz", step, distributedInfo={"rank": 0, "world_size": 1}).read_bytes()


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("void mscclpp::allreduce7<float>(float*)", []),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", ["treatment_not_observed"]),
    ],
)
def test_sealed_traces_are_read_for_it(tmp_path: Path, kernel: str, expected: list[str]) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    changes = declaring(fast=["mscclpp"])
    path = write_benchmark(tmp_path / "benchmarks", **changes)
    order = 0
    for repeat in (1, 2, 3):
        for stack, time in [("slow", 0.1), ("fast", 0.06)][:: 1 if repeat % 2 else -1]:
            order += 1
            make_run(
                tmp_path / "evidence", stack, repeat=repeat, order=order, step_time=time + repeat / 1e4, changes=changes
            )
    for stack, name in (("slow", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"), ("fast", kernel)):
        data = trace(tmp_path, name)
        order += 1
        make_run(tmp_path / "evidence", stack, role="profiled", order=order, changes=changes, trace=data)
    with catalog.open(tmp_path / "evidence") as opened:
        (found,) = judge_file(opened, benchmark_file.read(path), tmp_path / "evidence")
    assert [code for code in codes(found) if code.startswith("treatment")] == expected
    assert json.dumps(report.to_json([found]))


def test_in_the_shipped_evidence_what_is_said_to_be_compiled_is(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    file = benchmark_file.read(root / "collector/benchmarks/cpu-training.yaml")
    with catalog.open(root / "evidence", tmp_path) as opened:
        (found,) = judge_file(opened, file, root / "evidence", slug="eager-vs-compile")
    (line,) = [each for each in found.fields if each.field.startswith("trace.")]
    assert (line.field, line.baseline, line.candidate) == ("trace.inductor", "not seen", "seen, as declared")
    assert not [code for code in codes(found) if code.startswith("treatment")]


def test_what_the_first_launch_declared_counts_though_the_file_forgot_it(tmp_path: Path) -> None:
    """Taking `observe` out when the result is known changes nothing."""
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    changes = declaring(fast=["mscclpp"])
    for order, stack in enumerate(("slow", "fast"), 1):
        make_run(tmp_path / "evidence", stack, order=order, changes=changes)
        data = trace(tmp_path, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
        make_run(tmp_path / "evidence", stack, role="profiled", order=order + 2, changes=changes, trace=data)
    path = write_benchmark(tmp_path / "benchmarks")
    with catalog.open(tmp_path / "evidence") as opened:
        (found,) = judge_file(opened, benchmark_file.read(path), tmp_path / "evidence")
    assert "treatment_not_observed" in codes(found)
