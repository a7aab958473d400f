"""What bounds decoding: how many requests are decoded together, what that does to a token's time, and how fast weights
are read for it.

A decoding server reads every weight once for each iteration and gives each request in the batch one token. So a token's
time over the weights' bytes says at which rate memory is read, whoever the server is.
"""

from __future__ import annotations

import numpy as np

from ledger.metrics import load_levels, peaks
from ledger.metrics.definitions.serving import NO_REQUESTS, REQUESTS, SERVED, SOURCE, measured
from ledger.metrics.registry import Missing, Result, metric
from ledger.metrics.requests import levels
from ledger.metrics.tables import Tables

TRIAL = "launch/trial.json"
ENVIRONMENT = "environment.json"
APART = 2.0
"""How many times as many requests must be decoded together at the busiest level as at the quietest."""
NO_WEIGHTS = Missing("the launch did not record how many bytes of weights an iteration reads")


@metric(
    "requests_in_flight",
    title="Requests in flight",
    unit="requests",
    direction="neither",
    definition="Mean number of requests that were sent and had not ended, over the time in which there was any.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=SERVED,
)
def requests_in_flight(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    found = requests.in_flight
    return Missing("no request took any time") if found is None else found


@metric(
    "decoding_at_once",
    title="Requests decoded at once",
    unit="requests",
    direction="neither",
    definition="Mean number of answered requests between their first token and their last, over the time in which "
    "there was any: the batch of the decode iterations, as the client sees it.",
    inputs=(REQUESTS,),
    source=SOURCE,
    kinds=SERVED,
)
def decoding_at_once(tables: Tables) -> Result:
    requests = measured(tables)
    if requests is None:
        return NO_REQUESTS
    found = requests.decoding_at_once
    return Missing("no answered request tells when its first token came") if found is None else found


@metric(
    "decode_growth",
    title="Growth of a token's time with the batch",
    unit="",
    direction="neither",
    definition="Slope of the logarithm of mean time per output token over the logarithm of requests decoded at once, "
    "by least squares over the driven levels of load: 0 where a token takes as long however many are decoded "
    "together, 1 where it takes longer by as much as there are more.",
    inputs=(REQUESTS,),
    source="stackproof: reading the weights is shared by a batch, and arithmetic is not (roofline model)",
    kinds=("serve",),
)
def decode_growth(tables: Tables) -> Result:
    points = []
    for _, requests in levels(tables.requests):
        time, batch = load_levels.latency(requests, "tpot.mean"), requests.decoding_at_once
        if isinstance(time, float) and batch is not None and time > 0:
            points.append((batch, time))
    batches = [batch for batch, _ in points]
    if len(points) < 2 or max(batches) < APART * min(batches):
        return Missing(f"no two driven levels of load have batches that are {APART:g} times apart")
    x, y = np.log(np.array(points)).T
    x = x - x.mean()
    return float((x * y).sum() / (x * x).sum())


@metric(
    "weight_bytes",
    title="Weights read by an iteration",
    unit="B",
    direction="neither",
    definition="Bytes of the weights that one decode iteration reads, in the precision that is served; an input "
    "embedding beside an output head of its own is left out, for it is only looked up.",
    inputs=(TRIAL,),
    source="shapes and types in the model's own files; a mixture of experts reads less, and has no such number",
    kinds=("serve",),
)
def weight_bytes(tables: Tables) -> Result:
    found = _weights(tables)
    return NO_WEIGHTS if found is None else found[0]


@metric(
    "weight_read_rate",
    title="Rate of reading weights",
    unit="B/s",
    direction="neither",
    definition="Bytes of the weights that an iteration reads on one device, over the mean time per output token; keys "
    "and values are not counted, and a server that guesses several tokens at once reads less often.",
    inputs=(TRIAL, REQUESTS),
    source=SOURCE,
    kinds=("serve",),
)
def weight_read_rate(tables: Tables) -> Result:
    weights, requests = _weights(tables), measured(tables)
    if weights is None:
        return NO_WEIGHTS
    if requests is None:
        return NO_REQUESTS
    time = load_levels.latency(requests, "tpot.mean")
    if not isinstance(time, float):
        return time if isinstance(time, Missing) else Missing("is no latency")
    size, devices = weights
    return size / devices / time if time > 0 else Missing("the tokens took no time")


@metric(
    "mbu",
    title="Memory bandwidth used by decoding",
    unit="share",
    direction="higher",
    definition="Rate of reading weights in decode iterations over the peak bandwidth of the device's memory; keys and "
    "values are not counted, so that more is used than it says.",
    inputs=(TRIAL, REQUESTS, ENVIRONMENT),
    source="model bandwidth utilisation, with peaks by their makers' data sheets (ledger/metrics/peaks.yaml)",
    kinds=("serve",),
)
def mbu(tables: Tables) -> Result:
    rate = weight_read_rate(tables)
    if not isinstance(rate, float):
        return rate
    names = {str(device.get("name")) for device in tables.devices}
    if len(names) != 1:
        return Missing("it is not one kind of device that decodes")
    (name,) = names
    peak = peaks.memory_bandwidth(name)
    if peak is None:
        return Missing(f"no peak bandwidth is known of {name}")
    if rate > peak:
        return Missing(
            f"its inputs cannot be true: weights read at {rate:.3g} B/s, above the peak {peak:.3g} B/s of {name}"
        )
    return rate / peak


def _weights(tables: Tables) -> tuple[float, int] | None:
    """(bytes that an iteration reads, devices that they are spread over); None where the launch does not say."""
    found = tables.trial.get("weights")
    if not isinstance(found, dict):
        return None
    size, devices = found.get("bytes"), found.get("devices", 1)
    return (float(size), int(devices)) if size and devices else None
