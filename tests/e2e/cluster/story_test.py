"""The user's way: `kubectl apply`, wait, look."""

import json
import unittest

from cluster import NAMESPACE, REPOSITORY, ClusterTest, example, kubectl, run_locally, wait_until
from prometheus import Prometheus

STORY = ("HeuristicSelected", "AllPodsBound", "Rendezvous", "StepsAdvancing", "StepsReached")
MISSED_AT_TIMES = "Rendezvous"  # by an operator that looks for the first time when steps are made already


class Story(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with Prometheus() as prometheus:
            kubectl("apply", "--namespace", NAMESPACE, "-f", REPOSITORY / "examples/kubernetes.yaml")
            prometheus.scrape(cls.pods_with_addresses())
            cls.scraped = wait_until("tokens are scraped from both pods", lambda: cls.series(prometheus))
            kubectl("wait", "--for=condition=Complete", "ltj/kjv", "--namespace", NAMESPACE, "--timeout=300s")
        cls.spec = example()["spec"]

    @classmethod
    def tearDownClass(cls):
        kubectl("delete", "ltj", "kjv", "--namespace", NAMESPACE)

    @classmethod
    def pods_with_addresses(cls):
        def ready():
            pods = [pod for pod in cls.children("kjv") if pod["status"].get("podIP")]
            return pods if len(pods) == 2 else None
        return wait_until("two pods with addresses", ready)

    @staticmethod
    def series(prometheus):
        """Value by pod and rank of each series, once every rank has trained."""
        series = {name: {(labels["pod"], labels["rank"]): value
                         for labels, value in prometheus.query(f'{name}{{job="kjv",namespace="{NAMESPACE}"}}')}
                  for name in ("caravan_tokens_total", "caravan_device_memory_peak_bytes",
                               "caravan_predicted_memory_peak_bytes")}
        return series if len([v for v in series["caravan_tokens_total"].values() if v > 0]) == 4 else None

    def test_the_loss_is_that_of_caravan_run_bit_for_bit(self):
        local = run_locally(example())
        self.assertEqual(float(self.status("kjv")["progress"]["loss"]), local["lastLoss"])

    def test_the_table_shows_state_layout_progress_and_restarts(self):
        head, row = kubectl("get", "ltj", "kjv", "--namespace", NAMESPACE).splitlines()
        self.assertEqual(head.split(), ["NAME", "STATE", "LAYOUT", "PROGRESS", "MFU", "RESTARTS", "AGE"])
        cells = row.split()
        self.assertEqual((cells[0], cells[1]), ("kjv", "Complete"))
        self.assertEqual(cells[-4:-1], ["100", "-", "0"])
        self.assertIn("DP4", row)

    def test_the_description_tells_the_story(self):
        text = kubectl("describe", "ltj", "kjv", "--namespace", NAMESPACE)
        for condition in ("Planned", "Scheduled", "Running", "Complete"):
            self.assertRegex(text, rf"Type: +{condition}\n")
        events = text[text.index("Events:"):]
        for reason in set(STORY) - {MISSED_AT_TIMES}:
            self.assertIn(reason, events)

    def test_the_log_of_node_0_tells_the_story_and_others_what_their_ranks_say(self):
        log = kubectl("logs", "kjv-0-a1", "--namespace", NAMESPACE)
        steps = self.spec["training"]["steps"]
        told = ["attempt 1 starts", f"step 1/{steps} ", f"step {steps}/{steps} ", "the job is over: StepsReached"]
        places = [log.find(each) for each in told]
        self.assertNotIn(-1, places, log)
        self.assertEqual(places, sorted(places), log)
        other = kubectl("logs", "kjv-1-a1", "--namespace", NAMESPACE)
        self.assertIn("joined the gang as node 1", other)
        self.assertNotIn(f"step {steps}/{steps} ", other)

    def test_the_events_come_in_the_order_of_the_story(self):
        events = json.loads(kubectl("get", "events.events.k8s.io", "--namespace", NAMESPACE, "--output", "json"))
        begins = {}
        for event in sorted(events["items"], key=lambda event: event["eventTime"] or ""):
            if event["regarding"].get("name") == "kjv":
                begins.setdefault(event["reason"], event["eventTime"])
        times = [begins[reason] for reason in STORY if reason != MISSED_AT_TIMES or reason in begins]
        self.assertEqual(times, sorted(times), begins)

    def test_prometheus_has_the_tokens_and_the_memory_of_every_rank(self):
        training = self.spec["training"]
        all_tokens = training["steps"] * training["sequenceLength"] * training["globalBatchSequences"]
        tokens = self.scraped["caravan_tokens_total"]
        self.assertEqual(sorted(tokens), [("kjv-0-a1", "0"), ("kjv-0-a1", "1"), ("kjv-1-a1", "2"), ("kjv-1-a1", "3")])
        self.assertLessEqual(sum(tokens.values()), all_tokens)
        peaks = self.scraped["caravan_device_memory_peak_bytes"]
        for rank, predicted in self.scraped["caravan_predicted_memory_peak_bytes"].items():
            self.assertLess(abs(peaks[rank] / predicted - 1), 0.02)


if __name__ == "__main__":
    unittest.main(verbosity=2)
