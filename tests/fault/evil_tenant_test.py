"""Whoever may create jobs and what belongs to them in one namespace cannot hurt the jobs of others.

Each test is one attack, by a tenant with a namespace of his own. While it goes on, a neighbour's job starts, trains and
ends, and the operator neither restarts nor uses more memory than it is given. Needs the cluster of tests/e2e/cluster.
Three attacks are tried; with the argument `soak` all of them, at their full size.
"""

import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e/cluster"))
from cluster import (FOLDER, JOBS, NAMESPACE, OPERATOR_NAMESPACE, PROGRAMS, SCRIPT, Api, ClusterTest,  # noqa: E402
                     apply, in_turn, kubectl, processes_of, script, small_job, wait_until)
from volume import corpus_claim, corpus_volume  # noqa: E402

EVIL = "evil"
STEPS = 200
PATIENCE_SECONDS = 480  # a machine of two cores may train the neighbour's job beside all of this
OPERATORS = 2
MEMORY_LIMIT = 512 << 20  # of deploy/install.yaml
COORDINATOR, METRICS, REPORTS = 7070, 8080, 9443
REPORTS_PER_SECOND, REPORTS_AT_ONCE = 50, 200  # that the operator reads of a pod
MANAGER = {"app.kubernetes.io/managed-by": "caravan-operator"}
JOB_UID = "training.caravan.dev/job-uid"
LISTENING, LOOPBACK = "0A", "0100007F"  # of /proc/net/tcp
REPORT_METRICS = ("caravan_reports_refused_total", "caravan_reports_held_up_total")
TRIED = ("test_a_plan_that_was_forged", "test_large_objects_with_the_labels_of_ours", "test_reports_that_cannot_be_true")
EVENTS = "apis/events.k8s.io/v1/namespaces/{}/events"


