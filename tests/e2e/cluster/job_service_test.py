"""The job service as the chart installs it: people with a token and the root reach it, whichever replica answers."""

import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

from cluster import (MORE_STEPS_THAN_ARE_MADE, NAMESPACE, OPERATOR_NAMESPACE, PROGRAMS, REPOSITORY, ClusterTest, apply, kill,
                     kubectl, processes_of, small_job, taking_turns, wait_until)
from network_test import METRICS, reaches

NAME = f"caravan-service.{OPERATOR_NAMESPACE}.svc"
API, JSON, LIVE = 8443, 8444, 9444
PERMISSION_DENIED, UNAUTHENTICATED = 7, 16
# What the admission policy of jobs asks for beside jobs themselves.
RULES = [{"apiGroups": ["training.caravan.dev"], "resources": ["llamatrainingjobs"],
          "verbs": ["get", "list", "watch", "create", "delete"]},
         {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
         {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["get"]}]  # fmt: skip


def install():
    manifest = subprocess.run([sys.executable, REPOSITORY / "deploy/install/install.py", "--set", "service.enabled=true"],
                              check=True, capture_output=True, text=True).stdout
    kubectl("apply", "--server-side", "-f", "-", text=manifest)
    for name in ("caravan-operator", "caravan-service"):
        kubectl("rollout", "status", f"deployment/{name}", "--namespace", OPERATOR_NAMESPACE, "--timeout=240s")


def account(name, rules):
    """A ServiceAccount, and its token for the job service and for the API server."""
    rbac, metadata = "rbac.authorization.k8s.io", {"name": name, "namespace": NAMESPACE}
    apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
          {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
          {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata,
           "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
           "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]})
    return kubectl("create", "token", name, "--namespace", NAMESPACE, "--duration=1h", "--audience=caravan",
                   "--audience=https://kubernetes.default.svc").strip()


class Watch:
    """Messages of a stream, as long as it lives."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.messages = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.messages.append(json.loads(line))

    def has(self, kind, name=""):
        return any(each["kind"] == kind and each.get("job", {}).get("name", "").endswith(name) for each in self.messages)

    def has_ended(self):
        return self.process.poll() is not None

    def stop(self):
        self.process.kill()
        self.process.communicate()
        self.reader.join()


@taking_turns(3)
class JobService(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install()
        # Its rights stay, for the test of all rights.
        cls.addClassCleanup(kubectl, "delete", "deployment", "caravan-service", "--namespace", OPERATOR_NAMESPACE,
                            "--cascade=foreground")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.write("ada", account("ada", RULES))
        cls.write("eve", account("eve", []))
        wait_until("ada has her rights",
                   lambda: cls.api.allows(f"system:serviceaccount:{NAMESPACE}:ada", "create", NAMESPACE))
        cls.write("nobody", "none")
        # By somebody who may do nothing else.
        cls.write("root", kubectl("--context", "user", "get", "configmap", "caravan-service-root", "--namespace",
                                  OPERATOR_NAMESPACE, "--output", "jsonpath={.data.ca\\.crt}"))
        # The proxy of the node hears of replicas that are ready a moment later.
        wait_until("the Service leads to a replica", cls.is_reached)

    @classmethod
    def write(cls, name, text):
        pathlib.Path(cls.folder.name, name).write_text(text)

    @classmethod
    def replicas(cls):
        return [pod for pod in cls.api.items(f"api/v1/namespaces/{OPERATOR_NAMESPACE}/pods")
                if pod["metadata"]["labels"].get("app.kubernetes.io/name") == "caravan-service"
                and "deletionTimestamp" not in pod["metadata"]]

    @classmethod
    def service_address(cls):
        return cls.api.get(f"api/v1/namespaces/{OPERATOR_NAMESPACE}/services/caravan-service")["spec"]["clusterIP"]

    @classmethod
    def is_reached(cls):
        with contextlib.suppress(OSError), socket.create_connection((cls.service_address(), 443), timeout=1):
            return True
        return False

    def command(self, method, request, who="ada", at=None):
        """at: a replica, or whichever the Service chooses."""
        address = f"{at['status']['podIP']}:{API}" if at else f"{self.service_address()}:443"
        return [PROGRAMS.parent / "tests/caravan-service-client", address, NAME, f"{self.folder.name}/root",
                f"{self.folder.name}/{who}", method, json.dumps(request)]

    def call(self, method, request, **how):
        done = subprocess.run(self.command(method, request, **how), capture_output=True, text=True)
        self.assertEqual(0, done.returncode, f"{method}: {done.stderr}")
        return json.loads(done.stdout)

    def is_refused(self, code, method, request, who):
        done = subprocess.run(self.command(method, request, who=who), capture_output=True, text=True)
        self.assertEqual((1, str(code)), (done.returncode, done.stderr.split(" ")[0]), done.stderr)

    def create(self, name, steps=MORE_STEPS_THAN_ARE_MADE, **how):
        job = small_job(name, steps)
        self.addCleanup(kubectl, "delete", "ltj", name, "--namespace", NAMESPACE, "--ignore-not-found")
        return self.call("CreateJob", {"parent": f"namespaces/{NAMESPACE}", "job": job}, **how)

    def names(self, **how):
        jobs = self.call("ListJobs", {"parent": f"namespaces/{NAMESPACE}"}, **how).get("jobs", [])
        return {job["name"].split("/")[-1] for job in jobs}

    def test_a_token_creates_lists_and_deletes_a_job(self):
        self.assertEqual(f"namespaces/{NAMESPACE}/jobs/asked", self.create("asked")["name"])
        for replica in self.replicas():
            wait_until("each replica lists it", lambda replica=replica: "asked" in self.names(at=replica))
        self.wait_for_steps("asked")
        self.call("DeleteJob", {"name": f"namespaces/{NAMESPACE}/jobs/asked"})
        self.leaves_nothing("asked")
        wait_until("it is not listed any more", lambda: "asked" not in self.names())

    def test_who_has_no_right_or_no_token_is_let_do_nothing(self):
        self.create("others")
        for method, request in (("ListJobs", {"parent": f"namespaces/{NAMESPACE}"}),
                                ("DeleteJob", {"name": f"namespaces/{NAMESPACE}/jobs/others"}),
                                ("CreateJob", {"parent": f"namespaces/{NAMESPACE}", "job": small_job("mine", 1)})):
            self.is_refused(PERMISSION_DENIED, method, request, "eve")
            self.is_refused(UNAUTHENTICATED, method, request, "nobody")
        self.assertTrue(self.job("others"))
        self.assertFalse(self.job("mine"))

    def test_its_metrics_follow_a_job_to_its_end(self):
        self.create("measured", steps=20)
        wait_until("each replica knows it", lambda: all("measured" in self.names(at=replica) for replica in self.replicas()))
        stream = Watch(self.command("StreamMetrics", {"name": f"namespaces/{NAMESPACE}/jobs/measured", "follow": True}))
        self.addCleanup(stream.stop)
        wait_until("the stream ends", stream.has_ended)
        stream.reader.join()
        samples = [sample for message in stream.messages for sample in message.get("samples", ())]
        steps = [sample["step"] for sample in samples]
        self.assertEqual(sorted(set(steps)), steps)
        self.assertEqual(20, steps[-1])
        self.assertLess(samples[-1]["loss"], samples[0]["loss"])
        self.is_refused(PERMISSION_DENIED, "StreamMetrics", {"name": f"namespaces/{NAMESPACE}/jobs/measured"}, "eve")

    def test_each_replica_serves_json_over_http(self):
        self.create("shown")
        self.write("header", f"header = \"Authorization: Bearer {pathlib.Path(self.folder.name, 'ada').read_text()}\"")
        for replica in self.replicas():
            command = ["curl", "-sS", "--fail-with-body", "--cacert", f"{self.folder.name}/root", "--config",
                       f"{self.folder.name}/header", "--resolve", f"{NAME}:{JSON}:{replica['status']['podIP']}",
                       f"https://{NAME}:{JSON}/v1alpha1/namespaces/{NAMESPACE}/jobs"]  # fmt: skip
            names = lambda command=command: [job["name"] for job in json.loads(  # noqa: E731
                subprocess.run(command, check=True, capture_output=True).stdout).get("jobs", ())]
            wait_until("it lists the job", lambda names=names: f"namespaces/{NAMESPACE}/jobs/shown" in names())

    def watch(self, at, resume_token=""):
        request = {"parent": f"namespaces/{NAMESPACE}", "resumeToken": resume_token}
        watch = Watch(self.command("WatchJobs", request, at=at))
        self.addCleanup(watch.stop)
        return watch

    def test_a_watch_goes_on_at_the_other_replica_when_one_is_killed(self):
        first, second = self.replicas()
        watch = self.watch(first)
        wait_until("all jobs are told", lambda: watch.has("Complete"))
        self.create("before")
        wait_until("a new job is told", lambda: watch.has("Changed", "/before"))
        kill(first, "caravan-service")
        wait_until("the stream ends", watch.has_ended)
        self.create("meanwhile", at=second)
        resumed = self.watch(second, watch.messages[-1]["resumeToken"])
        wait_until("what happened meanwhile is told", lambda: resumed.has("Changed", "/meanwhile"))
        self.assertFalse(resumed.has("Complete"), "it was told everything anew")
        wait_until("there are two again", lambda: self.are_ready(2))

    def are_ready(self, count):
        deployment = self.api.get(f"apis/apps/v1/namespaces/{OPERATOR_NAMESPACE}/deployments/caravan-service")
        return deployment["status"].get("readyReplicas", 0) == count

    def certificate_of(self, replica):
        """In DER, once it is one that the root has signed for the service's name."""
        trust = ssl.create_default_context(cafile=f"{self.folder.name}/root")
        trust.set_alpn_protocols(["h2"])
        with socket.create_connection((replica["status"]["podIP"], API), timeout=10) as plain:
            with trust.wrap_socket(plain, server_hostname=NAME) as secured:
                return secured.getpeercert(binary_form=True)

    def lives(self):
        """Of the replicas, by UID: how often each was started."""
        return {pod["metadata"]["uid"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in self.replicas()}

    def test_another_certificate_is_served_without_a_restart_and_the_root_stays(self):
        wait_until("there are two", lambda: self.are_ready(2))
        before = {self.certificate_of(replica) for replica in self.replicas()}
        self.assertEqual(1, len(before))
        lives = self.lives()
        kubectl("patch", "secret", "caravan-service-certificate", "--namespace", OPERATOR_NAMESPACE, "--type=json",
                "--patch", '[{"op": "remove", "path": "/data/tls.crt"}]')
        # The operator that leads looks once a minute, and the next one as soon as it does.
        kubectl("delete", "pod", "--selector=app.kubernetes.io/name=caravan-operator", "--namespace", OPERATOR_NAMESPACE,
                "--wait=false")
        wait_until("each replica serves another one",
                   lambda: not before & {self.certificate_of(replica) for replica in self.replicas()})
        self.assertEqual(lives, self.lives())
        self.names()
        kubectl("rollout", "status", "deployment/caravan-operator", "--namespace", OPERATOR_NAMESPACE, "--timeout=120s")

    def test_of_pods_it_reaches_the_operator_where_that_tells_of_training(self):
        operators = [pod["status"]["podIP"] for pod in self.operators()]
        for replica in self.replicas():
            process = wait_until("it runs", lambda replica=replica: processes_of(replica["metadata"]["uid"], "caravan-service"))[0]
            self.assertTrue(reaches(process, self.api.server.hostname, self.api.server.port))
            self.assertTrue(any(reaches(process, operator, LIVE) for operator in operators), "the one that leads")
            self.assertFalse(any(reaches(process, operator, METRICS) for operator in operators))


if __name__ == "__main__":
    unittest.main(verbosity=2)
