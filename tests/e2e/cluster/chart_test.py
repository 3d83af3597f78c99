"""The chart on a cluster of its own, by a real helm: chart_test.py HELM, which is helm3 or helm4.

A job trains on while the chart is installed, tested, upgraded, rolled back, uninstalled and installed again. All namespaces
are `restricted`. Or an account that has rights in one namespace and none in the cluster installs an operator there: the two
take turns by day.
"""

import json
import pathlib
import sys
import tempfile
import unittest

import fixture
from cluster import (FOLDER, MORE_STEPS_THAN_ARE_MADE, NAMESPACE, OPERATOR_NAMESPACE, REPOSITORY, ClusterTest, apply, kubectl,
                     script, small_job, taking_turns, wait_until)
from volume import corpus_claim, corpus_volume

sys.path.append(str(REPOSITORY / "deploy/helm"))
from caravan_chart import CHART, chart_before, helm  # noqa: E402

WHICH = sys.argv.pop(1)
TEAM = "team"
RBAC = "apis/rbac.authorization.k8s.io/v1"


def setUpModule():
    # A test that fails half way leaves no cluster behind.
    unittest.addModuleCleanup(script, "down")
    script("up")
    script("import", *(REPOSITORY / "build/images" / f"caravan-{name}.tar" for name in ("operator", "worker")))
    fixture.write_corpus()
    fixture.make_namespace()
    for name in (OPERATOR_NAMESPACE, TEAM):
        apply({"apiVersion": "v1", "kind": "Namespace",
               "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})


def run(verb, *arguments, namespace=OPERATOR_NAMESPACE, user="admin", check=True):
    """One verb of helm on the release."""
    return helm(WHICH, verb, "caravan", *arguments, "--namespace", namespace, "--kube-context", user, check=check,
                KUBECONFIG=str(FOLDER / "kubeconfig"), HELM_CACHE_HOME=str(FOLDER / "helm"))


class ChartTest(ClusterTest):
    def living_operators(self, namespace=OPERATOR_NAMESPACE):
        """By UID."""
        return {pod["metadata"]["uid"] for pod in self.operators(namespace) if "deletionTimestamp" not in pod["metadata"]}

    def step(self, name):
        return self.status(name).get("progress", {}).get("step", 0)

    def hooks(self, namespace=OPERATOR_NAMESPACE):
        return [found["metadata"]["name"] for path in (f"api/v1/namespaces/{namespace}/pods", f"{RBAC}/namespaces/{namespace}/roles",
                                                       f"api/v1/namespaces/{namespace}/serviceaccounts")
                for found in self.api.items(path) if found["metadata"]["name"] == "caravan-check"]


@taking_turns(2)
class Life(ChartTest):
    """One release, from the first to the last."""

    def goes_on(self, pods):
        """In the pods that it had, and the operator of now hears of it."""
        self.wait_for_steps("kept", above=self.step("kept"))
        self.assertEqual(pods, {pod["metadata"]["uid"] for pod in self.children("kept")})
        self.assertEqual((1, 0), (self.status("kept")["attempt"], self.status("kept").get("restarts", 0)))

    def replaces_the_operators(self, change):
        before = self.living_operators()
        change()
        wait_until("both operators are new", lambda: len(self.living_operators()) == 2 and not self.living_operators() & before)

    def test_a_job_trains_on_from_the_install_to_the_next_one(self):
        before = tempfile.TemporaryDirectory()
        self.addCleanup(before.cleanup)
        run("install", chart_before(pathlib.Path(before.name)), "--set", "operator.podAnnotations.chart=before", "--wait")
        self.assertEqual(2, len(self.living_operators()), "--wait did not wait")
        run("test")
        self.assertEqual([], self.hooks())

        apply(small_job("kept", MORE_STEPS_THAN_ARE_MADE))
        self.wait_for_steps("kept")
        pods = {pod["metadata"]["uid"] for pod in self.children("kept")}

        self.replaces_the_operators(lambda: run("upgrade", CHART, "--reset-values", "--wait"))
        self.goes_on(pods)
        self.replaces_the_operators(lambda: run("rollback", "1", "--wait"))
        self.goes_on(pods)

        run("uninstall", "--wait")
        wait_until("no operator is left", lambda: not self.living_operators())
        self.assertEqual(pods, {pod["metadata"]["uid"] for pod in self.children("kept")})
        self.assertEqual({"Running"}, {pod["status"]["phase"] for pod in self.children("kept")})
        self.nobody_is_refused_anything()

        # With the job service, whose pods wait for the certificate that the operator makes.
        run("install", CHART, "--set", "service.enabled=true", "--wait")
        run("test")
        self.goes_on(pods)
        kubectl("delete", "ltj", "kept", "--namespace", NAMESPACE)
        self.leaves_nothing("kept")
        run("uninstall", "--wait")
        for kind, name in (("secret", "caravan-service-certificate"), ("configmap", "caravan-service-root")):
            self.assertEqual("", kubectl("get", kind, name, "--namespace", OPERATOR_NAMESPACE, "--ignore-not-found"))

    def nobody_is_refused_anything(self):
        """No policy and no webhook is left that waits for an operator."""
        kubectl("create", "configmap", "afterwards", "--namespace", NAMESPACE)
        kubectl("delete", "configmap", "afterwards", "--namespace", NAMESPACE)


@taking_turns(2, first=1)
class Team(ChartTest):
    """Has the role admin in one namespace, and nothing else. An administrator installed what operators share."""

    VALUES = str(REPOSITORY / "deploy/helm/testdata/one_namespace.values.yaml")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run("install", CHART, "--set", "operator.enabled=false")
        cls.addClassCleanup(run, "uninstall")
        apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": "team", "namespace": TEAM},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
               "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "user"}]},
              corpus_volume("corpus-team"), corpus_claim("corpus-team", TEAM))
        wait_until("the role admin has what the chart adds", lambda: cls.api.allows("user", "patch", TEAM, "status"))

    def job(self, name, namespace=TEAM):
        return super().job(name, namespace)

    def make(self, name, steps):
        job = small_job(name, steps, data={"claimName": "corpus-team", "path": "kjv.bin"})
        job["metadata"]["namespace"] = TEAM
        kubectl("--context", "user", "apply", "--server-side", "-f", "-", text=json.dumps(job))

    def test_it_installs_an_operator_for_its_namespace(self):
        refused = run("install", CHART, "--set", "scope=Namespace,crds.enabled=false,clusterObjects.shared=false",
                      namespace=TEAM, user="user", check=False)
        self.assertIn("forbidden", refused.stderr)
        run("uninstall", namespace=TEAM, user="user", check=False)

        told = run("install", CHART, "-f", self.VALUES, "--wait", namespace=TEAM, user="user").stdout
        run("test", namespace=TEAM, user="user")
        self.make("blind", 20)
        self.wait_for_end("blind", namespace=TEAM)

        # What the notes ask an administrator for: then jobs show their progress.
        [command] = [line for line in told.replace("\\\n", " ").splitlines() if "clusterrolebinding" in line]
        kubectl(*command.split()[1:])
        self.make("seen", MORE_STEPS_THAN_ARE_MADE)
        wait_until("seen makes steps", lambda: self.status("seen", TEAM).get("progress", {}).get("step", 0) > 0)

        for name in ("blind", "seen"):
            kubectl("--context", "user", "delete", "ltj", name, "--namespace", TEAM)
            self.leaves_nothing(name, TEAM)
        run("uninstall", "--wait", namespace=TEAM, user="user")
        wait_until("no operator is left", lambda: not self.living_operators(TEAM))


if __name__ == "__main__":
    unittest.main(verbosity=2)
