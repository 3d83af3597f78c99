"""The boards in a real browser, rendered with Grafana's own panel components."""

import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import threading

from scene import REPOSITORY, SCRAPE_SECONDS

import boards  # noqa: E402, which scene has put on the path
import serve  # noqa: E402

WIDTH = 1600
HEADER, ROW = 46, 38  # heights in pixels
PATIENCE_SECONDS = 300  # a busy machine gets this long


def needs_a_gpu(panel):
    """It stands empty on a machine without one, and says so; it is at the end of its board and in no picture."""
    return panel["fieldConfig"]["defaults"].get("noValue") == "known of GPUs only"


def height_of(board):
    panels = [panel for panel in json.loads(boards.path_of(board).read_text())["panels"] if not needs_a_gpu(panel)]
    return HEADER + ROW * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)


@contextlib.contextmanager
def page(prometheus, minutes):
    """The port of a page that asks Prometheus once."""
    bundle = pathlib.Path(subprocess.run([REPOSITORY / "dashboards/renderer/renderer.sh", "build"], check=True, stdout=subprocess.PIPE,
                                         text=True).stdout.strip())
    settings = {"minutes": minutes, "refresh_seconds": 0, "scrape_seconds": SCRAPE_SECONDS, "note": ""}
    with serve.server(0, bundle, prometheus.address, settings) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def _chromium(port, board, *options):
    with tempfile.TemporaryDirectory(prefix="caravan-chromium-") as profile:
        return subprocess.run(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             f"--user-data-dir={profile}", f"--window-size={WIDTH},{height_of(board)}", "--virtual-time-budget=20000", *options,
             f"http://127.0.0.1:{port}/d/caravan-{board}"], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout


def panels_drawn(port, board):
    """What became of each panel, by title: "empty", "problem", "loading" or "drawn"."""
    found = {}
    for part in re.split(r'(?=<div class="panel" data-title=")', _chromium(port, board, "--dump-dom"))[1:]:
        title = re.match(r'<div class="panel" data-title="([^"]*)"', part).group(1)
        bad = re.search(r'class="(empty|problem|loading)"[^>]*>([^<]*)', part)
        found[title.replace("&amp;", "&")] = " ".join(bad.groups()).strip() if bad else "drawn"
    return found


def picture(port, board, path):
    _chromium(port, board, f"--screenshot={path}")
