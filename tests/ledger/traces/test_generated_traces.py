"""The files that performance is measured on say what they promise, so that a fast wrong answer is found out."""

import gzip
import json
from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest

from ledger import traces
from ledger.traces.breakdown import Breakdown, explain
from ledger.traces.classes import CLASSES
from tests.performance.trace_files import STEPS, Promise, Shape, write

SHAPES = {
    "shapes": Shape(6_000),
    "python": Shape(7_001, python=True),
    "bare": Shape(5_555, shapes=False, seed=3),
    "ranks": Shape(6_000, ranks=2),
}


@pytest.fixture(scope="module", params=SHAPES)
def made(request, tmp_path_factory) -> tuple[Path, Shape, list[Promise]]:
    folder = tmp_path_factory.mktemp(request.param)
    shape = SHAPES[request.param]
    return folder, shape, write(folder, shape, plain=True)


def said(found: Breakdown) -> list[dict]:
    """The steps, in the words of the promise."""
    return [
        {
            "number": step.number,
            "parts": step.parts,
            "classes": {name: time for name, time in step.classes.items() if time},
            "communication": step.communication,
            "launches": step.launches,
            "flops": step.flops,
            "annotated": step.annotated,
        }
        for step in found.steps
    ]


def test_every_nanosecond_of_every_step_is_as_promised(made):
    folder, shape, promises = made
    assert [promise.rank for promise in promises] == list(range(shape.ranks))
    for promise in promises:
        found = explain(traces.read(folder / f"packed/rank-{promise.rank}.json.gz"))
        expected = [asdict(step) for step in promise.steps]
        for step in expected:
            del step["collectives"]
            if not shape.shapes:
                step["flops"] = None
        assert said(found) == expected
        assert (found.rank, found.world_size, found.warnings) == (promise.rank, 2, ())
        assert len(found.steps) == STEPS
        assert all(sum(step.parts.values()) == step.duration for step in found.steps)
        assert all(one.window[1] == other.window[0] for one, other in pairwise(found.steps))


def test_it_holds_as_many_events_as_asked_and_all_are_read(made):
    folder, shape, promises = made
    for promise in promises:
        trace = traces.read(folder / f"packed/rank-{promise.rank}.json.gz")
        assert trace.facts.total == promise.events == shape.events
        assert trace.facts.total - trace.facts.untimed == promise.timed
        assert len(trace.memory) == promise.memory > 0
        assert (trace.facts.lost, trace.facts.salvaged, trace.facts.cut) == (Counter(), 0, None)


def test_it_is_json_and_the_packed_file_holds_the_same(made):
    folder, shape, promises = made
    for promise in promises:
        text = (folder / f"plain/rank-{promise.rank}.json").read_bytes()
        assert gzip.decompress((folder / f"packed/rank-{promise.rank}.json.gz").read_bytes()) == text
        assert len(text) == promise.characters
        data = json.loads(text)
        assert data["distributedInfo"]["rank"] == promise.rank
        assert len(data["traceEvents"]) == shape.events
        frames = sum(event.get("cat") == "python_function" for event in data["traceEvents"])
        assert (frames > 0) == shape.python


def test_arrows_have_two_ends_and_every_kernel_a_launch(made):
    folder, _, _ = made
    events = json.loads((folder / "plain/rank-0.json").read_bytes())["traceEvents"]
    ends = {end: Counter((e["cat"], e["id"]) for e in events if e["ph"] == end) for end in "sf"}
    assert ends["s"] == ends["f"]
    assert set(ends["s"].values()) == {1}
    launched = [e["args"]["correlation"] for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    called = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime"}
    assert len(set(launched)) == len(launched)
    assert called.issuperset(launched)


def test_each_collective_is_there_with_its_arguments(made):
    folder, _, promises = made
    for promise in promises:
        events = json.loads((folder / f"plain/rank-{promise.rank}.json").read_bytes())["traceEvents"]
        marked = [event for event in events if "Collective name" in event.get("args", {})]
        by_name = Counter(event["cat"] for event in marked)
        count = sum(step.collectives for step in promise.steps)
        assert by_name == {"cpu_op": count, "kernel": count}
        assert len({event["args"]["Seq"] for event in marked}) == count


def test_the_same_seed_gives_the_same_file_and_another_rank_other_times(tmp_path):
    shape = Shape(6_000, ranks=2, seed=7)
    first = write(tmp_path / "first", shape)
    assert write(tmp_path / "second", shape) == first
    packed = [(tmp_path / name / "packed/rank-0.json.gz").read_bytes() for name in ("first", "second")]
    texts = [gzip.decompress(each) for each in packed]  # what packs them notes the hour
    assert texts[0] == texts[1]
    one, other = first
    assert [step.collectives for step in one.steps] == [step.collectives for step in other.steps]
    assert [step.parts for step in one.steps] != [step.parts for step in other.steps]
    assert write(tmp_path / "third", Shape(6_000, ranks=2, seed=8)) != first


def test_it_asks_all_classes_of_training_to_be_told_apart(made):
    _, _, promises = made
    named = set().union(*(step.classes for step in promises[0].steps))
    assert named == {"gemm", "attention", "norm", "elementwise", "reduction", "optimizer"} <= set(CLASSES)


def test_too_few_events_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"too few for 8 steps"):
        write(tmp_path, Shape(1_000))
