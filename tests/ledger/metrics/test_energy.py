"""Energy, power and throttling with right answers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import parquet
from ledger.metrics.definitions import energy
from ledger.metrics.registry import Missing
from ledger.metrics.tables import Tables


def sample(at_s: float, device: str = "gpu0", **columns: Any) -> dict[str, Any]:
    """One sample, `at_s` seconds after the launch."""
    return {"elapsed_ns": round(at_s * 1e9), "device": device, **columns}


def tables(folder: Path, *rows: dict[str, Any], steps: list[dict[str, Any]] | None = None) -> Tables:
    """A run folder with these samples."""
    parquet.write(folder / "samples/telemetry.parquet", list(rows), parquet.TELEMETRY)
    if steps is not None:
        parquet.write(folder / "samples/steps.parquet", steps, parquet.STEPS)
    return Tables(folder)


def test_power_over_time_by_trapezoids(tmp_path: Path) -> None:
    """100 W held for the second before the first sample, then 100 to 300 W in 2 s, then 300 W for 1 s: 800 J."""
    found = tables(tmp_path, sample(1, power_w=100), sample(3, power_w=300), sample(4, power_w=300))
    assert energy.energy(found) == pytest.approx(100 + 400 + 300)
    assert energy.energy_counted_share(found) == 0
    assert energy.average_power(found) == pytest.approx(200)


def test_a_counter_goes_before_power(tmp_path: Path) -> None:
    found = tables(tmp_path, sample(1, power_w=100, energy_j=0), sample(2, power_w=100, energy_j=777))
    assert energy.energy(found) == 777
    assert energy.energy_counted_share(found) == 1


def test_devices_add_up_and_each_uses_what_it_has(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        sample(1, "gpu0", energy_j=10),
        sample(2, "gpu0", energy_j=30),
        sample(1, "gpu1", power_w=5),
        sample(2, "gpu1", power_w=5),
        sample(2, "host", utilisation=0.5),
    )
    assert energy.energy(found) == pytest.approx(30 + 10)
    assert energy.energy_counted_share(found) == pytest.approx(0.75)


def test_a_device_that_the_trial_did_not_use_does_not_count(tmp_path: Path) -> None:
    rows = [
        sample(1, "gpu0", energy_j=5, in_use=False),
        sample(1, "gpu1", energy_j=7, in_use=False),
        sample(2, "gpu1", energy_j=9, in_use=True),
    ]
    assert energy.energy(tables(tmp_path, *rows)) == 9
    unknown = [{**row, "in_use": False} for row in rows]
    assert energy.energy(tables(tmp_path / "container", *unknown)) == 5 + 9


def test_one_used_device_without_a_sensor_leaves_the_sum_out(tmp_path: Path) -> None:
    found = tables(tmp_path, sample(1, "gpu0", energy_j=5), sample(1, "gpu1", utilisation=0.9))
    assert isinstance(energy.energy(found), Missing)
    assert isinstance(energy.average_power(found), Missing)


def test_a_mig_instance_is_not_a_device_of_its_own(tmp_path: Path) -> None:
    found = tables(tmp_path, sample(1, energy_j=5), sample(1, "gpu0/mig1", memory_bytes=1))
    assert energy.energy(found) == 5


@pytest.mark.parametrize(
    "compute",
    [
        energy.energy,
        energy.energy_counted_share,
        energy.average_power,
        energy.tokens_per_joule,
        energy.throttled_share,
    ],
)
def test_a_host_without_devices_has_none_of_them(tmp_path: Path, compute: Any) -> None:
    assert isinstance(compute(tables(tmp_path, sample(1, "host", utilisation=1.0))), Missing)
    assert isinstance(compute(Tables(tmp_path / "nothing")), Missing)


def test_tokens_per_joule_over_the_whole_launch(tmp_path: Path) -> None:
    steps = [{"step": number, "phase": "measured", "tokens": 500} for number in range(4)]
    found = tables(tmp_path, sample(1, energy_j=100), steps=steps)
    assert energy.tokens_per_joule(found) == 20


def test_tokens_that_a_step_does_not_tell(tmp_path: Path) -> None:
    steps = [{"step": 0, "tokens": 500}, {"step": 1, "tokens": None}]
    assert isinstance(energy.tokens_per_joule(tables(tmp_path, sample(1, energy_j=1), steps=steps)), Missing)


def test_throttling_by_what_nobody_chose(tmp_path: Path) -> None:
    reasons = ([], ["sw_power_cap"], ["applications_clocks_setting"], ["sync_boost", "hw_thermal_slowdown"], None)
    found = tables(tmp_path, *(sample(at, throttled_by=each) for at, each in enumerate(reasons)))
    assert energy.throttled_share(found) == 0.5


def test_telemetry_of_earlier_runs_has_fewer_columns(tmp_path: Path) -> None:
    parquet.write(tmp_path / "samples/telemetry.parquet", [sample(1, energy_j=3.0)], old_schema())
    assert energy.energy(Tables(tmp_path)) == 3


def old_schema() -> Any:
    """The columns of the first runs' telemetry."""
    import pyarrow as pa

    return pa.schema(list(parquet.TELEMETRY)[:7])
