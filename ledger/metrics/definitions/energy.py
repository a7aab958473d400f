"""Energy, power and throttling of the devices that a trial used (samples/telemetry.parquet).

All of them speak of the accelerators alone: the processors, memory and fans of the host have no sensor here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ledger.metrics.registry import Missing, Result, metric
from ledger.metrics.tables import Tables

TELEMETRY = "samples/telemetry.parquet"
STEPS = "samples/steps.parquet"
REQUESTS = "samples/requests.parquet"

Sample = Mapping[str, Any]

SETTINGS = frozenset({"applications_clocks_setting", "sync_boost", "display_clock_setting"})
"""Throttle reasons that somebody chose; all others are the device protecting itself or its power supply."""
NO_SENSOR = Missing("no power or energy of a device was sampled: this host has no such sensor")


def used_devices(tables: Tables) -> dict[str, list[Sample]]:
    """{device: its samples in order} of the devices that the trial's processes computed on.

    Where NVML does not tell whose processes compute on a device (as in most containers), all devices of the host count.
    A MIG instance is not counted beside its device, which has the sensors.
    """
    if tables.telemetry is None:
        return {}
    rows = [row for row in tables.telemetry.to_pylist() if row["device"] != "host" and "/" not in row["device"]]
    devices: dict[str, list[Sample]] = {}
    for row in sorted(rows, key=lambda each: each["elapsed_ns"]):
        devices.setdefault(row["device"], []).append(row)
    used = {name: samples for name, samples in devices.items() if any(sample["in_use"] for sample in samples)}
    return used or devices


def counted(samples: list[Sample]) -> float | None:
    """Joules that a device's own counter went up since the launch; None without a counter."""
    values = [sample["energy_j"] for sample in samples if sample["energy_j"] is not None]
    return float(values[-1]) if values else None


def integrated(samples: list[Sample]) -> float | None:
    """Joules of a device's power over time, by trapezoids; the first sample speaks for the time before it.

    None without two samples of power.
    """
    known = [(sample["elapsed_ns"] / 1e9, sample["power_w"]) for sample in samples if sample["power_w"] is not None]
    if len(known) < 2:
        return None
    times, power = np.asarray(known, dtype=np.float64).T
    between = (power[1:] + power[:-1]) / 2 * np.diff(times)
    return float(between.sum() + power[0] * times[0])


def energy_of(tables: Tables) -> float | None:
    """Joules over all used devices, from each one's counter, else from its power; None when one has neither."""
    found = [
        integrated(samples) if (joules := counted(samples)) is None else joules
        for samples in used_devices(tables).values()
    ]
    known = [each for each in found if each is not None]
    return sum(known) if known and len(known) == len(found) else None


@metric(
    "energy",
    title="Energy",
    unit="J",
    direction="lower",
    definition="Energy of the used devices over the whole launch: each one's own counter, else its power over time.",
    inputs=(TELEMETRY,),
    source="NVML: nvmlDeviceGetTotalEnergyConsumption, else nvmlDeviceGetPowerUsage",
)
def energy(tables: Tables) -> Result:
    found = energy_of(tables)
    return NO_SENSOR if found is None else found


@metric(
    "energy_counted_share",
    title="Share of energy counted",
    unit="share",
    direction="neither",
    definition="Share of the energy that devices' own counters tell; the rest is integrated from samples of power.",
    inputs=(TELEMETRY,),
    source="stackproof: says where `energy` comes from",
)
def energy_counted_share(tables: Tables) -> Result:
    total = energy_of(tables)
    if not total:
        return NO_SENSOR
    return sum(counted(samples) or 0.0 for samples in used_devices(tables).values()) / total


@metric(
    "average_power",
    title="Average power",
    unit="W",
    direction="lower",
    definition="Energy of the used devices divided by the time from the launch to the last sample.",
    inputs=(TELEMETRY,),
    source="stackproof: energy over time, not a mean of samples",
)
def average_power(tables: Tables) -> Result:
    total = energy_of(tables)
    last = max((samples[-1]["elapsed_ns"] for samples in used_devices(tables).values()), default=0)
    return NO_SENSOR if total is None or not last else total / last * 1e9


@metric(
    "tokens_per_joule",
    title="Tokens per joule",
    unit="tokens/J",
    direction="higher",
    definition="Tokens of all steps, or put out in all requests, divided by the launch's energy, start-up included.",
    inputs=(TELEMETRY, STEPS, REQUESTS),
    source="stackproof: total work over total energy",
    kinds=("train", "serve", "command"),
)
def tokens_per_joule(tables: Tables) -> Result:
    total = energy_of(tables)
    if not total:
        return NO_SENSOR
    tokens = _tokens(tables)
    return Missing("the trial does not say how many tokens it took or put out") if tokens is None else tokens / total


def _tokens(tables: Tables) -> int | None:
    """Tokens of all steps, else those put out over all requests; None when one of them does not say."""
    for table, column in ((tables.steps, "tokens"), (tables.requests, "output_tokens")):
        if table is not None and table.num_rows:
            values = table[column].to_pylist()
            return None if None in values else sum(values)
    return None


@metric(
    "throttled_share",
    title="Throttled",
    unit="share",
    direction="lower",
    definition="Share of the used devices' samples in which heat, power or a fault held the clocks down.",
    inputs=(TELEMETRY,),
    source="NVML: nvmlDeviceGetCurrentClocksEventReasons, without the reasons that somebody chose",
)
def throttled_share(tables: Tables) -> Result:
    told = [
        set(sample["throttled_by"]) - SETTINGS
        for samples in used_devices(tables).values()
        for sample in samples
        if sample["throttled_by"] is not None
    ]
    return sum(map(bool, told)) / len(told) if told else Missing("no device told what holds its clocks down")
