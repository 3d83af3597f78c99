"""What the real helm 3 and 4 do with the chart on a real API server of its own, which has neither nodes nor controllers.

On a cluster with a job that runs: tests/e2e/cluster/chart_test.py. CARAVAN_API: the folder that the server gets.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from caravan_chart import CHART, HELMS, SOURCES, chart_before, documents, helm, program, rendered

sys.path.append(str(SOURCES / "deploy/install"))
from api_server import APPLY, ApiServer  # noqa: E402
from installed import wait_until  # noqa: E402
from manifest_text import documents_of  # noqa: E402

FOLDER = Path(os.environ["CARAVAN_API"])
NAMESPACE = "caravan-system"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/llamatrainingjobs.training.caravan.dev"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/caravan-operator"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/caravan-operator"
CERTIFICATE = f"/api/v1/namespaces/{NAMESPACE}/secrets/caravan-service-certificate"
JOBS = "/apis/training.caravan.dev/v1alpha1/namespaces/default/llamatrainingjobs"
MERGE = "application/merge-patch+json"

JOB = {
    "apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": "kept"},
    "spec": {"model": {"preset": "llama-tiny"}, "data": {"path": "train.bin"},
             "training": {"steps": 10, "sequenceLength": 64, "globalBatchSequences": 8},
             "resources": {"devices": 2, "devicesPerNode": 2, "device": {"kind": "CPU", "memory": "4Gi"}}},
}  # fmt: skip


def script(verb: str) -> None:
    subprocess.run([SOURCES / "tests/cluster/api.sh", verb, FOLDER], check=True, capture_output=True)


def setUpModule():
    script("up")


def tearDownModule():
    script("down")


class Release:
    """Of one helm."""

    def __init__(self, which: str, namespace: str = NAMESPACE):
        self.which, self.namespace = which, namespace

    def run(self, verb: str, *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess:
        return helm(self.which, verb, "caravan", *arguments, "--namespace", self.namespace, check=check,
                    KUBECONFIG=str(FOLDER / "kubeconfig"), HELM_CACHE_HOME=str(FOLDER / "helm"), KUBECACHEDIR=str(FOLDER / "cache"))


class OnAServer(unittest.TestCase):
    def setUp(self):
        self.server = ApiServer(FOLDER / "kubeconfig")
        self.addCleanup(self.server.close)
        self.server.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})

    def get(self, path: str) -> dict:
        answer = self.server.call("GET", path)
        self.assertEqual(200, answer.status, answer.message())
        return answer.body

    def operator(self) -> dict:
        """Its container."""
        return self.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]

    def arguments(self) -> list[str]:
        return self.operator()["args"]

    def tag(self) -> str:
        return self.operator()["image"].rpartition(":")[2]

    def columns(self) -> list[str]:
        [version] = self.get(DEFINITION)["spec"]["versions"]
        return [column["name"] for column in version["additionalPrinterColumns"]]

    def left(self, *options: str) -> list[str]:
        """Of what the chart makes, what is there, the definition aside."""
        return [document.path() for document in documents_of("---\n".join(documents(rendered("--no-hooks", *options))))
                if document.kind != "CustomResourceDefinition" and self.server.call("GET", document.path()).status == 200]

    def chart_before(self) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return chart_before(Path(folder.name))

    def remove(self) -> None:
        for which in HELMS:
            Release(which).run("uninstall", "--ignore-not-found", check=False)
        self.server.call("DELETE", DEFINITION)
        wait_until("the definition is gone", lambda: self.server.call("GET", DEFINITION).status == 404)


class Paths(OnAServer):
    def walk(self, which: str) -> None:
        self.addCleanup(self.remove)
        release = Release(which)
        release.run("install", self.chart_before(), "--set",
                    "images.tag=old,workers.agentPatienceSeconds=60,service.enabled=true")
        self.assertIn("--agent-patience-seconds=60", self.arguments())
        self.assertIn("Starts", self.columns())

        # An operator leads, and keeps the job service's certificate; there is a job.
        lead = json.dumps({"spec": {"holderIdentity": "one", "leaseDurationSeconds": 15}})
        self.assertEqual(200, self.server.call("PATCH", LEASE, lead, MERGE).status)
        key = json.dumps({"data": {"tls.key": "a2V5"}})
        self.assertEqual(200, self.server.call("PATCH", CERTIFICATE, key, MERGE).status)
        self.assertIn(self.server.post(JOBS, JOB).status, (201, 409))
        uid = self.get(f"{JOBS}/kept")["metadata"]["uid"]

        release.run("upgrade", CHART, "--reset-values", "--set", "service.enabled=true")
        self.assertNotIn("--agent-patience-seconds=60", self.arguments())
        self.assertNotEqual("old", self.tag())
        self.assertIn("Restarts", self.columns(), "the definition was not upgraded")
        self.assertEqual("one", self.get(LEASE)["spec"]["holderIdentity"], "the upgrade took the lease away")
        self.assertEqual("a2V5", self.get(CERTIFICATE)["data"]["tls.key"], "the upgrade took the certificate away")

        # The operator first, the definition last.
        release.run("upgrade", CHART, "--reset-then-reuse-values", "--set", "images.tag=old")
        self.assertEqual("old", self.tag())
        self.assertIn("Restarts", self.columns(), "the definition was taken back before its operator")
        release.run("rollback", "1")
        self.assertEqual("old", self.tag(), "the rollback took the newer operator back in")
        self.assertIn("--agent-patience-seconds=60", self.arguments())
        self.assertIn("Starts", self.columns())
        self.assertEqual("one", self.get(LEASE)["spec"]["holderIdentity"], "the rollback took the lease away")
        self.assertEqual("a2V5", self.get(CERTIFICATE)["data"]["tls.key"], "the rollback took the certificate away")

        release.run("uninstall")
        self.assertEqual([], self.left("--set", "service.enabled=true"))
        self.assertEqual(uid, self.get(f"{JOBS}/kept")["metadata"]["uid"])

        # The definition that stayed is taken over again.
        release.run("install", CHART)
        self.assertIn("Restarts", self.columns())
        self.assertEqual(uid, self.get(f"{JOBS}/kept")["metadata"]["uid"])

    def test_helm_3_installs_upgrades_rolls_back_and_uninstalls_and_jobs_stay(self):
        self.walk("helm3")

    def test_helm_4_installs_upgrades_rolls_back_and_uninstalls_and_jobs_stay(self):
        self.walk("helm4")

    def test_helm_4_goes_on_with_what_helm_3_installed(self):
        self.addCleanup(self.remove)
        Release("helm3").run("install", CHART)
        Release("helm4").run("upgrade", CHART, "--set", "workers.agentPatienceSeconds=60")
        self.assertIn("--agent-patience-seconds=60", self.arguments())


class Kept(OnAServer):
    def test_what_was_applied_from_the_manifest_is_taken_over(self):
        for which in HELMS:
            with self.subTest(which):
                self.addCleanup(self.remove)
                for document in documents_of((SOURCES / "deploy/install.yaml").read_text()):
                    path = f"{document.path()}?fieldManager=kubectl&force=true"
                    answer = self.server.call("PATCH", path, document.text, "application/apply-patch+yaml")
                    self.assertIn(answer.status, (200, 201), answer.message())
                refused = Release(which).run("install", CHART, check=False)
                self.assertIn("exists and cannot be imported", refused.stderr)
                Release(which).run("install", CHART, "--take-ownership")
                Release(which).run("uninstall")
                self.assertEqual([], self.left())
                self.remove()

    def test_without_keep_the_definition_goes_with_the_release(self):
        self.addCleanup(self.remove)
        Release("helm4").run("install", CHART, "--set", "crds.keep=false")
        Release("helm4").run("uninstall")
        answer = self.server.call("GET", DEFINITION)
        self.assertTrue(answer.status == 404 or "deletionTimestamp" in answer.body["metadata"], answer.message())


class Operators(OnAServer):
    """Of a job there is one."""

    OF_A_TEAM = ("--set", "scope=Namespace,crds.enabled=false,clusterObjects.shared=false")

    def setUp(self):
        super().setUp()
        self.server.post("/api/v1/namespaces", {"metadata": {"name": "team"}})

    def remove(self) -> None:
        for which in HELMS:
            Release(which, "team").run("uninstall", "--ignore-not-found", check=False)
        super().remove()

    def is_refused(self, done: subprocess.CompletedProcess, namespace: str) -> None:
        self.assertNotEqual(0, done.returncode)
        self.assertIn(f"the same jobs have an operator in {namespace}", done.stderr)

    def test_the_release_with_what_teams_share_does_not_become_an_operator_over_theirs(self):
        for which in HELMS:
            with self.subTest(which):
                self.addCleanup(self.remove)
                shared, team = Release(which), Release(which, "team")
                shared.run("install", CHART, "--set", "operator.enabled=false")
                team.run("install", CHART, *self.OF_A_TEAM)
                self.is_refused(shared.run("upgrade", CHART, "--set", "crds.keep=true", check=False), "team")
                shared.run("upgrade", CHART, "--reset-then-reuse-values", "--set", "crds.keep=true")
                self.assertEqual(404, self.server.call("GET", DEPLOYMENT).status)
                team.run("upgrade", CHART, *self.OF_A_TEAM)
                self.remove()

    def test_a_team_gets_none_beside_that_of_the_cluster(self):
        for which in HELMS:
            with self.subTest(which):
                self.addCleanup(self.remove)
                cluster, team = Release(which), Release(which, "team")
                cluster.run("install", CHART)
                self.is_refused(team.run("install", CHART, *self.OF_A_TEAM, check=False), NAMESPACE)
                cluster.run("upgrade", CHART, "--set", "scope=Namespace")
                team.run("install", CHART, *self.OF_A_TEAM)
                self.remove()


class Monitoring(OnAServer):
    """Where the server has the Prometheus operator's definitions."""

    AT = f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}"

    def define(self) -> None:
        self.addCleanup(wait_until, "the server forgets them", lambda: not self.is_served())
        for path in sorted((program("kubeconform").parent / "schemas").glob("*.yaml")):
            document = documents_of(path.read_text().removeprefix("---\n"))[0]
            applied = self.server.call("PATCH", f"{document.path()}?fieldManager=test&force=true", document.text, APPLY)
            self.assertIn(applied.status, (200, 201), applied.message())
            self.addCleanup(self.server.call, "DELETE", document.path())
        for plural in ("podmonitors", "servicemonitors", "prometheusrules"):
            wait_until(f"{plural} are served", lambda plural=plural: self.is_there(f"{self.AT}/{plural}"))

    def is_there(self, path: str) -> bool:
        return self.server.call("GET", path).status == 200

    def is_served(self) -> bool:
        groups = self.server.call("GET", "/apis").body["groups"]
        return any(group["name"] == "monitoring.coreos.com" for group in groups)

    def test_each_helm_finds_them_and_the_server_takes_monitors_rules_and_boards(self):
        self.define()
        for which in HELMS:
            with self.subTest(which):
                self.addCleanup(self.remove)
                Release(which).run("install", CHART)
                for found in (f"{self.AT}/podmonitors/caravan-workers", f"{self.AT}/servicemonitors/caravan-operator",
                              f"{self.AT}/prometheusrules/caravan",
                              f"/api/v1/namespaces/{NAMESPACE}/configmaps/caravan-dashboard-job"):
                    self.assertTrue(self.is_there(found), found)
                Release(which).run("uninstall")


