"""A page with the boards: the renderer's bundle, the boards as they are, and a Prometheus behind /prometheus/.

Only this machine reaches it, and only what reading needs is forwarded.
"""

import contextlib
import http.server
import json
import pathlib
import urllib.error
import urllib.request

import boards

KINDS = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".html": "text/html; charset=utf-8"}
FORWARDED = ("query", "query_range", "series")


def server(port, bundle, prometheus, settings):
    """Not started yet. `bundle`: the folder that renderer.sh build made; `prometheus`: its address, such as 127.0.0.1:9090."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path = self.path.split("?")[0]
            if path == "/settings.json":
                self._answer(200, KINDS[".json"], json.dumps(settings).encode())
            elif path.startswith("/prometheus/api/v1/") and path.rsplit("/", 1)[1] in FORWARDED:
                self._forward(self.path.removeprefix("/prometheus"))
            elif path in (f"/boards/{name}.json" for name in boards.BOARDS):
                self._file(boards.path_of(pathlib.Path(path).stem))
            elif path in ("/main.js", "/main.css"):
                self._file(bundle / path[1:])
            elif path == "/" or path.startswith("/d/"):
                self._file(pathlib.Path(__file__).with_name("index.html"))
            else:
                self._answer(404, "text/plain", b"no such page\n")

        def _forward(self, target):
            try:
                with urllib.request.urlopen(f"http://{prometheus}{target}", timeout=30) as answer:
                    self._answer(answer.status, KINDS[".json"], answer.read())
            except urllib.error.HTTPError as error:  # its body says what is wrong with the query
                self._answer(error.code, KINDS[".json"], error.read())
            except OSError as error:
                self._answer(502, KINDS[".json"], json.dumps({"status": "error", "error": f"Prometheus: {error}"}).encode())

        def _file(self, path):
            self._answer(200, KINDS[path.suffix], path.read_bytes())

        def _answer(self, status, kind, body):
            with contextlib.suppress(ConnectionError):  # a page that was closed meanwhile
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
