"""Known answers on traces alone: what explains a difference, what aligns two vendors, and that neither is a verdict."""

from __future__ import annotations

import gzip
import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.commands.collect import command as collect
from ledger import benchmark as benchmark_file
from ledger import catalog
from ledger.workspace import Workspace
from sitegen.commands.compare import command as compare
from sitegen.comparison import judge_file, report
from sitegen.comparison.aligned import Level, Operation
from sitegen.comparison.verdict import Decision, Verdict
from tests import imported as made

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data/traces"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the public traces are not here")

LOADERS = made.declared("loaders", {"workers-0": {"num_workers": 0}, "workers-4": {"num_workers": 4}})
VENDORS = made.declared("vendors", {"h100": {}, "mi300": {}})


def verdicts(here: Workspace, name: str) -> list[Verdict]:
    with catalog.open(here.evidence) as opened:
        file = benchmark_file.read(here.find_benchmark(name))
        return judge_file(opened, file, here.evidence, today=date(2026, 12, 1))


def judged(tmp_path: Path, benchmark: dict[str, Any], *traces: Path) -> Verdict:
    """The verdict on one trace a side, in the order of the file's stacks."""
    here = made.make_workspace(tmp_path / "workspace", benchmark)
    for stack, path in zip(benchmark["stacks"], traces, strict=True):
        made.imported(here, benchmark["name"], stack, path)
    return verdicts(here, benchmark["name"])[0]


def loaders(tmp_path: Path, **changes: Any) -> Verdict:
    paths = [
        made.trace(tmp_path / "zero.json", made.loading(60, 10, 100)),
        made.trace(tmp_path / "four.json", made.loading(2, 30, 101)),
    ]
    return judged(tmp_path, {**LOADERS, **changes}, *paths)


def vendors(tmp_path: Path, **changes: Any) -> Verdict:
    nvidia = {"aten::mm": 100, "aten::add": 20, "aten::fill_": 7}
    amd = {"aten::mm": 130, "aten::add": 15}
    paths = [
        made.trace(tmp_path / "h100.json", made.on_device(nvidia, made.NVIDIA)),
        made.trace(tmp_path / "mi300.json", made.on_device(amd, made.AMD)),
    ]
    return judged(tmp_path, {**VENDORS, **changes}, *paths)


def parts(found: Verdict) -> dict[str, float | None]:
    return {part.id: part.difference for part in found.accounting.parts if part.parent is None}


def adds_up(found: Verdict) -> bool:
    """Rows and rest make the traced steps, on each side, to the nanosecond; parts and residual their difference."""
    account, table = found.accounting, found.operations
    assert table is not None
    rows: list[Any] = [*table.rows, *([table.rest] if table.rest else [])]
    exact = all(
        sum(getattr(row, side) or 0 for row in rows) == getattr(table, side) for side in ("baseline_ns", "candidate_ns")
    )
    assert account.difference is not None
    assert account.residual == 0
    whole = sum(value or 0 for value in parts(found).values()) + account.residual
    return exact and whole == pytest.approx(account.difference, abs=1e-12)


def codes(found: Verdict) -> tuple[set[str], set[str]]:
    return {note.code for note in found.readiness.reasons}, {note.code for note in found.downgrades}


def rows(found: Verdict) -> dict[tuple[str, str], Operation]:
    assert found.operations is not None
    return {(row.part, row.words): row for row in found.operations.rows}


def seconds(found: Verdict, part: str, name: str) -> tuple[float | None, float | None]:
    assert found.operations is not None
    row = rows(found)[part, name]
    return found.operations.seconds(row.baseline_ns), found.operations.seconds(row.candidate_ns)


def test_input_wait_leads_though_it_is_more_than_the_whole_difference(tmp_path: Path) -> None:
    found = loaders(tmp_path)
    account, claim = found.accounting, found.claims[0]
    assert account.difference == pytest.approx(-37e-6)
    assert parts(found)["input_wait"] == pytest.approx(-58e-6)
    assert parts(found)["host_gap"] == pytest.approx(20e-6)
    assert account.gross == pytest.approx(79e-6)
    assert (claim.code, claim.share) == ("input_wait", pytest.approx(58 / 37))
    assert "accounts for 156.8 % of the traced difference, more than all of it, as other parts move the other way" in (
        claim.text
    )
    assert adds_up(found)


