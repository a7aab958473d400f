"""A small real server that speaks OpenAI's streaming protocol, for tests: `sse_server.py PORT MODE`.

MODE: good, error (HTTP 500), malformed, cut (the stream ends early), hang, slow, dies (after three answers), unhealthy,
crash (at once), chunky (two tokens a chunk), refuses (an error object in the
stream), key (HTTP 401 without the key that EXPECTED_KEY holds).
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import time

MODE = sys.argv[2]
COUNT = {"answered": 0}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        status = 503 if MODE == "unhealthy" and self.path == "/health" else 200
        body = b"requests_total %d\n" % COUNT["answered"] if self.path == "/metrics" else b"ok"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if MODE == "key" and self.headers["Authorization"] != f"Bearer {os.environ['EXPECTED_KEY']}":
            self.send_error(401, "who are you?")
            return
        if MODE == "error":
            self.send_error(500, "no luck")
            return
        if MODE == "dies" and COUNT["answered"] >= 3:
            os._exit(7)
        COUNT["answered"] += 1
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._answer(asked)

    def _answer(self, asked: dict) -> None:
        if MODE == "hang":
            time.sleep(60)
        if MODE == "malformed":
            self._send("{not json")
        if MODE == "refuses":
            self._send(json.dumps({"error": {"message": "out of blocks"}}))
        words = ["The ", "answer ", "is ", "Paris", "."]
        for word in words:
            time.sleep(0.05 if MODE == "slow" else 0.002)
            self._chunk({"choices": [{"index": 0, "delta": {"content": word}, "text": word, "finish_reason": None}]})
        if MODE == "cut":
            self.wfile.write(b"0\r\n\r\n")
            return
        self._chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        tokens = len(words) * (2 if MODE == "chunky" else 1)
        self._chunk({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": tokens}})
        self._send("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: dict) -> None:
        self._send(json.dumps(data))

    def _send(self, text: str) -> None:
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


if __name__ == "__main__":
    if MODE == "crash":
        sys.exit("no such model")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
