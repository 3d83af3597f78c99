"""What a job on the cluster has trained outlives its pods: it goes on from its last checkpoint."""

import json
import re
import subprocess
import unittest

from cluster import FOLDER, NAMESPACE, PROGRAMS, ClusterTest, apply, kubectl, run_locally, small_job, taking_turns, wait_until
from volume import share

STEPS = 480  # a job of half as many was over before a busy machine had looked at it
EVERY = 10


def checkpointed_job(name, every=EVERY, **spec):
    checkpoint = {"claimName": "checkpoints", "path": name, "everySteps": every, "keepLast": STEPS}
    return small_job(name, STEPS, checkpoint=checkpoint, failurePolicy={"maxRestarts": 2}, **spec)


def inspect(name):
    """The newest checkpoint of a job."""
    run = subprocess.run([PROGRAMS / "caravan", "checkpoint", "inspect", FOLDER / "checkpoints" / name, "-o", "json"],
                         check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


@taking_turns(2)
class Checkpoints(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        share("checkpoints", NAMESPACE)
        cls.loss = run_locally(small_job("undisturbed", STEPS))["lastLoss"]

    def last_checkpoint(self, name):
        return self.status(name).get("lastCheckpoint", {}).get("step", 0)

    def start_and_wait_for_a_checkpoint(self, name):
        apply(checkpointed_job(name))
        wait_until("a checkpoint", lambda: any((FOLDER / "checkpoints" / name).glob("step-0*[0-9]/manifest.json")))

    def goes_on(self, name, attempt):
        """The step after which it did."""
        pattern = re.compile(rf"attempt {attempt}.*, from the checkpoint of step (\d+) on")
        found = wait_until("an attempt that goes on",
                           lambda: pattern.search(self.condition(name, "Running")["message"]))
        return int(found.group(1))

    def ends_as_if_nothing_had_happened(self, name, attempt):
        status = self.wait_for_end(name)
        self.assertEqual(float(status["progress"]["loss"]), self.loss)
        newest = inspect(name)
        self.assertEqual((newest["step"], newest["attempt"]), (STEPS, attempt))
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE)

    def test_a_deleted_pod_costs_the_steps_since_the_last_checkpoint_alone(self):
        self.start_and_wait_for_a_checkpoint("outlives")
        kubectl("delete", "pod", "outlives-0-a1", "--namespace", NAMESPACE, "--wait=false")
        self.assertGreaterEqual(self.goes_on("outlives", attempt=2), EVERY)
        self.ends_as_if_nothing_had_happened("outlives", attempt=2)
        events = (FOLDER / "checkpoints" / "outlives" / "tensorboard").glob("events.out.tfevents.*")
        self.assertEqual({re.search(r"attempt-(\d+)", file.name).group(1) for file in events if file.stat().st_size > 0}, {"1", "2"})

    def start_and_train(self, name):
        """With no checkpoint but the one that a stop makes."""
        apply(checkpointed_job(name, every=STEPS))
        self.wait_for_steps(name)

    def costs_no_restart(self, name):
        self.assertEqual(self.status(name).get("countedRestarts", 0), 0)

    def test_a_pod_that_is_told_to_end_has_the_gang_save_first(self):
        self.start_and_train("told")
        step = 0
        for attempt, node in ((2, 1), (3, 0)):
            kubectl("delete", "pod", self.pod("told", node)["metadata"]["name"], "--namespace", NAMESPACE, "--wait=false")
            step, before = self.goes_on("told", attempt), step
            self.assertGreaterEqual(step, max(before, 1))
        self.costs_no_restart("told")
        self.ends_as_if_nothing_had_happened("told", attempt=3)

    def test_a_drained_machine_costs_no_step(self):
        self.start_and_train("moved")
        machine = self.children("moved")[0]["spec"]["nodeName"]
        self.addCleanup(kubectl, "uncordon", machine)
        kubectl("drain", machine, "--force", "--delete-emptydir-data", "--timeout=120s",
                "--pod-selector=training.caravan.dev/job-name=moved")
        kubectl("uncordon", machine)
        self.assertGreater(self.goes_on("moved", attempt=2), 0)
        self.costs_no_restart("moved")
        self.ends_as_if_nothing_had_happened("moved", attempt=2)

    def test_a_job_goes_on_behind_its_suspension_and_another_behind_that_in_another_layout(self):
        self.start_and_train("paused")
        self.change("paused", suspend=True)
        wait_until("no pods", lambda: not self.children("paused"))
        saved = wait_until("the checkpoint in the status", lambda: self.last_checkpoint("paused"))
        self.change("paused", suspend=False)
        self.assertEqual(self.goes_on("paused", attempt=2), saved)
        self.costs_no_restart("paused")
        self.change("paused", suspend=True)
        wait_until("no pods", lambda: not self.children("paused"))
        kubectl("delete", "ltj", "paused", "--namespace", NAMESPACE)
        apply(checkpointed_job("paused", parallelism={"tensor": 1, "pipeline": 2, "data": 2}))
        self.assertGreaterEqual(self.goes_on("paused", attempt=1), saved)
        status = self.wait_for_end("paused")
        self.assertAlmostEqual(float(status["progress"]["loss"]), self.loss, delta=1e-3 * self.loss)
        kubectl("delete", "ltj", "paused", "--namespace", NAMESPACE)

    def test_the_last_one_stands_in_the_status(self):
        apply(checkpointed_job("shown"))
        self.wait_for_end("shown")
        wait_until("the last checkpoint in the status", lambda: self.last_checkpoint("shown") == STEPS)
        self.assertTrue((FOLDER / "checkpoints" / self.status("shown")["lastCheckpoint"]["path"]).is_dir())
        head, row = kubectl("get", "ltj", "shown", "--namespace", NAMESPACE, "-o", "wide").splitlines()
        self.assertIn("CHECKPOINT", head)
        self.assertIn(f" {STEPS} ", row)
        kubectl("delete", "ltj", "shown", "--namespace", NAMESPACE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
