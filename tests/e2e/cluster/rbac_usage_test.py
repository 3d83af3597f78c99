"""A right that nobody used, and a request that no right covers, are both told."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import rbac_usage

ACCOUNT = "caravan-system/caravan-operator"
GROUP = "rbac.authorization.k8s.io"


def role(kind: str, name: str, *rules: dict, namespace: str = "") -> dict:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def binding(kind: str, role_kind: str, name: str, account: str = ACCOUNT, namespace: str = "") -> dict:
    of, who = account.split("/")
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": of, "name": who}],
    }


def rule(group: str, resource: str, *verbs: str, names: tuple[str, ...] = ()) -> dict:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs), "resourceNames": list(names)}


def request(verb: str, resource: str, account: str = ACCOUNT, allowed: bool = True, **target: str) -> str:
    return json.dumps(
        {
            "verb": verb,
            "user": {"username": "system:serviceaccount:" + account.replace("/", ":")},
            "objectRef": {"resource": resource} | target,
            "annotations": {"authorization.k8s.io/decision": "allow" if allowed else "forbid"},
        }
    )


PODS = [
    role("ClusterRole", "operator", rule("", "pods", "list", "create")),
    binding("ClusterRoleBinding", "ClusterRole", "operator"),
]
LEASES = [
    role("Role", "leases", rule("coordination.k8s.io", "leases", "update", names=("mine",)), namespace="system"),
    binding("RoleBinding", "Role", "leases", namespace="system"),
]
LIST, CREATE = request("list", "pods"), request("create", "pods", namespace="team")


class RbacUsage(unittest.TestCase):
    def complaints(self, objects: list[dict], *log: str) -> list[str]:
        return rbac_usage.complaints(rbac_usage.rights_of(ACCOUNT, objects), rbac_usage.requests_of(ACCOUNT, log))

    def test_a_request_of_nobody_counts_for_nobody(self):
        refused = json.dumps({"verb": "list", "user": {}, "objectRef": {"resource": "pods"}})
        self.assertEqual([], self.complaints(PODS, LIST, CREATE, refused))

    def test_rights_that_were_all_used_are_good(self):
        self.assertEqual([], self.complaints(PODS, LIST, CREATE))

    def test_a_right_that_was_never_used_is_told(self):
        self.assertEqual(["granted and never used: create pods"], self.complaints(PODS, LIST))

    def test_a_request_without_a_right_is_told_once(self):
        refused = request("delete", "pods", namespace="team", name="a", allowed=False)
        again = request("delete", "pods", namespace="team", name="b", allowed=False)
        told = ["used and not granted: delete pods in team, which was refused"]
        self.assertEqual(told, self.complaints(PODS, LIST, CREATE, refused, again))

    def test_a_subresource_is_another_resource(self):
        status = request("create", "pods", subresource="status", namespace="team")
        told = ["granted and never used: create pods", "used and not granted: create pods/status in team"]
        self.assertEqual(told, self.complaints(PODS, LIST, status))

    def test_a_role_holds_in_its_namespace_and_for_the_names_that_it_has(self):
        def update(namespace: str, name: str) -> str:
            return request("update", "leases", apiGroup="coordination.k8s.io", namespace=namespace, name=name)

        self.assertEqual([], self.complaints(LEASES, update("system", "mine")))
        for elsewhere in (update("team", "mine"), update("system", "theirs")):
            self.assertEqual(2, len(self.complaints(LEASES, elsewhere)))

    def test_a_cluster_role_that_is_bound_in_a_namespace_holds_there(self):
        bound = [PODS[0], binding("RoleBinding", "ClusterRole", "operator", namespace="team")]
        told = ["granted and never used: list pods in team", "used and not granted: list pods"]
        self.assertEqual(told, self.complaints(bound, LIST, CREATE))

    def test_what_others_may_and_do_does_not_count(self):
        theirs = [PODS[0], binding("ClusterRoleBinding", "ClusterRole", "operator", account="team/other")]
        self.assertEqual([], self.complaints(theirs, request("list", "pods", account="team/other")))

    def test_the_right_that_only_an_admission_plugin_asks_for_needs_no_request(self):
        finalizers = role("ClusterRole", "f", rule("training.caravan.dev", "llamatrainingjobs/finalizers", "update"))
        self.assertEqual([], self.complaints([finalizers, binding("ClusterRoleBinding", "ClusterRole", "f")]))

    def test_rights_on_a_system_that_the_cluster_is_without_need_no_request(self):
        workloads = role("ClusterRole", "w", rule("kueue.x-k8s.io", "workloads", "create", "delete"))
        rights = [workloads, binding("ClusterRoleBinding", "ClusterRole", "w")]
        self.assertEqual([], self.complaints(rights))
        absent = json.loads(request("list", "workloads", apiGroup="kueue.x-k8s.io")) | {"responseStatus": {"code": 404}}
        self.assertEqual([], self.complaints(rights, json.dumps(absent)))
        create = request("create", "workloads", apiGroup="kueue.x-k8s.io", namespace="team")
        self.assertEqual(["granted and never used: delete workloads (kueue.x-k8s.io)"], self.complaints(rights, create))

    def test_priorities_of_pods_are_asked_for_beside_kueue_only(self):
        priorities = role("ClusterRole", "p", rule("scheduling.k8s.io", "priorityclasses", "list"))
        rights = [priorities, binding("ClusterRoleBinding", "ClusterRole", "p")]
        self.assertEqual([], self.complaints(rights))
        create = request("create", "workloads", apiGroup="kueue.x-k8s.io", namespace="team")
        self.assertIn("granted and never used: list priorityclasses (scheduling.k8s.io)", self.complaints(rights, create))


class CommandLine(unittest.TestCase):
    def run_on(self, objects: list[dict], *log: str) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            rights, requests = Path(folder, "rights.json"), Path(folder, "audit.log")
            rights.write_text(json.dumps({"items": objects}))
            requests.write_text("".join(line + "\n" for line in log))
            return rbac_usage.main([str(requests), str(rights), ACCOUNT]), said.getvalue()

    def test_it_fails_with_what_is_wrong(self):
        self.assertEqual((1, "granted and never used: create pods\n"), self.run_on(PODS, LIST))

    def test_it_says_that_all_is_well(self):
        status, said = self.run_on(PODS, LIST, CREATE)
        self.assertEqual(0, status)
        self.assertIn("used each of its 2 rights", said)

    def test_an_account_without_rights_is_a_mistake(self):
        self.assertEqual((1, f"no binding gives a right to {ACCOUNT}\n"), self.run_on([]))


if __name__ == "__main__":
    unittest.main()