class Notes(OnAServer):
    def test_they_name_the_next_three_commands(self):
        self.addCleanup(self.remove)
        for options, namespace in (((), ""), (("--set", "scope=Namespace"), f"-n {NAMESPACE} ")):
            told = Release("helm4").run("upgrade", CHART, "--install", *options).stdout
            commands = [line.strip() for line in told.splitlines() if line.startswith("  kubectl ")]
            self.assertEqual([f"kubectl -n {NAMESPACE} rollout status deployment/caravan-operator",
                              f"kubectl {namespace}apply -f examples/kubernetes.yaml",
                              f"kubectl {namespace}get ltj --watch"], commands)

    def test_they_say_where_jobs_have_their_data_from(self):
        self.addCleanup(self.remove)
        for options in ((), ("--set", "operator.enabled=false")):
            told = Release("helm4").run("upgrade", CHART, "--install", *options).stdout
            self.assertIn('"The volume" in docs/user/kubernetes.md', told)
        self.assertIn("\n## The volume\n", (SOURCES / "docs/user/kubernetes.md").read_text())

    def test_they_say_how_the_job_service_is_reached_and_what_it_waits_for(self):
        self.addCleanup(self.remove)
        told = Release("helm4").run("install", CHART, "--set", "service.enabled=true").stdout
        for command in ("rollout status deployment/caravan-service", "get configmap caravan-service-root", "port-forward"):
            self.assertIn(f"  kubectl -n {NAMESPACE} {command}", told)
        self.assertNotIn("clusterrolebinding", told)
        told = Release("helm4").run("upgrade", CHART, "--set", "service.enabled=true,service.certificate.secretName=mine,"
                                    "scope=Namespace,clusterObjects.own=false").stdout
        self.assertNotIn("caravan-service-root", told)
        self.assertIn(f"create clusterrolebinding caravan-service-{NAMESPACE} --clusterrole=system:auth-delegator", told)


if __name__ == "__main__":
    unittest.main()
