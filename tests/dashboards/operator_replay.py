"""What a real operator on a test cluster showed on /metrics, second after second, shown again.

record_operator.py makes the recording: a job with checkpoints that lost a rank on the way, one that ended, one that waits.
"""

import contextlib
import gzip
import http.server
import json
import pathlib
import threading
import time

RECORDING = pathlib.Path(__file__).with_name("operator_scrapes.json.gz")
NAMESPACE, JOB = "train", "llama"  # of the job that trains all the time


def load():
    """[[seconds since the first, text], ...]"""
    return json.loads(gzip.decompress(RECORDING.read_bytes()))


@contextlib.contextmanager
def replay():
    """The port of a server that plays the recording, and stays at its end."""
    scrapes, start = load(), time.monotonic()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            elapsed = time.monotonic() - start
            body = [text for seconds, text in scrapes if seconds <= elapsed][-1].encode()
            with contextlib.suppress(ConnectionError):  # a scrape that took too long for Prometheus
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