def test_traces_alone_are_never_a_verdict_and_the_page_says_why(tmp_path: Path) -> None:
    found = loaders(tmp_path)
    reasons, downgrades = codes(found)
    assert (found.decision, found.winner, found.readiness.ready) == (Decision.INCONCLUSIVE, None, False)
    assert {"imported", "too_few_launches", "held_field_unknown"} <= reasons
    assert {"traces_alone", "self_reported_source", "one_node", "few_launches"} <= downgrades
    assert found.readiness.next_run is None
    assert "an adapter that can be launched here" in (found.readiness.next_step or "")
    account = found.accounting
    assert (account.within_traces, account.closure, account.explained_share) == (True, None, None)
    assert (account.total, account.of) == ("traced step time", "the traced steps")
    assert "nothing independent confirms" in (account.absent or "")
    said = next(note.text for note in found.downgrades if note.code == "self_reported_source")
    assert made.SOURCE in said


def test_claims_stand_in_the_order_of_their_share_of_the_traced_difference(tmp_path: Path) -> None:
    traces = [
        made.trace(tmp_path / "slow.json", made.loading(50, 40, 130)),
        made.trace(tmp_path / "fast.json", made.loading(10, 10, 110)),
    ]
    found = judged(tmp_path, LOADERS, *traces)
    assert [claim.code for claim in found.claims] == ["input_wait", "host_bound", "slower_class"]
    assert [claim.share for claim in found.claims] == [pytest.approx(each / 90) for each in (40, 30, 20)]


def test_two_vendors_align_by_the_operation_that_launched_their_kernels(tmp_path: Path) -> None:
    found = vendors(tmp_path)
    assert adds_up(found)
    assert seconds(found, "compute.gemm", "aten::mm") == (pytest.approx(100e-6), pytest.approx(130e-6))
    assert seconds(found, "compute.elementwise", "aten::add") == (pytest.approx(20e-6), pytest.approx(15e-6))
    product = rows(found)["compute.gemm", "aten::mm"]
    assert (product.baseline_calls, product.candidate_calls) == (1, 1)
    assert product.baseline_kernels == ("sgemm_nn",)
    assert product.candidate_kernels == ("Cijk_Alik_Bljk_S_B",)


def test_an_operation_of_one_side_alone_is_missing_on_the_other_and_not_zero(tmp_path: Path) -> None:
    found = vendors(tmp_path)
    alone = next(row for row in rows(found).values() if row.name == "aten::fill_")
    assert (alone.baseline_ns, alone.candidate_ns, alone.change_ns) == (7000, None, -7000)
    table = found.operations
    assert table is not None
    assert table.aligned == pytest.approx(265 / 272)


def test_swapped_sides_flip_every_sign(tmp_path: Path) -> None:
    back = {**VENDORS["comparisons"][0], "baseline": "mi300", "candidate": "h100"}
    there = vendors(tmp_path, comparisons=[VENDORS["comparisons"][0]])
    here = made.workspace.find(tmp_path / "workspace")
    file = here.find_benchmark("vendors")
    file.write_text(made.yaml.safe_dump({**VENDORS, "comparisons": [back]}, sort_keys=False))
    turned = verdicts(here, "vendors")[0]
    assert turned.accounting.difference == pytest.approx(-(there.accounting.difference or 0))
    assert turned.accounting.gross == pytest.approx(there.accounting.gross)
    assert {key: -row.change_ns for key, row in rows(turned).items()} == {
        key: row.change_ns for key, row in rows(there).items()
    }
    assert [claim.code for claim in turned.claims] == [claim.code for claim in there.claims]


