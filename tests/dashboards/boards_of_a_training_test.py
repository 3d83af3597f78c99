"""Every question of every board has an answer where a job trains, and every panel is drawn in a browser."""

import json
import math
import pathlib
import re
import struct
import tempfile
import time
import unittest

import browser
from scene import JOB, NAMESPACE, OPERATOR_NAMESPACE, SCRAPE_SECONDS, scene

import boards  # noqa: E402, which scene has put on the path

PATIENCE_SECONDS = 240  # it takes less than a minute; a busy machine gets this long
MINUTES = 2
NAMESPACES = {"fleet": ".*", "job": NAMESPACE, "operator": OPERATOR_NAMESPACE}


def substitute(expression, board):
    variables = {"namespace": NAMESPACES[board], "job": JOB, "__rate_interval": f"{4 * SCRAPE_SECONDS}s"}
    return re.sub(r"\$\{?(\w+)\}?", lambda match: variables[match.group(1)], expression)


def targets():
    """(where, target)"""
    for board in boards.BOARDS:
        for panel in json.loads(boards.path_of(board).read_text())["panels"]:
            for target in panel.get("targets", []):
                yield f"{board}: {panel['title']}: {target['refId']}", target | {
                    "expr": substitute(target["expr"], board), "needs_a_gpu": browser.needs_a_gpu(panel)}


def has_values(prometheus, target):
    """A number, as a panel of the last minutes shows it."""
    query, now = target["expr"], time.time()
    if target.get("instant"):
        result = prometheus.ask("query", query=query)["result"]
        values = [series["value"][1] for series in result]
    else:
        result = prometheus.ask("query_range", query=query, start=now - 60 * MINUTES, end=now, step=SCRAPE_SECONDS)["result"]
        values = [value for series in result for _, value in series["values"]]
    return any(math.isfinite(float(value)) for value in values)


def size_of_png(path):
    head = path.read_bytes()[:24]
    return struct.unpack(">II", head[16:24]) if head.startswith(b"\x89PNG") else None


class BoardsOfATraining(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = scene()
        cls.prometheus = holder.__enter__()
        cls.addClassCleanup(holder.__exit__, None, None, None)
        cls.empty = {where: target for where, target in targets() if not target["needs_a_gpu"]}
        end = time.monotonic() + PATIENCE_SECONDS
        while cls.empty and time.monotonic() < end:
            cls.empty = {where: target for where, target in cls.empty.items() if not has_values(cls.prometheus, target)}
            time.sleep(1)

    def test_no_question_is_left_without_an_answer(self):
        self.assertFalse({where: target["expr"] for where, target in self.empty.items()})

    def test_what_needs_a_gpu_can_be_asked(self):
        for where, target in targets():
            if target["needs_a_gpu"]:
                self.assertFalse(has_values(self.prometheus, target), f"{where}: it has an answer here, so it need be no exception")

    def test_every_annotation_can_be_asked(self):
        for board in boards.BOARDS:
            for one in json.loads(boards.path_of(board).read_text())["annotations"]["list"]:
                if "expr" in one:
                    self.prometheus.ask("query", query=substitute(one["expr"], board))

    def test_every_panel_is_drawn_in_a_browser(self):
        with browser.page(self.prometheus, MINUTES) as port, tempfile.TemporaryDirectory() as folder:
            for board in boards.BOARDS:
                panels = json.loads(boards.path_of(board).read_text())["panels"]
                expected = {panel["title"]: "empty known of GPUs only" if browser.needs_a_gpu(panel) else "drawn" for panel in panels}
                self.assertEqual(browser.panels_drawn(port, board), expected, board)
                path = pathlib.Path(folder, f"{board}.png")
                browser.picture(port, board, path)
                self.assertEqual(size_of_png(path), (browser.WIDTH, browser.height_of(board)))


if __name__ == "__main__":
    unittest.main()
