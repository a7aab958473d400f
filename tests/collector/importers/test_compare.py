"""Published rows as sides of a comparison: labelled, never a win, not comparable where steps do unequal work."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from ledger import benchmark as benchmark_file
from ledger import catalog, workspace
from ledger.public import LABEL
from ledger.verify import verify_run
from sitegen.comparison import judge_file
from sitegen.comparison.verdict import Decision, Verdict
from sitegen.pages import comparison as pages
from sitegen.pages import snapshot
from tests.collector.conftest import run_cli
from tests.collector.importers.made import CARD, HISTORY, changed, row, write_card, write_table

SHARED = Path(os.environ.get("STACKPROOF_SHARED", Path(__file__).parents[4] / "shared")) / "data/ccl-bench"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not here")
SHIM = "LD_AUDIT loaded the shim; Kineto still showed NCCL kernels, indicating fallback."
STEP = "step_time@ccl-bench"


def pair(name: str, baseline: Any, candidate: Any) -> dict[str, Any]:
    return {
        name: {
            "question": "Which takes less time a step?",
            "task": "One step",
            "objective": {"minimise": STEP},
            "stacks": {"a": baseline, "b": candidate},
            "comparisons": [{"baseline": "a", "candidate": "b", "threshold": "5%"}],
        }
    }


def write(path: Path, content: Any) -> Path:
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def work(folder: Path) -> Path:
    statements = [
        {"rows": "*_titan_best/*", "samples": 32, "tokens": 32768, "source": "written by the user: global batch 32"},
        {"rows": "*_megatron_best/*", "samples": 1, "tokens": 1024, "source": "written by the user: batch 1"},
    ]
    return write(folder / "work.yaml", {"work_per_step": statements})


def take(data: Path, folder: Path, benchmarks: dict[str, Any], *more: str) -> str:
    compare = write(folder / "compare.yaml", {"benchmarks": benchmarks})
    code, out, err = run_cli("import", "ccl-bench", str(data), "--compare", str(compare), *more)
    assert (code, err) == (0, "")
    return out


def verdict(root: Path, name: str) -> Verdict:
    here = workspace.find(root)
    with catalog.open(here.evidence) as opened:
        file = benchmark_file.read(here.find_benchmark(name))
        (found,) = judge_file(opened, file, here.evidence, today=date(2026, 12, 8))
    return found


def codes(found: Verdict) -> set[str]:
    return {note.code for note in found.readiness.reasons}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "ccl-bench"
    shim = {"name": "MSCCL++ audit shim", "version": "0.9.0", "env": {}}
    write_card(root, "nccl", CARD)
    write_card(root, "shim", changed(CARD, description=SHIM, Model_0_executor__communication_library=shim))
    write_table(root, row("nccl", {"avg_step_time": 12.0}), row("shim", {"avg_step_time": 6.0}))
    trials = {"1_titan_best": (3.0, 1.5), "2_megatron_best": (0.5, 0.9)}
    (root / "tuning").mkdir()
    for name, times in trials.items():
        lines = [
            f'{n},{n},"{{""dp"": 1}}","{{""avg_step_time"": {t}}}",{t},success,,{t},\n' for n, t in enumerate(times)
        ]
        (root / "tuning" / f"{name}.csv").write_text(HISTORY + "".join(lines))
    return root


SEARCHED = pair("searched", {"best": "*_titan_best/*"}, {"best": "*_megatron_best/*"})


def test_a_row_whose_source_says_that_it_fell_back_is_never_a_win(workspace: Path, data: Path, tmp_path: Path) -> None:
    take(data, tmp_path, pair("libraries", "nccl", "shim"))
    found = verdict(workspace, "libraries")
    assert (found.decision, found.winner, found.readiness.ready) == (Decision.INCONCLUSIVE, None, False)
    assert {"treatment_not_observed", "too_few_launches", "imported"} <= codes(found)
    said = next(note.text for note in found.readiness.reasons if note.code == "treatment_not_observed")
    assert "treatment not observed (stated by the source)" in said
    assert found.labels == (LABEL,)
    assert (found.effect.baseline, found.effect.candidate) == (pytest.approx(12), pytest.approx(6))


def test_the_page_carries_the_label(workspace: Path, data: Path, tmp_path: Path) -> None:
    take(data, tmp_path, pair("libraries", "nccl", "shim"))
    facts = snapshot.take(workspace / "evidence", workspace / ".stackproof")
    from ledger import workspace as workspaces

    page = pages.page(verdict(workspace, "libraries"), facts, workspaces.find(workspace))
    assert f'<span class="sp-badge sp-open">{LABEL}</span>' in page


def test_unknown_work_is_not_ready_and_stated_unequal_work_is_not_comparable(
    workspace: Path, data: Path, tmp_path: Path
) -> None:
    take(data, tmp_path, SEARCHED)
    found = verdict(workspace, "searched")
    unknown = next(note.text for note in found.readiness.reasons if note.code == "held_field_unknown")
    assert found.decision is Decision.INCONCLUSIVE
    assert "samples a step" in unknown
    assert found.work_done is None
    assert (found.effect.baseline, found.effect.candidate) == (pytest.approx(1.5), pytest.approx(0.5))
    assert "best_of_search" in {note.code for note in found.downgrades}

    take(data, tmp_path, SEARCHED, "--work", str(work(tmp_path)))
    found = verdict(workspace, "searched")
    assert (found.decision, found.winner) == (Decision.NOT_COMPARABLE, None)
    assert "unequal work" in found.sentence
    assert "unequal_work" in codes(found)
    assert found.work_done is not None
    assert (found.work_done.baseline, found.work_done.candidate) == (
        pytest.approx(32768 / 1.5),
        pytest.approx(1024 / 0.5),
    )
    assert found.work_done.turns_round
    assert found.effect.baseline_launches == 1, "what was known before gives way: it is no second launch"


def test_importing_again_changes_nothing_and_what_is_sealed_holds(workspace: Path, data: Path, tmp_path: Path) -> None:
    take(data, tmp_path, pair("libraries", "nccl", "shim"))
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    out = take(data, tmp_path, pair("libraries", "nccl", "shim"))
    assert "are new" not in out
    evidence = [path for path in before if "evidence" in path.parts and path.name == "MANIFEST.sha256"]
    assert len(evidence) == 2
    from ledger.run_folder import RunFolder

    assert [list(verify_run(RunFolder(path.parent))) for path in evidence] == [[], []]
    assert all(path.read_bytes() == content for path, content in before.items() if "evidence" in path.parts)


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("ncll", "no row 'ncll'; did you mean nccl"),
        ({"best": "nothing*"}, "no row that is named like 'nothing*' has step_time@ccl-bench"),
    ],
)
def test_a_row_that_is_not_there_is_one_line(
    workspace: Path, data: Path, tmp_path: Path, stack: Any, said: str
) -> None:
    compare = write(tmp_path / "compare.yaml", {"benchmarks": pair("libraries", stack, "shim")})
    code, out, err = run_cli("import", "ccl-bench", str(data), "--compare", str(compare))
    assert (code, out) == (2, "")
    assert "compare.yaml:" in err
    assert said.partition(";")[0] in err
    assert not list(workspace.glob("benchmarks/*"))


@needs_shared
def test_the_public_rows_say_what_their_data_allow(workspace: Path, tmp_path: Path) -> None:
    shims = {
        f"shim-{number}": pair(f"shim-{number}", f"{name}-nccl-perlmutter", f"{name}-mscclpp-perlmutter")
        for number, name in enumerate(
            (
                "llama3_8b_w8_batch32_seq1024",
                "deepseek_v3_16b_w8_batch8_seq1024",
                "deepseek_v3_16b_ep4_dp2_tp4_w8_batch8_seq1024",
                "deepseek_v3_16b_ep8_dp2_tp4_w8_batch8_seq1024",
            )
        )
    }
    engines = pair("engines", "qwen3-4b-vllm-tp4-batch128-nccl-perlmutter", "qwen3-4b-sglang-tp4-batch128-perlmutter")
    benchmarks = {**SEARCHED, **engines}
    for each in shims.values():
        benchmarks |= each
    take(SHARED, tmp_path, benchmarks)
    for name in shims:
        found = verdict(workspace, name)
        assert (found.winner, found.readiness.ready) == (None, False)
        assert {"treatment_not_observed", "too_few_launches"} <= codes(found)
    searched, serving = verdict(workspace, "searched"), verdict(workspace, "engines")
    assert searched.effect.baseline == pytest.approx(1.49978, abs=1e-5)
    assert searched.effect.candidate == pytest.approx(0.44272, abs=1e-5)
    assert "held_field_unknown" in codes(searched)
    assert (serving.winner, serving.readiness.ready) == (None, False)
    take(SHARED, tmp_path, benchmarks, "--work", str(work(tmp_path)))
    found = verdict(workspace, "searched")
    assert found.decision is Decision.NOT_COMPARABLE
    assert found.work_done is not None
    assert found.work_done.turns_round
