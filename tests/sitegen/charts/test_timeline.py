"""The timeline: which step, which lanes, what stands where, and how much of it there may be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import traces
from ledger.traces.breakdown import Step, explain
from ledger.traces.classes import CLASSES
from ledger.traces.work import COMMUNICATION, COPY, INPUT_WAIT
from sitegen.charts.chart import WIDTH
from sitegen.charts.lanes import MOST_STREAMS, Lane, Lanes, lanes_of
from sitegen.charts.palette import HOST, NAMES
from sitegen.charts.timeline import BAR, MOST_CHARACTERS, Timeline, timeline
from tests.ledger.traces.builder import annotation, event, launched, op, training, write

RECTANGLE = re.compile(
    r'<path class="sp-lane-([a-z_]+)" d="M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z"><title>(.*?)</title></path>'
)


def lanes(tmp_path: Path, events: list) -> Lanes | None:
    trace = traces.read(write(tmp_path / "t.json", events))
    return lanes_of(trace, explain(trace))


def pieces(lane: Lane, found: Lanes) -> list[tuple[int, int, int, str]]:
    """(start, end) in microseconds, class and name of each piece."""
    columns = zip(lane.start.tolist(), lane.end.tolist(), lane.kind.tolist(), lane.name.tolist(), strict=True)
    return [(start // 1000, end // 1000, kind, found.names[name]) for start, end, kind, name in columns]


def bars(picture: Timeline) -> list[tuple[int, float, float, float, float, str]]:
    return [
        (NAMES.index(kind), *map(float, numbers), words) for kind, *numbers, words in RECTANGLE.findall(picture.svg)
    ]


GEMM, ELEMENTWISE, OPTIMIZER = map(CLASSES.index, ("gemm", "elementwise", "optimizer"))

GPU = [
    annotation("ProfilerStep#7", 100, 100),
    op("aten::linear", 105, 20),
    op("aten::mm", 110, 10),
    annotation("stackproof.input_wait", 150, 30),
    *launched("kernel", "ampere_sgemm_128x64", 111, 120, 40, 1),
    *launched("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 114, 165, 5, 2),
    *launched("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 117, 180, 50, 3),
]


def test_streams_come_first_and_then_what_the_host_called_at_top_level(tmp_path: Path) -> None:
    found = lanes(tmp_path, GPU)
    assert (found.step.number, found.of, found.hidden) == (7, 1, 0)
    assert found.span == (100_000, 230_000)
    assert [lane.title for lane in found.lanes] == ["Device 1, stream 7", "Thread 1"]
    assert pieces(found.lanes[0], found) == [
        (120, 160, GEMM, "ampere_sgemm_128x64"),
        (165, 170, COPY, "Memcpy HtoD (Pinned -> Device)"),
        (180, 230, COMMUNICATION, GPU[-1]["name"]),
    ]
    assert pieces(found.lanes[1], found) == [
        (105, 125, HOST, "aten::linear"),
        (150, 180, INPUT_WAIT, "stackproof.input_wait"),
    ]


def test_a_piece_stands_where_its_time_is(tmp_path: Path) -> None:
    picture = timeline(lanes(tmp_path, GPU), 0)
    found = {words: numbers for *numbers, words in bars(picture)}
    scale = (WIDTH - 16) / 130
    kind, x, y, width, height = found["ampere_sgemm_128x64: 40.0 µs"]
    assert (kind, y, height) == (GEMM, 0, BAR)
    assert (x, width) == (pytest.approx(8 + 20 * scale, abs=0.1), pytest.approx(40 * scale, abs=0.1))
    assert picture.title == "Timeline of step 7, rank 0"
    assert "Device 1, stream 7: gemm 30.8 %, communication 38.5 %, copy 3.8 %." in picture.alt
    assert f'<desc id="timeline-alt">{picture.alt}</desc>' in picture.svg
    assert "Time in the step (µs)" in picture.svg


def test_without_a_device_threads_show_the_self_time_of_operators(tmp_path: Path) -> None:
    found = lanes(tmp_path, training())
    (lane,) = found.lanes
    assert pieces(lane, found)[:3] == [
        (1000, 1005, INPUT_WAIT, "stackproof.input_wait"),
        (1010, 1011, GEMM, "aten::linear"),
        (1011, 1015, GEMM, "aten::t"),
    ]
    assert (lane.busy(), lane.busy(GEMM), lane.busy(OPTIMIZER)) == (65_000, 30_000, 20_000)


def test_the_step_of_median_length_is_drawn(tmp_path: Path) -> None:
    events = []
    for number, (at, length) in enumerate(((0, 100), (100, 500), (600, 300))):
        events += [annotation(f"ProfilerStep#{number}", at, length), op("aten::mm", at + 10, length - 20)]
    assert lanes(tmp_path, events).step.number == 2


def test_lanes_with_the_least_work_are_left_out_and_counted(tmp_path: Path) -> None:
    events = [annotation("ProfilerStep#1", 0, 1000)]
    for stream in range(1, MOST_STREAMS + 3):
        events += [
            event("cuda_runtime", "cudaLaunchKernel", 10 + stream, 0.5, correlation=stream),
            event("kernel", "k", 100, 10 * stream, stream, correlation=stream),
        ]
    found = lanes(tmp_path, events)
    titles = [lane.title for lane in found.lanes]
    assert titles == [f"Device 1, stream {stream}" for stream in range(MOST_STREAMS + 2, 2, -1)]
    assert found.hidden == 2
    assert "2 lanes with less work not shown" in timeline(found, None).caption


def test_without_work_there_is_no_picture(tmp_path: Path) -> None:
    assert lanes(tmp_path, [annotation("ProfilerStep#1", 0, 100)]) is None


def test_a_hostile_name_is_text(tmp_path: Path) -> None:
    name = "</title><script>alert(1)</script>\u202e\x1b[31m" + "x" * 4000
    found = lanes(tmp_path, [annotation("ProfilerStep#1", 0, 100), op(name, 10, 80, tid="</text><script>")])
    svg = timeline(found, 0).svg
    assert "<script" not in svg
    assert "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\x1b[31mxx" in svg
    assert "x" * 200 not in svg


def drawn(start: list[int], end: list[int], kind: list[int], whole: int) -> Timeline:
    """The picture of one lane over `whole` nanoseconds."""
    step = Step(1, 1, (0, whole), (0, whole), {}, {}, 0, 0, None)
    columns = [np.array(column, dtype=np.int64) for column in (start, end, kind, [0] * len(start))]
    return timeline(Lanes(step, 1, (0, whole), (Lane("lane", *columns),), 0, ("k",)), None)


def test_short_pieces_become_columns_as_high_as_the_share_that_they_fill() -> None:
    count = 100_000
    start = [100 * number for number in range(count)]
    found = bars(drawn(start, [at + 25 for at in start], [GEMM] * count, 100 * count))
    assert {height for *_, height, _ in found} == {BAR / 4}
    assert sum(width for _, _, _, width, _, _ in found) == WIDTH - 16
    assert sum(int(words.split(": ")[1].split(" piece")[0].replace(",", "")) for *_, words in found) == count


def test_classes_of_one_column_stand_on_each_other() -> None:
    start = [50 * number for number in range(100_000)]
    kinds = [GEMM, COPY] * 50_000
    found = bars(drawn(start, [at + 25 for at in start], kinds, 5_000_000))
    assert {(kind, y, height) for kind, _, y, _, height, _ in found} == {
        (GEMM, BAR * 3 / 4, BAR / 4),
        (COPY, BAR / 2, BAR / 4),
    }


def test_a_kind_that_takes_hardly_any_time_is_seen_beside_one_that_takes_all() -> None:
    start = [100 * number for number in range(100_000)]
    kinds = [GEMM] * 100_000
    kinds[50_000] = COPY
    found = bars(drawn(start, [at + 100 for at in start], kinds, 10_000_000))
    (copy,) = (each for each in found if each[0] == COPY)
    assert copy[4] == 1
    assert copy[-1].startswith("copy: 1 piece, 100 ns; ")
    assert seen(found) == {GEMM, COPY}


def test_work_has_the_class_that_the_breakdown_gives_it(tmp_path: Path) -> None:
    """The optimizer launched its kernel before the step that is drawn, and the device came to it only then."""
    events = [
        annotation("ProfilerStep#1", 0, 100),
        annotation("Optimizer.step#AdamW.step", 80, 15),
        *launched("kernel", "vectorized_elementwise_kernel", 85, 90, 60, 1),
        annotation("ProfilerStep#2", 100, 300),
        *launched("kernel", "vectorized_elementwise_kernel", 120, 160, 20, 2),
        annotation("ProfilerStep#3", 400, 500),
    ]
    found = lanes(tmp_path, events)
    assert found.step.number == 2
    assert [piece[2] for piece in pieces(found.lanes[0], found)] == [OPTIMIZER, ELEMENTWISE]
    svg = timeline(found, None).svg
    assert re.findall(r"<text[^>]*>(optimizer|elementwise|gemm)</text>", svg) == ["optimizer", "elementwise"]


def seen(found: list[tuple[int, float, float, float, float, str]]) -> set[int]:
    """Kinds of which a point shows, painted from the first to the last."""
    canvas = np.full((BAR, 10 * WIDTH), -1)
    for kind, x, y, width, height, _ in found:
        canvas[int(y) : int(y + height), round(10 * x) : max(round(10 * (x + width)), round(10 * x) + 1)] = kind
    return set(np.unique(canvas).tolist()) - {-1}


def said_unseen(picture: Timeline) -> set[str]:
    said = re.search(r"Too short to be seen here: (.*?)\.", picture.caption)
    return (
        {words.replace("host operator", "host").replace(" ", "_") for words in said[1].split(", ")} if said else set()
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20_000), st.integers(1, 200_000), st.integers(0, 2**32 - 1))
def test_the_picture_is_small_and_holds_everything(count: int, longest: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    start = np.sort(random.integers(0, 10_000_000, count))
    end = np.minimum(start + random.integers(1, longest + 1, count), 10_000_000)
    kinds = random.integers(0, len(NAMES), count)
    picture = drawn(start.tolist(), end.tolist(), kinds.tolist(), 10_000_000)
    found = bars(picture)
    assert len(picture.svg) <= MOST_CHARACTERS
    assert {kind for kind, *_ in found} == set(kinds.tolist())
    unseen = {NAMES[kind] for kind in set(kinds.tolist()) - seen(found)}
    assert unseen == said_unseen(picture)
    for _, x, y, width, height, _ in found:
        assert x >= 8
        assert x + width <= WIDTH - 8 + 0.2
        assert 0 <= y <= y + height <= BAR
        assert height >= 1
