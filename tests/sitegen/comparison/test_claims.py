"""Evidence that holds exactly one cause: that claim leads, and accounts for what it should."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ledger.metrics import registry
from ledger.run import Role
from sitegen.comparison.evidence import ItemResult, TrialRun
from sitegen.comparison.report import to_json, to_text
from sitegen.comparison.verdict import Verdict
from tests.serving import SERVE, benchmark
from tests.sitegen.comparison.made import interleaved, measured, profiled, swapped_file, verdict

SLOW = [0.100, 0.101, 0.099, 0.100, 0.1005]
FAST = [0.060, 0.0605, 0.0595, 0.060, 0.0602]
GAP = (sum(SLOW) - sum(FAST)) / 5
BASE = {"compute": 0.05, "compute.gemm": 0.05, "idle": 0.01}


def traced(**more: float) -> dict[str, float]:
    """Parts of a step with `more` over or beside the common ones; `__` stands for a dot."""
    parts = {**BASE, **{name.replace("__", "."): value for name, value in more.items()}}
    inside = ("compute", "exposed_communication", "exposed_copy", "input_wait", "host_gap", "idle")
    return {**parts, "traced_step_time": sum(value for name, value in parts.items() if name in inside)}


ONE_CAUSE: dict[str, tuple[dict[str, float], dict[str, float], float]] = {
    "input_wait": ({"input_wait": 0.04}, {"input_wait": 0.0}, 0.04),
    "host_bound": (
        {"host_gap": 0.045, "traced_launches": 3000},
        {"host_gap": 0.005, "traced_launches": 400},
        0.04,
    ),
    "straggler": (
        {"exposed_communication": 0.042, "peer_wait": 0.041, "transfer_time": 0.004, "collective_bytes": 1e9},
        {"exposed_communication": 0.002, "peer_wait": 0.001, "transfer_time": 0.004, "collective_bytes": 1e9},
        0.04,
    ),
    "more_traffic": (
        {"exposed_communication": 0.06, "transfer_time": 0.06, "collective_bytes": 3e9, "bus_bandwidth": 5e10},
        {"exposed_communication": 0.02, "transfer_time": 0.02, "collective_bytes": 1e9, "bus_bandwidth": 5e10},
        0.04,
    ),
    "slower_links": (
        {"exposed_communication": 0.06, "transfer_time": 0.06, "collective_bytes": 1e9, "bus_bandwidth": 2e10},
        {"exposed_communication": 0.02, "transfer_time": 0.02, "collective_bytes": 1e9, "bus_bandwidth": 6e10},
        0.04,
    ),
    "exposed_communication": ({"exposed_communication": 0.05}, {"exposed_communication": 0.01}, 0.04),
    "exposed_copy": ({"exposed_copy": 0.04}, {"exposed_copy": 0.0}, 0.04),
    "slower_class": (
        {"compute": 0.09, "compute__gemm": 0.09, "traced_flops": 1e12},
        {"compute": 0.05, "compute__gemm": 0.05, "traced_flops": 1e12},
        0.04,
    ),
    "slower_compute": (
        {"compute": 0.09, "compute__gemm": 0.066, "compute__norm": 0.012, "compute__attention": 0.012},
        {"compute": 0.05, "compute__gemm": 0.05, "compute__norm": 0.0, "compute__attention": 0.0},
        0.04,
    ),
    "more_flops": (
        {"compute": 0.09, "compute__gemm": 0.09, "traced_flops": 2e12},
        {"compute": 0.05, "compute__gemm": 0.05, "traced_flops": 1e12},
        0.04,
    ),
}


def leading(found: Verdict) -> Any:
    assert found.claims, "no claim"
    return found.claims[0]


@pytest.mark.parametrize("code", ONE_CAUSE)
def test_one_cause_in_the_parts_leads_and_accounts_for_its_share(code: str) -> None:
    slow, fast, amount = ONE_CAUSE[code]
    found = verdict(interleaved(SLOW, FAST) + profiled(traced(**slow), traced(**fast)))
    first = leading(found)
    assert first.code == code
    assert first.seconds == pytest.approx(amount)
    assert first.share == pytest.approx(amount / GAP)
    assert first.text.startswith(("slow ", "The first"))
    assert first.refuted_by
    assert first.intervention
    assert len(first.evidence) == 6
    assert [claim.code for claim in found.claims if claim.share is not None] == [code]


@pytest.mark.parametrize("code", ONE_CAUSE)
def test_swapping_the_sides_changes_nothing_of_it(code: str) -> None:
    slow, fast, _ = ONE_CAUSE[code]
    runs = interleaved(SLOW, FAST) + profiled(traced(**slow), traced(**fast))
    one, other = leading(verdict(runs)), leading(verdict(runs, **swapped_file()))
    assert (one.code, one.text, one.share) == (other.code, other.text, pytest.approx(other.share))


def test_a_part_that_exceeds_the_whole_difference_leads_over_what_moves_the_other_way() -> None:
    """Input wait of 70 ms in a difference of 40 ms: 30 ms of compute move the other way."""
    slow, fast = traced(input_wait=0.07), traced(input_wait=0.0, compute=0.08, compute__gemm=0.08)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, fast))
    assert leading(found).code == "input_wait"
    assert leading(found).share == pytest.approx(0.07 / GAP)
    assert [claim.code for claim in found.claims if claim.share is not None] == ["input_wait"]


def test_of_two_causes_the_larger_leads() -> None:
    slow, fast = traced(input_wait=0.01, exposed_copy=0.03), traced(input_wait=0.0, exposed_copy=0.0)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, fast))
    assert [claim.code for claim in found.claims][:2] == ["exposed_copy", "input_wait"]


def test_a_difference_that_may_be_none_has_no_cause() -> None:
    same = [0.100, 0.101, 0.099, 0.100, 0.1005]
    slow, fast, _ = ONE_CAUSE["input_wait"]
    found = verdict(interleaved(same, same[::-1]) + profiled(traced(**slow), traced(**fast)))
    assert [claim for claim in found.claims if claim.share is not None] == []


def test_one_launch_a_side_is_described_though_nothing_is_decided() -> None:
    slow, fast, _ = ONE_CAUSE["input_wait"]
    found = verdict(interleaved(SLOW[:1], FAST[:1]) + profiled(traced(**slow), traced(**fast), launches=1))
    assert leading(found).code == "input_wait"
    assert not found.readiness.ready
    assert found.effect.absent == "fewer than 3 launches a side"


def test_without_traces_nothing_is_said_of_where_the_time_goes() -> None:
    assert [claim.code for claim in verdict(interleaved(SLOW, FAST)).claims if claim.share is not None] == []


def timed(metric: str, slow: float, fast: float, **more: Any) -> list[TrialRun]:
    """Timed launches with one more metric a side."""
    values = {"slow": slow, "fast": fast}
    return [
        replace(run, measured=(*run.measured, measured(metric, values[run.stack])))
        for run in interleaved(SLOW, FAST, **more)
    ]


def test_throttling_leads_before_the_kernels_that_it_slows() -> None:
    slow, fast, _ = ONE_CAUSE["slower_class"]
    runs = timed("throttled_share", 0.6, 0.0) + profiled(traced(**slow), traced(**fast))
    found = leading(verdict(runs))
    assert found.code == "throttled"
    assert [each.baseline for each in found.numbers if each.metric == "throttled_share"] == [0.6]
    assert "60 %" in leading(verdict(runs)).text
    both = timed("throttled_share", 0.6, 0.6) + profiled(traced(**slow), traced(**fast))
    assert leading(verdict(both)).code == "slower_class"


def test_more_overlap_in_the_slower_side_is_no_goal() -> None:
    slow = traced(input_wait=0.04, overlap_share=0.9)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, traced(input_wait=0.0, overlap_share=0.4)))
    assert [claim.code for claim in found.claims][:2] == ["input_wait", "overlap_no_goal"]
    back = verdict(
        interleaved(SLOW, FAST) + profiled(traced(input_wait=0.04, overlap_share=0.4), traced(overlap_share=0.9))
    )
    assert "overlap_no_goal" not in [claim.code for claim in back.claims]


def test_compilation_is_repaid_after_as_many_steps_as_it_takes() -> None:
    runs = [
        replace(run, measured=(*run.measured, measured("first_step_time", {"slow": 1.0, "fast": 9.0}[run.stack])))
        for run in interleaved([0.100, 0.101, 0.099], [0.060, 0.061, 0.059])
    ]
    (claim,) = [claim for claim in verdict(runs).claims if claim.code == "compile_repaid"]
    # 8 s at 40 ms a step; the claim needs a difference that is sure, which the step time is
    assert "after 200 steps" in claim.text


def test_one_noisy_rank() -> None:
    slow = traced(input_wait=0.04, rank_imbalance=1.5)
    found = verdict(interleaved(SLOW, FAST) + profiled(slow, traced(input_wait=0.0, rank_imbalance=1.01)))
    (claim,) = [claim for claim in found.claims if claim.code == "noisy_rank"]
    assert "One rank of slow computes 1.50 times as long" in claim.text


def test_a_single_setting_that_differs_does_it() -> None:
    claims = [claim.code for claim in verdict(interleaved(SLOW, FAST)).claims]
    assert claims == ["one_setting"]
    two = interleaved(
        SLOW, FAST, slow_changes={"fields": {"setting.more": "a"}}, fast_changes={"fields": {"setting.more": "b"}}
    )
    assert "one_setting" not in [claim.code for claim in verdict(two).claims]


CLOSED = {**SERVE, "load": {"concurrency": 1, "requests": 200, "max_output_tokens": 16}}


def served(
    slow: dict[str, float],
    fast: dict[str, float],
    *,
    items: dict[str, float] | None = None,
    swapped: bool = False,
    **changes: Any,
) -> Verdict:
    """Five launches a side of a serving benchmark, `e2e.mean` the sum of the phases, with a little spread."""
    values, accepted = {"slow": slow, "fast": fast}, items or {"slow": 1.0, "fast": 1.0}
    sides = ("fast", "slow") if swapped else ("slow", "fast")
    runs = []
    for run in interleaved([1.0] * 5, [1.0] * 5, **changes):
        own, spread = values[run.stack], 1 + 0.002 * (run.repeat + (run.stack == "fast") * 0.3)
        phases = {name: value for name, value in own.items() if name.startswith("phase.")}
        rows = {**own, **{name: value * spread for name, value in phases.items()}}
        rows["e2e.mean"] = sum(phases.values()) * spread
        rows["cost_per_accepted_result"] = rows.get("cost_per_accepted_result", rows["e2e.mean"])
        rows.setdefault("acceptance_rate", accepted[run.stack])
        results = {f"q{n}": ItemResult(float(n < 200 * accepted[run.stack]), 1, 1) for n in range(200)}
        runs.append(replace(run, measured=tuple(measured(name, value) for name, value in rows.items()), items=results))
    pair = {"baseline": sides[0], "candidate": sides[1], "threshold": "5%"}
    return verdict(runs, **benchmark(CLOSED), comparisons=[pair])


def phases(wait: float = 0.0, first: float = 0.2, decode: float = 0.3, **more: float) -> dict[str, float]:
    named = {name.replace("__", "."): value for name, value in more.items()}
    assert all(map(registry.get, named)), "a metric that no launch has"
    return {"phase.client_wait": wait, "phase.first_token": first, "phase.decode": decode, **named}


SERVING = {
    "client_wait": (phases(wait=0.5), phases()),
    "queueing_before_prefill": (
        phases(first=0.7, queue_time=0.5),
        phases(first=0.2, queue_time=0.01),
    ),
    "slower_prefill": (phases(first=0.7, queue_time=0.01), phases(first=0.2, queue_time=0.01)),
    "slower_first_token": (phases(first=0.7), phases(first=0.2)),
    "slower_decode": (
        phases(decode=0.9, tpot__mean=0.09, output_token_throughput=10, request_throughput=1),
        phases(decode=0.3, tpot__mean=0.03, output_token_throughput=20, request_throughput=2),
    ),
    "longer_answers": (
        phases(decode=0.9, tpot__mean=0.03, output_token_throughput=30, request_throughput=1),
        phases(decode=0.3, tpot__mean=0.03, output_token_throughput=20, request_throughput=2),
    ),
    "memory_bound_decode": (
        phases(decode=0.9, tpot__mean=0.09, weight_bytes=6e9, decode_growth=0.1),
        phases(decode=0.3, tpot__mean=0.03, weight_bytes=2e9, decode_growth=0.1),
    ),
    "batch_starvation": (
        phases(first=0.7, queue_time=0.5, requests_in_flight=8.0, decoding_at_once=1.9),
        phases(first=0.2, queue_time=0.01, requests_in_flight=8.0, decoding_at_once=7.5),
    ),
    "saturated": (
        phases(first=0.9, achieved_load=0.6),
        phases(first=0.2, achieved_load=1.0),
    ),
}


@pytest.mark.parametrize("code", SERVING)
def test_one_cause_in_the_phases_leads(code: str) -> None:
    found = served(*SERVING[code])
    assert leading(found).code == code
    assert leading(found).share == pytest.approx(1, rel=0.05)
    assert [claim.code for claim in found.claims if claim.share is not None] == [code]


@pytest.mark.parametrize("code", SERVING)
def test_swapping_the_sides_changes_nothing_of_a_claim_about_phases(code: str) -> None:
    one, other = leading(served(*SERVING[code])), leading(served(*SERVING[code], swapped=True))
    assert (one.code, one.text, one.share) == (other.code, other.text, pytest.approx(other.share))


def test_every_metric_that_a_planted_cause_rests_on_is_one_that_launches_have() -> None:
    """A rule that reads a name which no definition has would never be made of real evidence."""
    planted = {name for sides in SERVING.values() for side in sides for name in side}
    steps = [traced(**side) for slow, fast, _ in ONE_CAUSE.values() for side in (slow, fast)]
    assert {name for name in planted.union(*steps) if registry.get(name) is None} == set()


BYTES = (
    {"decode": 0.9, "tpot__mean": 0.09, "weight_bytes": 6e9, "decode_growth": 0.1},
    {"decode": 0.3, "tpot__mean": 0.03, "weight_bytes": 2e9, "decode_growth": 0.1},
)
"""Three times the bytes, three times the time a token."""


@pytest.mark.parametrize(
    ("slow", "fast", "code"),
    [
        pytest.param({}, {}, "memory_bound_decode", id="bytes-explain-it"),
        pytest.param({"decode_growth": 0.9}, {}, "slower_decode", id="grows-with-the-batch"),
        pytest.param({"decode_growth": None}, {}, "slower_decode", id="growth-not-known"),
        pytest.param({"weight_bytes": None}, {}, "slower_decode", id="bytes-not-known"),
        pytest.param({"weight_bytes": 2e9}, {}, "slower_decode", id="as-many-bytes"),
        pytest.param({"weight_bytes": 20e9}, {}, "slower_decode", id="bytes-would-take-longer-still"),
        pytest.param({"weight_bytes": 3e9}, {}, "slower_decode", id="bytes-would-take-less"),
        pytest.param({"weight_bytes": 2e9, "mbu": 0.7}, {"mbu": 0.7}, "memory_bound_decode", id="near-the-peak"),
        pytest.param(
            {"decode_growth": None, "mbu": 0.7}, {"mbu": 0.2}, "memory_bound_decode", id="near-the-peak-without-sweep"
        ),
        pytest.param({"mbu": 0.7, "decode_growth": 0.9}, {}, "slower_decode", id="near-the-peak-and-growing"),
        pytest.param({"mbu": 0.3, "weight_bytes": 2e9}, {"mbu": 0.7}, "slower_decode", id="the-other-near-the-peak"),
    ],
)
def test_memory_is_what_bounds_decoding_only_where_numbers_show_it(
    slow: dict[str, Any], fast: dict[str, Any], code: str
) -> None:
    sides = [
        phases(**{name: value for name, value in {**base, **more}.items() if value is not None})
        for base, more in zip(BYTES, (slow, fast), strict=True)
    ]
    assert leading(served(*sides)).code == code


def test_a_memory_bound_claim_says_what_would_refute_it_and_shows_its_numbers() -> None:
    claim = leading(served(*(phases(**side) for side in BYTES)))
    assert "reads 3.00 times as many bytes of weights" in claim.text
    assert "fewer bytes" in claim.refuted_by
    assert "lower precision" in claim.intervention
    assert {"weight_bytes", "decode_growth", "tpot.mean"} <= {number.metric for number in claim.numbers}


def starved(
    batch: float = 1.9, in_flight: float = 8.0, other: float = 7.5, limit: str | None = "2", **more: float
) -> Verdict:
    """A side of which requests wait for room beside one of which they do not."""
    fields = {"setting.max_num_seqs": limit} if limit else {}
    return served(
        phases(first=0.7, requests_in_flight=in_flight, decoding_at_once=batch, **more),
        phases(first=0.2, requests_in_flight=8.0, decoding_at_once=other),
        slow_changes={"fields": fields},
        fast_changes={"fields": {"setting.max_num_seqs": "16"}},
    )


def test_requests_that_wait_for_a_limit_starve_the_batch() -> None:
    claim = leading(starved())
    assert claim.code == "batch_starvation"
    assert "Of 8 requests in flight slow decodes 1.90 at once, as max_num_seqs=2 allows no more;" in claim.text
    assert claim.share == pytest.approx(1, rel=0.05)
    assert claim.intervention == "give slow room for 8 requests at once instead of max_num_seqs=2"
    assert "as late" in claim.refuted_by


@pytest.mark.parametrize(("batch", "code"), [(1.0, "batch_starvation"), (1.9, "slower_first_token")])
def test_a_server_that_is_told_not_to_batch_has_room_for_one(batch: float, code: str) -> None:
    """Unless the client sees that it decodes several at once all the same."""
    found = served(
        phases(first=0.7, requests_in_flight=8.0, decoding_at_once=batch),
        phases(first=0.2, requests_in_flight=8.0, decoding_at_once=7.5),
        slow_changes={"fields": {"setting.continuous_batching": "false"}},
    )
    assert leading(found).code == code


def test_a_starved_batch_is_why_a_side_is_saturated() -> None:
    found = starved(achieved_load=0.6)
    assert [claim.code for claim in found.claims if claim.share is not None] == ["batch_starvation"]
    assert "saturated" in [claim.code for claim in found.claims]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"limit": None}, "slower_first_token", id="nothing-tells-that-they-wait"),
        pytest.param({"limit": "16"}, "slower_first_token", id="a-limit-that-is-not-reached"),
        pytest.param({"in_flight": 2.5}, "slower_first_token", id="few-in-flight"),
        pytest.param({"other": 1.9}, "slower_first_token", id="the-other-as-crowded"),
        pytest.param({"decode_growth": 0.9}, "slower_first_token", id="a-larger-batch-would-take-longer"),
    ],
)
def test_a_batch_is_starved_only_where_numbers_show_it(changes: dict[str, Any], code: str) -> None:
    assert leading(starved(**changes)).code == code


@pytest.mark.parametrize(("in_flight", "said"), [(2.0, True), (8.0, True), (9.0, False)])
def test_batches_that_the_load_keeps_small_are_said_to_be(in_flight: float, said: bool) -> None:
    sides = [phases(decode=0.9, requests_in_flight=in_flight), phases(decode=0.3, requests_in_flight=in_flight)]
    found = served(*sides, slow_changes={"fields": {"setting.parallel": "16"}})
    claims = [claim for claim in found.claims if claim.code == "small_batches"]
    assert [claim.share for claim in claims] == ([None] if said else [])
    assert all("where parallel=16 allows more at once" in claim.text for claim in claims)


def test_what_refutes_a_slower_prefill_is_not_what_it_predicts() -> None:
    """At one request in flight nothing queues, and a slower prefill is as slow."""
    assert leading(served(*SERVING["slower_prefill"])).refuted_by.endswith("comes no later")
    assert leading(served(*SERVING["queueing_before_prefill"])).refuted_by.endswith("comes as late")


def test_quicker_by_answering_worse() -> None:
    found = served(phases(decode=0.9), phases(decode=0.3), items={"slow": 0.9, "fast": 0.6})
    assert "answers_worse" in [claim.code for claim in found.claims]
    alike = served(phases(decode=0.9), phases(decode=0.3), items={"slow": 0.9, "fast": 0.9})
    assert "answers_worse" not in [claim.code for claim in alike.claims]


def test_terminal_and_json_say_the_same() -> None:
    slow, fast, _ = ONE_CAUSE["input_wait"]
    found = verdict(interleaved(SLOW, FAST) + profiled(traced(**slow), traced(**fast)))
    text = to_text(found)
    assert "waits 40.0 ms a step longer for input" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert '"code": "input_wait"' in json.dumps(to_json([found]))


def test_profiled_launches_are_cited_by_claims_about_steps_and_timed_ones_by_others() -> None:
    slow, fast, _ = ONE_CAUSE["input_wait"]
    found = verdict(interleaved(SLOW, FAST) + profiled(traced(**slow), traced(**fast)))
    by_code = {claim.code: claim for claim in found.claims}
    assert all(str(Role.PROFILED) in run for run in by_code["input_wait"].evidence)
    assert all(str(Role.TIMED) in run for run in by_code["one_setting"].evidence)
