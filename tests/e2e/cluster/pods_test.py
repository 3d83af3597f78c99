"""What a job asks of its pods reaches the processes in them, and what is missing or not allowed is said."""

import base64
import json
import pathlib
import unittest

from cluster import NAMESPACE, ClusterTest, apply, kubectl, processes_of, small_job, wait_until
from volume import share

TOOLS = "tools"
DRESS = {
    "imagePullSecrets": ["registry"],
    "env": [
        {"name": "TOKEN", "secretKey": {"name": "dress", "key": "token"}},
        {"name": "PROJECT", "configMapKey": {"name": "dress", "key": "project"}},
    ],
    "labels": {"cost-centre": "7"},
    "annotations": {"example.org/note": "two words"},
    "nodeAffinity": [
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        {"key": "example.org/broken", "operator": "DoesNotExist"},
    ],
    "volumes": [{"name": TOOLS, "claimName": TOOLS, "mountPath": "/mnt/tools"}],
}  # fmt: skip


def named(kind, name, **more):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **more}


def environment_of(pid):
    entries = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def options_of_mount(pid, path):
    mounts = (line.split() for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines())
    return next(fields[5].split(",") for fields in mounts if fields[4] == path)


class Pods(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        share(TOOLS, NAMESPACE)
        login = {"auths": {"registry.example": {"auth": base64.b64encode(b"user:password").decode()}}}
        apply(named("Secret", "registry", type="kubernetes.io/dockerconfigjson",
                    stringData={".dockerconfigjson": json.dumps(login)}),
              named("Secret", "dress", stringData={"token": "of a secret"}),
              named("ConfigMap", "dress", data={"project": "of a config map"}))

    def start(self, name, **worker):
        job = small_job(name, 1000000)
        job["spec"]["worker"] = job["spec"].get("worker", {}) | worker
        apply(job)
        self.addCleanup(kubectl, "delete", "ltj", name, "--namespace", NAMESPACE)

    def test_what_a_job_asks_for_reaches_the_agents_and_the_ranks_of_each_pod(self):
        self.start("dressed", **DRESS)
        self.wait_for_steps("dressed")
        for node in (0, 1):
            pod = self.pod("dressed", node)
            self.assertEqual(pod["metadata"]["labels"]["cost-centre"], "7")
            self.assertEqual(pod["metadata"]["annotations"]["example.org/note"], "two words")
            self.assertEqual(pod["spec"]["imagePullSecrets"], [{"name": "registry"}])
            for program in ("caravan-agent", "caravan-trainer"):
                process = processes_of(pod["metadata"]["uid"], program)[0]
                variables = environment_of(process)
                self.assertEqual((variables["TOKEN"], variables["PROJECT"]), ("of a secret", "of a config map"))
                self.assertIn("ro", options_of_mount(process, "/mnt/tools"))

    def test_a_secret_that_is_not_there_is_named_with_what_to_do(self):
        self.start("bare", env=[{"name": "TOKEN", "secretKey": {"name": "forgotten", "key": "token"}}])
        says = lambda: self.condition("bare", "Running")["message"]  # noqa: E731
        wait_until("the condition names the Secret", lambda: 'secret "forgotten" not found' in says())
        self.assertIn("create what is missing in the job's namespace, or correct worker.env", says())
        apply(named("Secret", "forgotten", stringData={"token": "late"}))
        self.wait_for_steps("bare")

    def test_the_network_of_nodes_is_refused_where_no_administrator_allows_it(self):
        job = small_job("open", 10)
        job["spec"]["worker"] = {"hostNetwork": True}
        with self.assertRaisesRegex(AssertionError, "has no label training.caravan.dev/host-network=enabled"):
            apply(job)


if __name__ == "__main__":
    unittest.main(verbosity=2)
