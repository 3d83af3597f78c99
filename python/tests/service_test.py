"""The client with the real service and a real API server, that of KUBECONFIG; the test plays the operator."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from pathlib import Path

import installed_client  # noqa: F401
from certificate import write_certificate

import caravan

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/cluster"))
from api import Api, wait_until  # noqa: E402

JOBS = "apis/training.caravan.dev/v1alpha1/namespaces"
RBAC = "rbac.authorization.k8s.io"
MERGE = "application/merge-patch+json"
AUDIENCES = ("caravan", "https://kubernetes.default.svc")
JOB = {
    "apiVersion": "training.caravan.dev/v1alpha1",
    "kind": "LlamaTrainingJob",
    "metadata": {"name": "llama"},
    "spec": {
        "model": {"preset": "llama-tiny"},
        "data": {"claimName": "corpus", "path": "train.bin"},
        "training": {"steps": 10, "sequenceLength": 64, "globalBatchSequences": 8},
        "resources": {"devices": 2, "devicesPerNode": 2, "device": {"kind": "CPU", "memory": "4Gi"}},
    },
}


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = Api(os.environ["KUBECONFIG"])
        cls.namespace = f"python-{uuid.uuid4().hex[:8]}"
        cls.create("api/v1/namespaces", {"metadata": {"name": cls.namespace}})
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        write_certificate(cls.folder, "localhost")
        cls.start_service()
        cls.token = cls.make_account("editor", "*")

    @classmethod
    def create(cls, path: str, what: dict) -> dict:
        status, answer = cls.api.request("POST", path, what)
        if status != 201:
            raise AssertionError(f"{path}: {answer}")
        return answer

    @classmethod
    def start_service(cls) -> None:
        log = cls.folder / "log"
        anywhere = "127.0.0.1:0"
        with log.open("w") as out:
            service = subprocess.Popen(
                [Path(os.environ["PROGRAMS"]) / "caravan-service", "--kubeconfig", os.environ["KUBECONFIG"],
                 "--namespace", cls.namespace, "--listen", anywhere, "--probes", anywhere, "--metrics", anywhere,
                 "--tls-certificate", cls.folder / "tls.crt", "--tls-key", cls.folder / "tls.key"],
                stdout=out, stderr=out)  # fmt: skip
        cls.addClassCleanup(service.wait)
        cls.addClassCleanup(service.terminate)
        port = wait_until("the service has started", lambda: re.search(r'"port":"(\d+)"', log.read_text()))[1]
        cls.server = f"localhost:{port}"

    @classmethod
    def make_account(cls, name: str, *verbs: str) -> str:
        """Its token."""
        accounts, rbac = f"api/v1/namespaces/{cls.namespace}/serviceaccounts", f"apis/{RBAC}/v1/namespaces/{cls.namespace}"
        cls.create(accounts, {"metadata": {"name": name}})
        rules = [
            {"apiGroups": [group], "resources": resources, "verbs": verbs}
            for group, resources in (
                ("training.caravan.dev", ["llamatrainingjobs"]),
                ("", ["pods", "persistentvolumeclaims"]),
                ("events.k8s.io", ["events"]),
            )
        ]
        cls.create(f"{rbac}/roles", {"metadata": {"name": name}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": cls.namespace}
        binding = {"metadata": {"name": name}, "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name}, "subjects": [subject]}
        cls.create(f"{rbac}/rolebindings", binding)
        return cls.create(f"{accounts}/{name}/token", {"spec": {"audiences": AUDIENCES}})["status"]["token"]

    def connect(self, token: str) -> caravan.Client:
        client = caravan.connect(self.server, namespace=self.namespace, token=token, root_file=self.folder / "tls.crt")
        self.addCleanup(client.close)
        return client

    def setUp(self):
        self.client = self.connect(self.token)

    def submit(self, name: str) -> caravan.Job:
        """Rights reach the API server's authorizer a moment later than its store."""
        def try_it():
            try:
                return self.client.submit(JOB, name=name)
            except caravan.NotPermittedError as error:
                self.refusal = error
        return wait_until("the account may create jobs", try_it)

    def tell(self, name: str, **status: object) -> None:
        path = f"{JOBS}/{self.namespace}/llamatrainingjobs/{name}/status"
        code, answer = self.api.request("PATCH", path, {"status": status}, MERGE)
        self.assertEqual(200, code, answer)

    def play_operator(self, name: str, ended: str) -> None:
        """Tells a step whenever the watch has seen the last one, then the end."""
        for step in (1, 2, 3):
            progress = {"step": step, "steps": 3, "loss": f"{4 - step}.5", "mfuPercent": "41.5", "tokensPerSecond": "1200",
                        "lastUpdateTime": "2026-01-02T03:04:05Z"}  # fmt: skip
            self.tell(name, progress=progress)
            self.seen.acquire()
        condition = {"type": ended, "status": "True", "reason": "StepsReached", "message": "all of them",
                     "lastTransitionTime": "2026-01-02T03:04:05Z"}  # fmt: skip
        self.tell(name, conditions=[condition], state=ended)

    def train(self, name: str, ended: str) -> tuple[caravan.Job, list[caravan.Progress]]:
        job = self.submit(name)
        self.seen = threading.Semaphore(0)
        operator = threading.Thread(target=self.play_operator, args=(name, ended))
        operator.start()
        seen = []
        for state in job.watch(timeout=120):
            if state.progress and state.progress not in seen:
                seen.append(state.progress)
                self.seen.release()
        operator.join()
        return job, seen

    def test_a_job_is_submitted_and_watched_until_it_is_complete(self):
        job, seen = self.train("first", "Complete")
        self.assertEqual([(1, 3.5), (2, 2.5), (3, 1.5)], [(progress.step, progress.loss) for progress in seen])
        self.assertEqual((0.415, 1200.0, 2026), (seen[0].mfu, seen[0].tokens_per_second, seen[0].time.year))
        self.assertTrue(job.wait().is_complete)
        self.assertEqual(f"<Job {self.namespace}/first: Complete, step 3 of 3>", repr(job))

    def test_a_failed_job_raises(self):
        job, _ = self.train("second", "Failed")
        with self.assertRaisesRegex(caravan.JobFailedError, "second: StepsReached: all of them"):
            job.wait()

    def test_jobs_are_listed_changed_and_deleted(self):
        job = self.submit("third")
        wait_until("it is listed", lambda: "third" in [found.name for found in self.client.jobs(filter="name=third")])
        self.assertTrue(job.suspend().object.spec.suspend)
        self.assertFalse(job.resume().object.spec.suspend)
        self.assertEqual([], job.events())
        self.assertEqual([], job.checkpoints())
        with self.assertRaises(caravan.CaravanError) as refused:
            job.checkpoint()
        self.assertEqual("NO_CHECKPOINTS", refused.exception.reason)
        job.cancel()
        job.delete()
        wait_until("it is gone", lambda: not list(self.client.jobs(filter="name=third")))
        with self.assertRaises(caravan.NotFoundError):
            self.client.get("third")

    def test_a_service_that_hears_nothing_of_training_says_so(self):
        job = self.submit("eleventh")
        with self.assertRaises(caravan.CaravanError) as refused:
            list(job.metrics())
        self.assertEqual("NO_METRICS", refused.exception.reason)

    def test_a_wait_ends_after_its_time(self):
        job = self.submit("fourth")
        with self.assertRaises(TimeoutError):
            job.wait(timeout=0.5)

    def test_mistakes_are_told_with_their_fields(self):
        self.submit("fifth")  # who may not create jobs is not told of mistakes
        wrong = JOB | {"spec": JOB["spec"] | {"model": {"preset": "llama-9"}}}
        with self.assertRaises(caravan.InvalidError) as refused:
            self.client.submit(wrong, name="sixth")
        self.assertEqual(["job.spec.model.preset"], [violation.field for violation in refused.exception.violations])
        self.assertIn("job.spec.model.preset: ", str(refused.exception))

    def test_an_estimate_is_made_before_a_device_is_taken(self):
        self.submit("seventh")
        estimates = self.client.estimate(JOB, devices=[1, 2], device_hour_price="2.5")
        self.assertEqual([(1, True), (2, True)], [(estimate.devices, estimate.fits) for estimate in estimates])

    def test_what_cannot_be_known_of_what_is_free_is_said(self):
        self.assertIn("--operator", self.client.capacity().pools_unknown)

    def test_nothing_is_created_when_it_is_only_checked(self):
        self.submit("eighth")
        self.assertEqual("ninth", self.client.submit(JOB, name="ninth", validate_only=True).name)
        self.assertIsNone(self.api.get(f"{JOBS}/{self.namespace}/llamatrainingjobs/ninth"))

    def test_who_may_nothing_is_told_so(self):
        for token in (self.make_account("stranger", "get") , "garbage"):
            with self.assertRaises(caravan.NotPermittedError):
                self.connect(token).submit(JOB, name="tenth")


if __name__ == "__main__":
    unittest.main()
