"""llama.cpp's OpenAI-compatible server, as the package xllamacpp brings it. Usage: llama_server.py SETTINGS_JSON.

SETTINGS_JSON: {model, port, alias, context, parallel, threads, batch}; null leaves llama.cpp's default.
"""

from __future__ import annotations

import json
import signal
import sys
import threading

import xllamacpp


def main() -> None:
    """Serve until told to stop."""
    wanted = json.loads(sys.argv[1])
    params = xllamacpp.CommonParams()
    params.model.path = wanted["model"]
    params.model_alias = {wanted["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = wanted["port"]
    params.endpoint_metrics = True
    for name, value in (("n_ctx", "context"), ("n_parallel", "parallel"), ("n_batch", "batch")):
        if wanted[value] is not None:
            setattr(params, name, wanted[value])
    if wanted["threads"] is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, flush=True)
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    stop.wait()


if __name__ == "__main__":
    main()