def test_terminal_and_json_show_operations_within_the_same_bounds(tmp_path: Path) -> None:
    many = {f"aten::op{number:02d}": 10.0 + number for number in range(20)}
    more = {name: time + 1 + int(name[-2:]) for name, time in many.items()}
    traces = [
        made.trace(tmp_path / f"{name}.json", made.on_device(each, {}, step=3000))
        for name, each in (("a", many), ("b", more))
    ]
    found = judged(tmp_path, VENDORS, *traces)
    table = found.operations
    assert table is not None
    assert table.rest is not None
    assert len(table.rows) == 15
    assert adds_up(found)
    shown = [row.change_ns for row in table.rows]
    assert shown == sorted(shown, key=lambda change: -abs(change))
    text = report.to_text(found)
    assert f"{table.rest.rows} further rows" in text
    assert max(map(len, text.splitlines())) <= 80
    data = report.to_json([found])["verdicts"][0]["operations"]
    assert sum(row["candidate_ns"] or 0 for row in data["rows"]) + data["rest"]["candidate_ns"] == data["candidate_ns"]


def test_a_trace_that_was_changed_leaves_the_operations_out(tmp_path: Path) -> None:
    vendors(tmp_path)
    here = made.workspace.find(tmp_path / "workspace")
    path = next(here.evidence.glob("vendors/*/h100-*/traces/rank-0.json"))
    path.write_text(path.read_text().replace("aten::add", "aten::sub"))
    found = verdicts(here, "vendors")[0]
    assert found.operations is not None
    assert found.operations.absent == "rank-0.json: is not what was sealed"
    assert "not known: rank-0.json: is not what was sealed" in report.to_text(found)
    assert "evidence_broken" in codes(found)[0]


def test_several_launches_count_the_same_however_many_steps_they_have(tmp_path: Path) -> None:
    here = made.make_workspace(tmp_path / "workspace", LOADERS)
    for number, (compute, steps) in enumerate(((100, 2), (130, 5))):
        path = made.trace(tmp_path / f"zero{number}.json", made.loading(60, 10, compute, steps))
        made.imported(here, "loaders", "workers-0", path)
    made.imported(here, "loaders", "workers-4", made.trace(tmp_path / "four.json", made.loading(2, 30, 101, 3)))
    found = verdicts(here, "loaders")[0]
    assert adds_up(found)
    assert seconds(found, "compute.gemm", "aten::mm") == (pytest.approx(115e-6), pytest.approx(101e-6))
    said = next(note.text for note in found.downgrades if note.code == "traces_alone")
    assert "2 traced launches of workers-0 and 1 traced launch of workers-4" in said


def test_the_rank_that_is_shown_is_the_lowest_that_there_is(tmp_path: Path) -> None:
    here = made.make_workspace(tmp_path / "workspace", LOADERS)
    for stack, wait in (("workers-0", 60), ("workers-4", 2)):
        paths = [
            made.trace(tmp_path / stack / f"rank{rank}.json", made.loading(wait + rank, 10, 100)) for rank in (3, 1)
        ]
        made.imported(here, "loaders", stack, *paths)
    found = verdicts(here, "loaders")[0]
    assert parts(found)["input_wait"] == pytest.approx(-58e-6)
    waited = next(part for part in found.accounting.parts if part.id == "input_wait")
    assert waited.baseline == pytest.approx(61e-6)
    assert seconds(found, "input_wait", "Input wait") == (pytest.approx(61e-6), pytest.approx(3e-6))


def test_collect_has_nothing_to_launch_of_an_imported_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaders(tmp_path)
    monkeypatch.chdir(tmp_path / "workspace")
    done = CliRunner().invoke(collect, ["loaders", "--dry-run"])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "0 to launch, 0 excluded, 0 sealed already")


def test_compare_prints_what_the_traces_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaders(tmp_path)
    monkeypatch.chdir(tmp_path / "workspace")
    done = CliRunner().invoke(compare, ["loaders"])
    assert done.exit_code == 0
    assert "Where the traced step time goes (means over the traced steps)" in done.output
    assert "parts move by 79.0 µs in all: some cancel others" in done.output
    assert "Timed launches" not in done.output
    data = json.loads(CliRunner().invoke(compare, ["loaders", "--format", "json"]).output)
    assert data["verdicts"][0]["accounting"]["within_traces"] is True


