"""Telemetry of the host, and the record of what could not be read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from collector.telemetry.host import HostProbe, read_pressure
from collector.telemetry.probe import Absences, Probe
from collector.telemetry.sampler import Sampler
from ledger import parquet


def pressure(folder: Path, **totals: int) -> Path:
    """A made-up /proc/pressure; `totals` in microseconds."""
    folder.mkdir(exist_ok=True)
    for resource, total in totals.items():
        line = f"some avg10=12.50 avg60=1.00 avg300=0.25 total={total}\n"
        (folder / resource).write_text(line + "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n")
    return folder


def test_stalls_count_from_the_launch(tmp_path: Path) -> None:
    folder = pressure(tmp_path / "pressure", cpu=5_000_000, memory=1_000_000, io=2_000_000)
    probe = HostProbe(os.getpid(), folder)
    pressure(folder, cpu=7_500_000, memory=1_000_000, io=2_250_000)
    (sample,) = [reading() for reading in probe.readings()]
    assert (sample["cpu_stall_s"], sample["memory_stall_s"], sample["io_stall_s"]) == (2.5, 0.0, 0.25)
    assert sample["device"] == "host"
    assert set(sample) <= set(parquet.TELEMETRY.names)


def test_a_kernel_without_pressure_says_so(tmp_path: Path) -> None:
    folder = pressure(tmp_path / "pressure", cpu=1)
    probe = HostProbe(os.getpid(), folder)
    (sample,) = [reading() for reading in probe.readings()]
    assert "cpu_stall_s" in sample
    assert "io_stall_s" not in sample
    assert probe.absences.told()["io pressure"] == f"this kernel has no {folder / 'io'}"
    assert "cpu pressure" not in probe.absences.told()


def test_a_pressure_file_in_base_units(tmp_path: Path) -> None:
    found = read_pressure(pressure(tmp_path / "pressure", cpu=1_500_000) / "cpu")
    assert found is not None
    assert (found.shares, found.total_s) == ({"avg10": 0.125, "avg60": 0.01, "avg300": 0.0025}, 1.5)
    assert read_pressure(tmp_path / "none") is None


def test_counters_the_system_does_not_have_are_absent_and_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no such counter")

    for name in ("disk_io_counters", "net_io_counters", "cpu_freq"):
        monkeypatch.setattr(psutil, name, refuse)
    probe = HostProbe(os.getpid())
    (sample,) = [reading() for reading in probe.readings()]
    assert sample["clock_hz"] is None
    assert not {"disk_read_bytes", "network_sent_bytes"} & set(sample)
    assert {"disk", "network", "processor clock"} <= set(probe.absences.told())


def test_bytes_written_by_a_trial_are_seen(tmp_path: Path) -> None:
    """The resident set is that of the processes below the supervisor, not of the collector."""
    code = "import time; block = bytearray(64 * 2**20); print(len(block), flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (sample,) = [reading() for reading in HostProbe(os.getpid()).readings()]
        child.kill()
    memory = sample["memory_bytes"]
    assert isinstance(memory, int)
    assert 64 * 2**20 < memory < 512 * 2**20


def test_absences_by_sensor_device_and_share() -> None:
    found = Absences()
    for device in ("gpu0", "gpu1"):
        found.missed(device, "ecc", "not supported")
        found.had(device, "power")
    found.missed("gpu1", "power", "timeout")
    found.missed("gpu0", "energy", "a")
    found.missed("gpu1", "energy", "b")
    found.say("gpu2", "lost")
    assert found.told() == {
        "gpu2": "lost",
        "ecc": "not supported",
        "gpu1.power": "timeout, in 1 of 2 samples",
        "gpu0.energy": "a",
        "gpu1.energy": "b",
    }


def test_a_sampler_samples_once_more_at_the_end_and_tells_its_cost() -> None:
    sampler = Sampler(interval_s=30)
    sampler.start(os.getpid())
    sampler.stop()
    assert [row["device"] for row in sampler.rows if row["device"] == "host"] == ["host"]
    assert (sampler.cost["rounds"], sampler.cost["interval_s"], sampler.cost["late"]) == (1, 30, 0)
    assert 0 <= sampler.cost["cpu_s"] < 5


def test_a_sensor_that_breaks_ends_telemetry_and_not_the_trial() -> None:
    class Broken(Probe):
        def readings(self) -> list:
            raise ValueError("who knows")

    sampler = Sampler(interval_s=0.01)
    sampler.start(os.getpid())
    sampler._probes.append(Broken())
    time.sleep(0.1)
    sampler.stop()
    assert "ValueError: who knows" in sampler.absent["telemetry"]


def test_a_sampler_that_was_never_started_stops() -> None:
    sampler = Sampler()
    sampler.stop()
    assert (sampler.rows, sampler.absent, sampler.cost) == ([], {}, {})