def inside(*command):
    """A program on the cluster's own machine, which no network policy keeps away; it ends with its standard input."""
    return subprocess.Popen([SCRIPT, "sh", FOLDER, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(program):
    """What it has said since."""
    return program.communicate(timeout=60)[0].strip()


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def listening_ports(pod, program):
    """Of the pod that runs this program, but for those that only the pod itself reaches."""
    process = processes_of(pod["metadata"]["uid"], program)[0]
    found = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if line.split()[3] == LISTENING and address != LOOPBACK:
                found.add(int(port, 16))
    return sorted(found)


def selector_of_the_operator(resource):
    """The labels by which it watches a resource, as it asks for them."""
    lines = (FOLDER / "audit.log").read_text().splitlines()
    for event in map(json.loads, lines):
        path, _, query = event["requestURI"].partition("?")
        if event["user"]["username"].endswith(":caravan-operator") and path.endswith(f"/{resource}"):
            if selector := urllib.parse.parse_qs(query).get("labelSelector"):
                return selector[0]
    raise AssertionError(f"the operator watches no {resource} by their labels")


def evil_job(name, **spec):
    job = small_job(name, STEPS, data={"claimName": EVIL, "path": "kjv.bin"}, **spec)
    job["metadata"]["namespace"] = EVIL
    return job


def nowhere(name):
    """A job whose pods never run, so that its tenant can speak for them."""
    return evil_job(name, worker={"nodeSelector": {"evil": "nowhere"}})


def large_object(number, owner):
    """With the labels of ours; every second is controlled by a job of the tenant's."""
    text = base64.b64encode(os.urandom(786_000)).decode()  # 1 MiB, the most that an object may have
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": uid, "controller": True}
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": text},
            "metadata": {"name": f"large-{number}", "labels": {**MANAGER, JOB_UID: uid},
                         "ownerReferences": [reference] if number % 2 else []}}


class EvilTenant(ClusterTest):
    LARGE_OBJECTS = 100
    LIARS = 3
    NODES = 500
    PIPELINES = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        kubectl("wait", "--for=delete", f"namespace/{EVIL}", "--timeout=300s")  # of the suite before this one
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
    def nobody_is_hurt(self, name="neighbour", steps=STEPS):
        """A job of the neighbour's goes from its start to its end inside."""
        apply(small_job(name, steps))
        self.addCleanup(kubectl, "delete", "ltj", name, "--namespace", NAMESPACE, "--ignore-not-found")
        yield
        wait_until("the neighbour's job ends", lambda: self.condition(name, "Complete")["status"] == "True",
                   PATIENCE_SECONDS)
        self.assertEqual(self.status(name)["restarts"], 0)
        self.its_agent_was_heard(name)
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE)
        self.the_operators_are_unhurt()

    def its_agent_was_heard(self, name):
        """By the operator, which also reads the result of a pod that has ended without being heard."""
        log = kubectl("logs", f"{name}-0-a1", "--namespace", NAMESPACE)
        self.assertIn("the job is over: StepsReached", log)
        self.assertNotIn("nobody took the job's result", log)

    def reasons(self, name, namespace):
        """Of the events of a job."""
        uid = self.job(name, namespace)["metadata"]["uid"]
        return {event["reason"] for event in self.api.items(EVENTS.format(namespace))
                if event["regarding"].get("uid") == uid}

    def the_operators_are_unhurt(self):
        peaks = self.peaks()
        say(f"peak memory of the operators: {[f'{peak >> 20} MiB' for peak in peaks]}")
        self.assertEqual(self.restarts(), self.before)
        self.assertTrue(all(peak < MEMORY_LIMIT for peak in peaks), peaks)

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

    def metric(self, name):
        """Of the leader, over all labels."""
        address = self.leader()["status"]["podIP"]
        text = script("sh", "curl", "--silent", "--fail", f"http://{address}:{METRICS}/metrics")
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))

    # The attacks.

    def test_a_job_larger_than_any_job_may_be(self):
        with self.nobody_is_hurt():
            job = self.job_of(1_048_576, "huge")
            kubectl("apply", "--server-side", "-f", "-", text=json.dumps(job), check=False)  # it may be refused

    def test_a_job_larger_than_the_cluster(self):
        apply(self.job_of(self.NODES, "large"))
        wait_until("a first pod", lambda: self.api.get(f"api/v1/namespaces/{EVIL}/pods/large-0-a1"))
        with self.nobody_is_hurt(steps=50):  # of two seconds, beside 16,384 pods on two cores
            pass

    def test_pipelines_of_very_many_stages(self):
        names = [f"deep-{number}" for number in range(self.PIPELINES)]
        with self.nobody_is_hurt(steps=50):
            apply(*(self.deep_job(name) for name in names))
            for name in names:
                wait_until("a plan", lambda job=name: self.condition(job, "Planned", EVIL)["status"] == "True")

    @classmethod
    def deep_job(cls, name):
        """Whose schedule has more ops than any other of that many stages."""
        job = cls.job_of(256, name)
        job["spec"]["model"] = {"architecture": {"hiddenSize": 64, "layers": 2048, "heads": 4, "ffnSize": 128,
                                                 "vocabSize": 256}}
        job["spec"]["training"]["globalBatchSequences"] = 1024
        job["spec"]["parallelism"] = {"mode": "Manual", "tensor": 1, "pipeline": 256, "data": 1,
                                      "schedule": "Interleaved", "virtualStages": 8}
        return job

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
                    status, answer = self.api.request("PATCH", path, patch, "application/merge-patch+json")
                    self.assertEqual((status, answer.get("data", {}).get("plan.json")), (200, text))
                    wait_until("the plan is repaired", lambda: self.api.get(path)["data"]["plan.json"] == plan)
            wait_until("the word that it was repaired", lambda: "PlanRepaired" in self.reasons("forged", EVIL))

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
        self.wait_for_steps("target")
        ports = self.ports_of_operators_and_of(self.pod("target", 0))
        pods = {pod["metadata"]["uid"] for pod in self.children("target")}
        before = self.status("target")
        sockets = inside(sys.executable, str(HERE / "idle_sockets.py"), "200", *ports)
        self.assertEqual(sockets.stdout.readline(), "connected\n")
        with self.nobody_is_hurt():
            time.sleep(40)  # what the kubelet needs to lose its patience: three probes, ten seconds apart
        # The step that is shown may have been told before; a later one is told through all of this.
        for _ in range(2):
            self.wait_for_steps("target", above=self.status("target")["progress"]["step"])
        after = self.status("target")
        self.assertEqual((after["attempt"], after["restarts"]), (before["attempt"], before["restarts"]))
        self.assertEqual({pod["metadata"]["uid"] for pod in self.children("target")}, pods)
        say(end(sockets))
        kubectl("delete", "ltj", "target", "--namespace", NAMESPACE)

    def ports_of_operators_and_of(self, coordinator):
        found = {pod["status"]["podIP"]: listening_ports(pod, "caravan-operator") for pod in self.operators()}
        found[coordinator["status"]["podIP"]] = listening_ports(coordinator, "caravan-agent")
        self.assertIn(REPORTS, found[self.leader()["status"]["podIP"]])
        self.assertIn(COORDINATOR, found[coordinator["status"]["podIP"]])
        return [f"{address}:{port}" for address, ports in found.items() for port in ports]

    def test_reports_that_cannot_be_true(self):
        names = [f"liar-{number}" for number in range(self.LIARS)]
        before = {name: self.metric(name) for name in REPORT_METRICS}
        began = time.monotonic()
        with self.nobody_is_hurt():
            liars = [self.begin_to_lie(name) for name in names]
            time.sleep(10)
            # The status of a liar's job can still be written, and is.
            kubectl("patch", "ltj", names[0], "--namespace", EVIL, "--type=merge", "--patch",
                    '{"spec": {"suspend": true}}')
            wait_until("the liar's job is suspended",
                       lambda: self.condition(names[0], "Suspended", EVIL)["status"] == "True")
        told = self.lies_told([json.loads(end(liar)) for liar in liars])
        refused, held_up = (self.metric(name) - before[name] for name in REPORT_METRICS)
        seconds = time.monotonic() - began
        say(f"in {seconds:.0f} s {refused:.0f} reports were refused, and {held_up:.0f} times one was held up")
        read_at_most = self.LIARS * (REPORTS_AT_ONCE + seconds * REPORTS_PER_SECOND)
        self.assertGreater(told, 3 * read_at_most)  # two slow cores told 25 times as much
        self.assertGreater(refused, 500)
        self.assertLess(refused, read_at_most)
        self.assertGreater(held_up, 500)
        for name in names:
            self.assertLess(self.status(name, EVIL)["attempt"], 10)

    def begin_to_lie(self, name):
        apply(nowhere(name))
        pod = wait_until("a pod", lambda: self.api.get(f"api/v1/namespaces/{EVIL}/pods/{name}-0-a1"))
        authority = self.api.get(f"api/v1/namespaces/{EVIL}/configmaps/{name}-plan")["data"]["reports-ca.crt"]
        folder = FOLDER / name
        folder.mkdir(exist_ok=True)
        (folder / "ca.crt").write_text(authority)
        (folder / "token").write_text(self.token_of(pod))
        program = str(PROGRAMS.parent / "tests/caravan-evil-reporter")
        return inside(program, f"{self.leader()['status']['podIP']}:{REPORTS}",
                      f"caravan-operator.{OPERATOR_NAMESPACE}.svc", str(folder / "ca.crt"), str(folder / "token"))

    def lies_told(self, tales):
        for tale in tales:
            say(f"{tale['told']} lies, {tale['told'] / tale['seconds']:.0f} a second, on {tale['streams']} streams, "
                f"the last of which ended with: {tale['last']}")
        return sum(tale["told"] for tale in tales)

    def token_of(self, pod):
        account = pod["spec"]["serviceAccountName"]
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                   "spec": {"audiences": ["reports.training.caravan.dev"], "boundObjectRef": {
                       "apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"],
                       "uid": pod["metadata"]["uid"]}}}
        status, answer = self.api.request("POST", f"api/v1/namespaces/{EVIL}/serviceaccounts/{account}/token", request)
        self.assertEqual(status, 201, answer)
        return answer["status"]["token"]

    def test_large_objects_with_the_labels_of_ours(self):
        apply(nowhere("owner"))
        owner = wait_until("the owner", lambda: self.job("owner", EVIL))
        with self.nobody_is_hurt():
            with concurrent.futures.ThreadPoolExecutor(4) as threads:
                for made in [threads.submit(self.make_large_objects, owner, first, 4) for first in range(4)]:
                    made.result()
        self.the_operator_watches_large_objects()
        self.replace_the_leader()  # by one that reads all of them at once
        with self.nobody_is_hurt("after"):
            pass
        kubectl("delete", "configmaps", "-l", "app.kubernetes.io/managed-by=caravan-operator", "--namespace", EVIL,
                "--wait=false")

    def make_large_objects(self, owner, first, step):
        api = Api(FOLDER / "kubeconfig")
        for number in range(first, self.LARGE_OBJECTS, step):
            status, answer = api.request("POST", f"api/v1/namespaces/{EVIL}/configmaps", large_object(number, owner))
            self.assertEqual(status, 201, answer)

    def the_operator_watches_large_objects(self):
        selector = urllib.parse.quote(selector_of_the_operator("configmaps"))
        found = self.api.items(f"api/v1/namespaces/{EVIL}/configmaps?limit=2&labelSelector={selector}")
        self.assertEqual([config_map["metadata"]["name"] for config_map in found], ["large-0", "large-1"])

    def replace_the_leader(self):
        former = self.leader()
        kubectl("delete", "pod", former["metadata"]["name"], "--namespace", OPERATOR_NAMESPACE)
        wait_until("operators that are ready", self.all_operators_are_ready)
        restarts = self.restarts()
        self.assertNotIn(former["metadata"]["uid"], restarts)
        self.assertEqual(restarts, {uid: self.before.get(uid, 0) for uid in restarts})
        self.before = restarts


class Soak(EvilTenant):
    """All attacks at their full size."""

    LARGE_OBJECTS = 500
    NODES = 16_384  # the most that a job may have
    PIPELINES = 16


if __name__ == "__main__":
    if sys.argv[1:2] == ["soak"]:
        chosen = unittest.defaultTestLoader.loadTestsFromTestCase(Soak)
    else:
        chosen = unittest.TestSuite([EvilTenant(in_turn(TRIED))])
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(chosen).wasSuccessful())