@needs_shared
def test_loader_workers_of_resnet_50(tmp_path: Path) -> None:
    """PyTorch's own pair: 0 and 4 loader workers, with the times that their traces hold."""
    traces = [next((SHARED / "resnet50-dataloader").glob(f"*workers_{count}_*")) for count in (0, 4)]
    found = judged(tmp_path, LOADERS, *traces)
    account, claim = found.accounting, found.claims[0]
    table = found.operations
    assert table is not None
    assert adds_up(found)
    assert (table.steps, table.baseline_ns, table.candidate_ns) == (6, 1_065_553_000, 846_408_000)
    assert account.difference == pytest.approx(-0.219145 / 6, abs=1e-12)
    # Loader events in which no work of the device runs: 355.571 and 7.117 ms, by a sweep over the files' own events.
    assert parts(found)["input_wait"] == pytest.approx((0.007117 - 0.355571) / 6, abs=1e-12)
    assert account.gross == pytest.approx(0.0796, abs=1e-4)
    assert (claim.code, claim.share) == ("input_wait", pytest.approx(1.590, abs=1e-3))
    assert [each.code for each in found.claims if each.share is not None] == ["input_wait"]
    assert "parts move by 79.6 ms in all: some cancel others" in " ".join(report.to_text(found).split())
    assert not found.readiness.ready
    assert found.decision is Decision.INCONCLUSIVE


@needs_shared
def test_an_operation_takes_what_its_kernels_take_by_the_file_itself(tmp_path: Path) -> None:
    """Kernel by kernel, read off the files without any of stackproof: attention on both, the products on one."""
    traces = [SHARED / f"h100-vs-mi300/{vendor}-bert-small.json.gz" for vendor in ("h100", "mi300")]
    found = judged(tmp_path, VENDORS, *traces)
    attention = rows(found)["compute.attention", "aten::_flash_attention_forward"]
    assert attention.baseline_ns == kernels(traces[0], "flash_fwd")
    assert attention.candidate_ns == kernels(traces[1], "attn_fwd")
    assert rows(found)["compute.gemm", "aten::addmm"].candidate_ns == kernels(traces[1], "Cijk")


def kernels(path: Path, part: str) -> int:
    """Nanoseconds of all kernels whose name holds `part`."""
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    return round(sum(each["dur"] * 1000 for each in events if each.get("cat") == "kernel" and part in each["name"]))


@needs_shared
@pytest.mark.parametrize(
    ("model", "steps", "longer"),
    [
        ("bert-small", (4_426_114, 4_007_334), "host_bound"),
        ("qwen1.5-0.5b-chat", (35_183_362, 33_755_369), "slower_class"),
    ],
)
def test_one_model_on_two_vendors(tmp_path: Path, model: str, steps: tuple[int, int], longer: str) -> None:
    """TraceLens' pairs: the kernels share no name that says what they do, the operations nearly all."""
    traces = [SHARED / f"h100-vs-mi300/{vendor}-{model}.json.gz" for vendor in ("h100", "mi300")]
    found = judged(tmp_path, VENDORS, *traces)
    table = found.operations
    assert table is not None
    assert adds_up(found)
    assert (table.steps, table.baseline_ns, table.candidate_ns) == (1, *steps)
    assert table.aligned is not None
    assert table.aligned > 0.99
    named = {row.name for row in table.rows if row.level is Level.OPERATION}
    assert {"aten::addmm", "aten::_flash_attention_forward"} <= named
    product = next(row for row in table.rows if row.name == "aten::addmm" and row.part == "compute.gemm")
    assert not set(product.baseline_kernels) & set(product.candidate_kernels)
    assert found.claims[0].code == longer
    reasons, downgrades = codes(found)
    assert {"imported", "too_few_launches"} <= reasons
    assert {"traces_alone", "one_node"} <= downgrades
    assert found.decision is Decision.INCONCLUSIVE
