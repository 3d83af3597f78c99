"""What a job on the cluster has trained outlives its pods: it goes on from its last checkpoint."""

import json
import re
import subprocess
import unittest

from cluster import (FOLDER, MORE_STEPS_THAN_ARE_MADE, NAMESPACE, PROGRAMS, ClusterTest, apply, kubectl, lines_of_local_run,
                     small_job, taking_turns, wait_until)
from volume import share

EVERY = 10
STATES = ("model.safetensors", "first-moment.safetensors", "second-moment.safetensors")


def checkpointed_job(name, steps=MORE_STEPS_THAN_ARE_MADE, every=EVERY, **spec):
    """Trains with one learning rate, so that its steps are the same however many there are to be."""
    job = small_job(name, steps, failurePolicy={"maxRestarts": 2}, **spec)
    job["spec"]["training"]["optimizer"] = {"schedule": "Constant", "warmupSteps": 0}
    job["spec"]["checkpoint"] = {"claimName": "checkpoints", "path": name, "everySteps": every}
    return job


def inspect(name):
    """The newest checkpoint of a job."""
    run = subprocess.run([PROGRAMS / "caravan", "checkpoint", "inspect", FOLDER / "checkpoints" / name, "-o", "json"],
                         check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def states(checkpoint):
    """The sum of the bytes of weights and moments."""
    return {file["name"]: file["crc32c"] for file in checkpoint["manifest"]["files"] if file["name"] in STATES}


def train_undisturbed(name, steps):
    """As many steps on this machine, with a checkpoint of the last one: the summary."""
    return lines_of_local_run(checkpointed_job(name, steps, every=steps), "checkpoints")[-1]


@taking_turns(3)
class Checkpoints(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        share("checkpoints", NAMESPACE)

    def last_checkpoint(self, name):
        return self.status(name).get("lastCheckpoint", {}).get("step", 0)

    def start_and_wait_for_a_checkpoint(self, name):
        apply(checkpointed_job(name))
        wait_until("a checkpoint", lambda: any((FOLDER / "checkpoints" / name).glob("step-0*[0-9]/manifest.json")))

    def log(self, name):
        """Of the newest pod of node 0."""
        pods = [pod["metadata"] for pod in self.children(name)
                if pod["metadata"]["labels"]["training.caravan.dev/node-index"] == "0"]
        if not pods:
            return ""
        newest = max(pods, key=lambda pod: pod["creationTimestamp"])
        return kubectl("logs", newest["name"], "--namespace", NAMESPACE, check=False)

    def last_step_told(self, name):
        return max(map(int, re.findall(r"step (\d+)/", self.log(name))), default=0)

    def goes_on(self, name, attempt):
        """The step after which it did; behind it the attempt has made one at least, to be saved at its end."""
        pattern = re.compile(rf"attempt {attempt}.*, from the checkpoint of step (\d+) on")
        found = wait_until("an attempt that goes on",
                           lambda: pattern.search(self.condition(name, "Running")["message"]))
        step = int(found.group(1))
        wait_until(f"a step behind {step}", lambda: self.last_step_told(name) > step)
        return step

    def suspend(self, name):
        self.change(name, suspend=True)
        wait_until("no pods", lambda: not self.children(name))

    def has_trained_as_if_nothing_had_happened(self, name, attempt):
        """Up to where a suspension ends it."""
        self.suspend(name)
        newest = inspect(name)
        self.assertEqual(newest["attempt"], attempt)
        train_undisturbed(f"{name}-undisturbed", newest["step"])
        self.assertEqual(len(STATES), len(states(newest)))
        self.assertEqual(states(newest), states(inspect(f"{name}-undisturbed")))
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE)

    def test_a_deleted_pod_costs_the_steps_since_the_last_checkpoint_alone(self):
        self.start_and_wait_for_a_checkpoint("outlives")
        kubectl("delete", "pod", "outlives-0-a1", "--namespace", NAMESPACE, "--wait=false")
        self.assertGreaterEqual(self.goes_on("outlives", attempt=2), EVERY)
        self.has_trained_as_if_nothing_had_happened("outlives", attempt=2)
        events = (FOLDER / "checkpoints" / "outlives" / "tensorboard").glob("events.out.tfevents.*")
        self.assertEqual({re.search(r"attempt-(\d+)", file.name).group(1) for file in events if file.stat().st_size > 0}, {"1", "2"})

    def start_and_train(self, name):
        """With no checkpoint but the one that a stop makes."""
        apply(checkpointed_job(name, every=MORE_STEPS_THAN_ARE_MADE))
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
        self.has_trained_as_if_nothing_had_happened("told", attempt=3)

    def test_a_drained_machine_costs_no_step(self):
        self.start_and_train("moved")
        machine = self.children("moved")[0]["spec"]["nodeName"]
        self.addCleanup(kubectl, "uncordon", machine)
        kubectl("drain", machine, "--force", "--delete-emptydir-data", "--timeout=120s",
                "--pod-selector=training.caravan.dev/job-name=moved")
        kubectl("uncordon", machine)
        self.assertGreater(self.goes_on("moved", attempt=2), 0)
        self.costs_no_restart("moved")
        self.has_trained_as_if_nothing_had_happened("moved", attempt=2)

    def test_a_job_goes_on_behind_its_suspension_and_another_behind_that_in_another_layout(self):
        self.start_and_train("paused")
        self.suspend("paused")
        saved = wait_until("the checkpoint in the status", lambda: self.last_checkpoint("paused"))
        self.change("paused", suspend=False)
        self.assertEqual(self.goes_on("paused", attempt=2), saved)
        self.costs_no_restart("paused")
        self.suspend("paused")
        kubectl("delete", "ltj", "paused", "--namespace", NAMESPACE)
        saved = inspect("paused")["step"]
        steps = saved + EVERY
        apply(checkpointed_job("paused", steps, parallelism={"tensor": 1, "pipeline": 2, "data": 2}))
        status = self.wait_for_end("paused")
        self.assertIn(f"Goes on after step {saved}, ", self.log("paused"))
        loss = train_undisturbed("paused-undisturbed", steps)["lastLoss"]
        self.assertAlmostEqual(float(status["progress"]["loss"]), loss, delta=1e-3 * loss)
        kubectl("delete", "ltj", "paused", "--namespace", NAMESPACE)

    def test_the_last_one_stands_in_the_status(self):
        steps = 2 * EVERY
        apply(checkpointed_job("shown", steps))
        self.wait_for_end("shown")
        wait_until("the last checkpoint in the status", lambda: self.last_checkpoint("shown") == steps)
        self.assertTrue((FOLDER / "checkpoints" / self.status("shown")["lastCheckpoint"]["path"]).is_dir())
        head, row = kubectl("get", "ltj", "shown", "--namespace", NAMESPACE, "-o", "wide").splitlines()
        self.assertIn("CHECKPOINT", head)
        self.assertIn(f" {steps} ", row)
        kubectl("delete", "ltj", "shown", "--namespace", NAMESPACE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
