"""What a job on the cluster has trained outlives its pods: it goes on from its last checkpoint."""

import json
import re
import subprocess
import unittest

from cluster import FOLDER, NAMESPACE, PROGRAMS, ClusterTest, apply, kubectl, run_locally, small_job, wait_until
from volume import shared_claim, shared_volume

STEPS = 120
EVERY = 10


def checkpointed_job(name):
    checkpoint = {"claimName": "checkpoints", "path": name, "everySteps": EVERY, "keepLast": STEPS}
    return small_job(name, STEPS, checkpoint=checkpoint)


def inspect(name):
    """The newest checkpoint of a job."""
    run = subprocess.run([PROGRAMS / "caravan", "checkpoint", "inspect", FOLDER / "checkpoints" / name, "-o", "json"],
                         check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


class Checkpoints(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = FOLDER / "checkpoints"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)  # pods run as users of their own
        apply(shared_volume("checkpoints"), shared_claim("checkpoints", NAMESPACE))
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
