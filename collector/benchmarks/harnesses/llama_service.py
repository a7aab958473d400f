"""The model behind a harness: llama.cpp's server at STACKPROOF_PORT with the model at STACKPROOF_MODEL (xllamacpp)."""

from __future__ import annotations

import os
import signal
import threading

import xllamacpp


def main() -> None:
    """Serve until told to stop."""
    params = xllamacpp.CommonParams()
    params.model.path = os.environ["STACKPROOF_MODEL"]
    params.hostnames = ["127.0.0.1"]
    params.port = int(os.environ["STACKPROOF_PORT"])
    params.n_ctx = int(os.environ.get("STACKPROOF_SETTING_CONTEXT", "4096"))
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(
        os.environ.get("STACKPROOF_SETTING_THREADS", "2")
    )
    server = xllamacpp.Server(params)
    print("listening at", server.listening_address, flush=True)
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    stop.wait()


if __name__ == "__main__":
    main()
