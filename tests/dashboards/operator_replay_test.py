"""The recording is of an operator as it is."""

import re
import unittest

from operator_replay import JOB, NAMESPACE, load
from scene import REPOSITORY


class Recording(unittest.TestCase):
    def test_has_no_metric_that_the_operator_no_longer_has(self):
        page = (REPOSITORY / "docs/reference/operator-metrics.md").read_text()
        for _, text in load():
            recorded = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
            self.assertLessEqual(recorded, set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)),
                                 "record anew: tests/dashboards/record_operator.py")

    def test_has_a_job_that_trains_restarts_and_saves(self):
        last = load()[-1][1]
        for part in (f'caravan_job_restarts_total{{namespace="{NAMESPACE}",job="{JOB}"', 'category="productive"', 'category="queue"',
                     'caravan_jobs{state="Complete"}'):
            self.assertIn(part, last)


if __name__ == "__main__":
    unittest.main()
