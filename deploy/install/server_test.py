"""What a real API server makes of the manifests. KUBECONFIG: its administrator."""

import json
import os
import unittest
from pathlib import Path

import install
from api_server import APPLY, Answer, ApiServer
from installed import apply_all
from manifest_text import documents_of

CLUSTER, NAMESPACE = "caravan-system", "caravan-jobs"  # where the operators of the two variants live

JOBS = ("training.caravan.dev", "llamatrainingjobs", "")
STATUS = ("training.caravan.dev", "llamatrainingjobs", "status")
PODS = ("", "pods", "")
CONFIG_MAPS = ("", "configmaps", "")
SECRETS = ("", "secrets", "")
NODES = ("", "nodes", "")
REVIEWS = ("authentication.k8s.io", "tokenreviews", "")
LEASES = ("coordination.k8s.io", "leases", "")


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Which fails unless the server accepts every object as it is."""
        cls.server = ApiServer(Path(os.environ["KUBECONFIG"]))
        cls.addClassCleanup(cls.server.close)
        cls.server.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        cls.objects = {CLUSTER: apply_all(cls.server), NAMESPACE: apply_all(cls.server, "--namespaced")}

    def one(self, kind: str, variant: str = CLUSTER) -> dict:
        found = [candidate for candidate in self.objects[variant] if candidate["kind"] == kind]
        self.assertEqual(1, len(found))
        return found[0]

    def may(self, operator: str, verb: str, what: tuple[str, str, str], where: str = "", name: str = "") -> bool:
        group, resource, subresource = what
        attributes = {"group": group, "resource": resource, "subresource": subresource, "name": name}
        attributes |= {"verb": verb, "namespace": where}
        review = {"user": f"system:serviceaccount:{operator}:caravan-operator", "resourceAttributes": attributes}
        answer = self.server.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": review})
        self.assertEqual(201, answer.status, answer.message())
        return answer.body["status"]["allowed"]

    def try_pod(self, template: dict) -> Answer:
        pod = {"metadata": {"name": "try", "labels": template["metadata"]["labels"]}, "spec": template["spec"]}
        return self.server.post(f"/api/v1/namespaces/{CLUSTER}/pods?dryRun=All", pod)

    def test_no_right_has_a_wildcard(self):
        for objects in self.objects.values():
            rules = [rule for applied in objects for rule in applied.get("rules", ())]
            self.assertGreater(len(rules), 5)
            self.assertNotIn("*", json.dumps(rules))

    def test_whatever_selects_the_operator_finds_its_pods(self):
        spec = self.one("Deployment")["spec"]
        labels = spec["template"]["metadata"]["labels"].items()
        for selector in (
            spec["selector"]["matchLabels"],
            self.one("Service")["spec"]["selector"],
            self.one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
            self.one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        ):
            self.assertLessEqual(selector.items(), labels)

    def test_the_operator_passes_the_restricted_standard(self):
        answer = self.try_pod(self.one("Deployment")["spec"]["template"])
        self.assertEqual(201, answer.status, answer.message())

    def test_a_platform_that_assigns_users_is_asked_for_none(self):
        wanted = ["--assigned-users", "--dns=10.0.0.10/32", "--agent-patience-seconds=60"]
        manifest = install.manifest("--set", "assignedUsers=true,workers.dns={10.0.0.10/32},workers.agentPatienceSeconds=60")
        deployment = next(document for document in documents_of(manifest) if document.kind == "Deployment")
        answer = self.server.call("PATCH", f"{deployment.path()}?fieldManager=test&dryRun=All", deployment.text, APPLY)
        self.assertEqual(200, answer.status, answer.message())
        pod = answer.body["spec"]["template"]["spec"]
        self.assertEqual({"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}, pod["securityContext"])
        self.assertLessEqual(set(wanted), set(pod["containers"][0]["args"]))

    def test_its_namespace_refuses_what_does_not_pass_that(self):
        template = json.loads(json.dumps(self.one("Deployment")["spec"]["template"]))
        del template["spec"]["containers"][0]["securityContext"]
        answer = self.try_pod(template)
        self.assertEqual(403, answer.status)
        self.assertIn('violates PodSecurity "restricted', answer.message())

    def test_the_operator_may_do_its_work_in_every_namespace(self):
        for verb, what in (
            ("watch", JOBS), ("patch", STATUS), ("create", PODS), ("delete", PODS), ("create", SECRETS), ("delete", CONFIG_MAPS)
        ):
            self.assertTrue(self.may(CLUSTER, verb, what, where="team"), f"{verb} {what}")
        self.assertTrue(self.may(CLUSTER, "list", NODES))
        self.assertTrue(self.may(CLUSTER, "create", REVIEWS))

    def test_the_operator_may_not_read_secrets_nor_act_for_others(self):
        for verb, what in (
            ("get", SECRETS),
            ("list", SECRETS),
            ("delete", SECRETS),
            ("patch", PODS),
            ("create", ("", "pods", "exec")),
            ("create", ("", "serviceaccounts", "token")),
            ("create", ("rbac.authorization.k8s.io", "rolebindings", "")),
            ("update", JOBS),
            ("update", NODES),
        ):
            self.assertFalse(self.may(CLUSTER, verb, what, where="team"), f"{verb} {what}")

    def test_of_all_leases_the_operator_may_take_its_own(self):
        self.assertTrue(self.may(CLUSTER, "create", LEASES, where=CLUSTER))
        self.assertTrue(self.may(CLUSTER, "update", LEASES, where=CLUSTER, name="caravan-operator"))
        self.assertFalse(self.may(CLUSTER, "update", LEASES, where=CLUSTER, name="another"))
        self.assertFalse(self.may(CLUSTER, "get", LEASES, where="kube-system", name="caravan-operator"))

    def test_a_namespaced_operator_may_do_its_work_there_and_nowhere_else(self):
        for verb, what in (("watch", JOBS), ("create", PODS)):
            self.assertTrue(self.may(NAMESPACE, verb, what, where=NAMESPACE), f"{verb} {what}")
            self.assertFalse(self.may(NAMESPACE, verb, what, where="team"), f"{verb} {what}")
            self.assertFalse(self.may(NAMESPACE, verb, what), f"{verb} {what}")

    def test_of_the_cluster_a_namespaced_operator_may_only_have_tokens_reviewed(self):
        self.assertTrue(self.may(NAMESPACE, "create", REVIEWS))
        self.assertFalse(self.may(NAMESPACE, "list", NODES))

    def test_a_namespaced_operator_serves_its_own_namespace_and_reads_no_nodes(self):
        container = self.one("Deployment", NAMESPACE)["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual([f"--namespace={NAMESPACE}", "--read-nodes=false"], container["args"])

    def test_whoever_may_edit_or_view_a_namespace_may_do_so_with_its_jobs(self):
        roles = {role["metadata"]["name"]: role for role in self.objects[CLUSTER] if role["kind"] == "ClusterRole"}
        for role, ours in (("admin", "edit"), ("edit", "edit"), ("view", "view")):
            answer = self.server.call("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}")
            selected = answer.body["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"]
            self.assertLessEqual(selected.items(), roles[f"caravan-jobs-{ours}"]["metadata"]["labels"].items())


if __name__ == "__main__":
    unittest.main()
