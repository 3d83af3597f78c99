"""Whoever may create jobs and what belongs to them in one namespace cannot hurt the jobs of others.

Each test is one attack, by a tenant with a namespace of his own. While it goes on, a neighbour's job starts, trains and
ends, and the operator neither restarts nor uses more memory than it is given. Needs the cluster of tests/e2e/cluster.
`soak` as an argument runs what takes minutes instead.
"""

import base64
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e/cluster"))
from cluster import (FOLDER, JOBS, NAMESPACE, OPERATOR_NAMESPACE, PROGRAMS, SCRIPT, Api, ClusterTest,  # noqa: E402
                     apply, kubectl, processes_of, small_job, wait_until)
from volume import corpus_claim, corpus_volume  # noqa: E402

EVIL = "evil"
STEPS = 20
PATIENCE_SECONDS = 480  # a machine of two cores may train the neighbour's job beside all of this
OPERATORS = 2
MEMORY_LIMIT = 512 << 20  # of deploy/install.yaml
MANAGER = {"app.kubernetes.io/managed-by": "caravan-operator"}


def inside(*command):
    """A program on the cluster's own machine, which no network policy keeps away; it ends with its standard input."""
    return subprocess.Popen([SCRIPT, "sh", FOLDER, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(program):
    """What it has said since."""
    return program.communicate(timeout=60)[0].strip()


def evil_job(name, **spec):
    job = small_job(name, STEPS, data={"claimName": EVIL, "path": "kjv.bin"}, **spec)
    job["metadata"]["namespace"] = EVIL
    return job


def nowhere(name):
    """A job whose pods never run, so that its tenant can speak for them."""
    return evil_job(name, worker={"nodeSelector": {"evil": "nowhere"}})


class EvilTenant(ClusterTest):
    LARGE_OBJECTS = 100
    NODES = 500

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        kubectl("create", "namespace", EVIL)
        apply(corpus_volume(EVIL), corpus_claim(EVIL, EVIL))

    @classmethod
    def tearDownClass(cls):
        kubectl("delete", "namespace", EVIL, "--wait=false")

    def setUp(self):
        wait_until("operators that are ready", self.all_operators_are_ready)
        self.before = self.restarts()

    def tearDown(self):
        kubectl("delete", "ltj", "--all", "--namespace", EVIL, "--wait=false")

    # What must hold, whatever the tenant does.

    @contextlib.contextmanager
    def nobody_is_hurt(self, name="neighbour"):
        """A job of the neighbour's goes from its start to its end inside."""
        apply(small_job(name, STEPS))
        yield
        wait_until("the neighbour's job ends", lambda: self.condition(name, "Complete")["status"] == "True",
                   PATIENCE_SECONDS)
        self.assertEqual(self.status(name)["restarts"], 0)
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE)
        self.the_operators_are_unhurt()

    def the_operators_are_unhurt(self):
        peaks = self.peaks()
        print(f"  peak memory of the operators: {[f'{peak >> 20} MiB' for peak in peaks]}", file=sys.stderr)
        self.assertEqual(self.restarts(), self.before)
        self.assertTrue(all(peak < MEMORY_LIMIT for peak in peaks), peaks)

    def operators(self):
        return [pod for pod in self.api.items(f"api/v1/namespaces/{OPERATOR_NAMESPACE}/pods")
                if pod["metadata"]["labels"].get("app.kubernetes.io/name") == "caravan-operator"]

    def containers(self):
        """The state of the container of each operator, by the UID of its pod."""
        return {pod["metadata"]["uid"]: pod["status"].get("containerStatuses", [{"ready": False, "restartCount": 0}])[0]
                for pod in self.operators()}

    def all_operators_are_ready(self):
        return len(self.containers()) == OPERATORS and all(one["ready"] for one in self.containers().values())

    def restarts(self):
        return {uid: container["restartCount"] for uid, container in self.containers().items()}

    def peaks(self):
        """The most memory that each operator ever had in bytes."""
        found = []
        for pod in self.operators():
            for process in processes_of(pod["metadata"]["uid"], "caravan-operator"):
                lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
                found.append(next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")))
        self.assertTrue(found)
        return found

    def leader(self):
        path = f"apis/coordination.k8s.io/v1/namespaces/{OPERATOR_NAMESPACE}/leases/caravan-operator"

        def holder():
            identity = (self.api.get(path) or {"spec": {}})["spec"].get("holderIdentity") or ""
            return next((pod for pod in self.operators() if pod["metadata"]["name"] in identity), None)
        return wait_until("a leader", holder)

    # The attacks.

    def test_a_job_larger_than_any_job_may_be(self):
        with self.nobody_is_hurt():
            job = self.job_of(1_048_576, "huge")
            kubectl("apply", "--server-side", "-f", "-", text=json.dumps(job), check=False)  # it may be refused

    def test_a_job_larger_than_the_cluster(self):
        apply(self.job_of(self.NODES, "large"))
        wait_until("a first pod", lambda: self.api.get(f"api/v1/namespaces/{EVIL}/pods/large-0-a1"))
        with self.nobody_is_hurt():
            pass

    @staticmethod
    def job_of(nodes, name):
        """Of one device each, on nodes that are not there."""
        training = {"steps": STEPS, "sequenceLength": 64, "globalBatchSequences": nodes, "precision": "FP32"}
        return evil_job(name, worker={"nodeSelector": {"evil": "nowhere"}}, training=training, resources={
            "devices": nodes, "devicesPerNode": 1, "device": {"kind": "CPU", "memory": "4Gi"}})

    def test_a_plan_that_was_forged(self):
        apply(nowhere("forged"))
        path = f"api/v1/namespaces/{EVIL}/configmaps/forged-plan"
        plan = wait_until("a plan", lambda: self.api.get(path))["data"]["plan.json"]
        wait_until("a pod", lambda: self.children("forged", namespace=EVIL))
        with self.nobody_is_hurt():
            for devices in (100_000_000, 0, -1):
                forged = json.loads(plan)
                (forged.get("plan") or forged)["devices"] = devices
                for text in (json.dumps(forged), "{", "x" * 900_000):
                    patch = {"data": {"plan.json": text}}
                    self.api.request("PATCH", path, patch, "application/merge-patch+json")
                    time.sleep(0.5)

    def test_pods_of_a_stranger_that_carry_the_uid_of_a_victim(self):
        apply(small_job("victim", STEPS))
        uid = wait_until("the victim", lambda: self.job("victim").get("metadata", {}).get("uid"))
        with self.nobody_is_hurt():
            for number in range(100):
                status, answer = self.api.request("POST", f"api/v1/namespaces/{EVIL}/pods", self.impostor(number, uid))
                self.assertEqual(status, 201, answer)
            wait_until("the victim's job ends", lambda: self.condition("victim", "Complete")["status"] == "True",
                       PATIENCE_SECONDS)
            self.assertEqual(self.status("victim")["restarts"], 0)
        kubectl("delete", "ltj", "victim", "--namespace", NAMESPACE)
        kubectl("delete", "pods", "--all", "--namespace", EVIL, "--grace-period=0", "--force")

    @staticmethod
    def impostor(number, victim_uid):
        labels = {**MANAGER, "app.kubernetes.io/component": "worker", "app.kubernetes.io/instance": "victim",
                  "training.caravan.dev/job-name": "victim", "training.caravan.dev/job-uid": victim_uid,
                  "training.caravan.dev/node-index": str(number % 2), "training.caravan.dev/attempt": "7"}
        owner = {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "name": "victim",
                 "uid": victim_uid, "controller": True}
        return {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": f"victim-{number}-a7", "labels": labels, "ownerReferences": [owner]},
                "spec": {"schedulerName": "nobody", "containers": [{"name": "worker", "image": "none"}]}}

    def test_sockets_that_say_nothing_on_every_port(self):
        apply(small_job("target", 100_000))
        agent = wait_until("an agent that runs", lambda: next(
            (pod for pod in self.children("target") if pod["status"].get("phase") == "Running"), None))
        ports = [f"{pod['status']['podIP']}:{port['containerPort']}" for pod in [*self.operators(), agent]
                 for container in pod["spec"]["containers"] for port in container.get("ports", [])]
        sockets = inside(sys.executable, str(HERE / "idle_sockets.py"), "200", *ports)
        self.assertEqual(sockets.stdout.readline(), "connected\n")
        with self.nobody_is_hurt():
            time.sleep(40)  # what the kubelet needs to lose its patience: three probes, ten seconds apart
        pods = {pod["metadata"]["uid"]: pod["status"]["phase"] for pod in self.children("target")}
        self.assertEqual(pods.get(agent["metadata"]["uid"]), "Running")
        end(sockets)
        kubectl("delete", "ltj", "target", "--namespace", NAMESPACE)

    def test_reports_that_cannot_be_true(self):
        apply(nowhere("liar"))
        pod = wait_until("a pod", lambda: self.api.get(f"api/v1/namespaces/{EVIL}/pods/liar-0-a1"))
        authority = self.api.get(f"api/v1/namespaces/{EVIL}/configmaps/liar-plan")["data"]["reports-ca.crt"]
        folder = FOLDER / "liar"
        folder.mkdir(exist_ok=True)
        (folder / "ca.crt").write_text(authority)
        (folder / "token").write_text(self.token_of(pod))
        address = f"{self.leader()['status']['podIP']}:9443"
        name = f"caravan-operator.{OPERATOR_NAMESPACE}.svc"
        program = str(PROGRAMS.parent / "tests/caravan-evil-reporter")
        with self.nobody_is_hurt():
            liars = [inside(program, address, name, str(folder / "ca.crt"), str(folder / "token")) for _ in range(3)]
            time.sleep(10)
            # Its status can still be written, and is.
            kubectl("patch", "ltj", "liar", "--namespace", EVIL, "--type=merge", "--patch",
                    '{"spec": {"suspend": true}}')
            wait_until("the liar's job is suspended",
                       lambda: self.condition("liar", "Suspended", EVIL)["status"] == "True")
        for said in map(end, liars):
            print(f"  {said}", file=sys.stderr)
            self.assertIn("lies", said)
        self.assertLess(self.status("liar", EVIL)["attempt"], 10)

    def token_of(self, pod):
        account = pod["spec"]["serviceAccountName"]
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                   "spec": {"audiences": ["reports.training.caravan.dev"], "boundObjectRef": {
                       "apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"],
                       "uid": pod["metadata"]["uid"]}}}
        status, answer = self.api.request("POST", f"api/v1/namespaces/{EVIL}/serviceaccounts/{account}/token", request)
        self.assertEqual(status, 201, answer)
        return answer["status"]["token"]

    def test_large_objects_with_the_label_of_ours(self):
        text = base64.b64encode(os.urandom(786_000)).decode()  # 1 MiB, the most that an object may have

        def create(first):
            api = Api(FOLDER / "kubeconfig")
            for number in range(first, self.LARGE_OBJECTS, 4):
                config_map = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text},
                              "metadata": {"name": f"large-{number}", "labels": MANAGER}}
                api.request("POST", f"api/v1/namespaces/{EVIL}/configmaps", config_map)

        with self.nobody_is_hurt():
            threads = [threading.Thread(target=create, args=(first,)) for first in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        former = self.leader()["metadata"]["name"]  # whoever comes in its place reads all of them at once
        kubectl("delete", "pod", former, "--namespace", OPERATOR_NAMESPACE)
        wait_until("operators that are ready", self.all_operators_are_ready)
        self.before = self.restarts()
        with self.nobody_is_hurt("after"):
            pass
        kubectl("delete", "configmaps", "-l", "app.kubernetes.io/managed-by=caravan-operator", "--namespace", EVIL)


class Soak(EvilTenant):
    """The same attacks at their full size."""

    LARGE_OBJECTS = 500
    NODES = 16_384  # the most that a job may have


if __name__ == "__main__":
    is_soak = sys.argv[1:2] == ["soak"]
    chosen = unittest.defaultTestLoader.loadTestsFromTestCase(Soak if is_soak else EvilTenant)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(chosen).wasSuccessful())
