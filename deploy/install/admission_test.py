"""Whom the admission policies of the manifests let do what, and how the API server sorts the operator's calls.

KUBECONFIG: the administrator of a real API server. Users are impersonated; what passes is tried out, not kept.
"""

import json
import os
import unittest
import uuid
from pathlib import Path

import install
from api_server import Answer, ApiServer
from installed import apply_all, wait_until
from manifest_text import documents_of

CHILDREN = Path(__file__).resolve().parents[2] / "operator/children/testdata"
OPERATOR = "system:serviceaccount:caravan-system:caravan-operator"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FORBIDDEN = 403
MERGE = "application/merge-patch+json"
JOBS = ("training.caravan.dev", "llamatrainingjobs", ("create", "update", "patch"))
MAKE_PODS = ("", "pods", ("create",))


def job(name: str, **worker: object) -> dict:
    return {
        "apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": name},
        "spec": {
            "model": {"preset": "llama-tiny"}, "data": {"path": "train.bin"},
            "training": {"steps": 10, "sequenceLength": 64, "globalBatchSequences": 8},
            "resources": {"devices": 2, "devicesPerNode": 2, "device": {"kind": "CPU", "memory": "4Gi"}},
            "worker": worker,
        },
    }  # fmt: skip


class OnAServer(unittest.TestCase):
    """Each test has a namespace and a user of its own."""

    @classmethod
    def setUpClass(cls):
        cls.server = ApiServer(Path(os.environ["KUBECONFIG"]))
        cls.addClassCleanup(cls.server.close)
        apply_all(cls.server)

    def setUp(self):
        self.namespace = self.user = f"admission-{uuid.uuid4().hex[:8]}"
        self.server.post("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.jobs = f"/apis/training.caravan.dev/v1alpha1/namespaces/{self.namespace}/llamatrainingjobs"

    def passes(self, answer: Answer) -> None:
        self.assertIn(answer.status, (200, 201), answer.message())

    def is_refused(self, answer: Answer, why: str) -> None:
        self.assertEqual(FORBIDDEN, answer.status, answer.message())
        self.assertIn(why, answer.message())


class JobAdmission(OnAServer):
    def setUp(self):
        super().setUp()
        self.grant(JOBS)
        wait_until("role and policy act", lambda: "may not create pods" in self.create(job("a")).message())

    def grant(self, *rules: tuple, name: str = "", in_cluster: bool = False) -> None:
        kind, at = ("ClusterRole", RBAC) if in_cluster else ("Role", f"{RBAC}/namespaces/{self.namespace}")
        metadata = {"name": f"{self.user}-{uuid.uuid4().hex[:8]}"}
        role = {"metadata": metadata, "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": verbs} | ({"resourceNames": [name]} if name else {})
            for group, resource, verbs in rules
        ]}  # fmt: skip
        binding = {
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["name"]},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": self.user}],
        }
        for plural, body in ((f"{kind.lower()}s", role), (f"{kind.lower()}bindings", binding)):
            answer = self.server.post(f"{at}/{plural}", body)
            self.passes(answer)

    def create(self, what: dict) -> Answer:
        return self.server.post(f"{self.jobs}?dryRun=All", what, self.user)

    def change(self, name: str, spec: dict) -> Answer:
        return self.server.call("PATCH", f"{self.jobs}/{name}?dryRun=All", json.dumps({"spec": spec}), MERGE, self.user)

    def waits_for(self, answer_of) -> None:
        """Authorisation hears of new roles a moment later."""
        wait_until("the role is known", lambda: answer_of().status in (200, 201))

    def test_who_may_not_create_pods_may_not_create_a_job(self):
        self.is_refused(self.create(job("a")),
                        f"{self.user} may not create pods in the namespace {self.namespace}, which a job does in their name")
        self.grant(MAKE_PODS)
        self.waits_for(lambda: self.create(job("a")))

    def test_the_account_that_a_job_names_must_be_visible_to_its_creator(self):
        self.grant(MAKE_PODS)
        self.waits_for(lambda: self.create(job("a")))
        named = job("a", serviceAccountName="trainer")
        self.is_refused(self.create(named), f"{self.user} may not get the ServiceAccount trainer")
        self.grant(("", "serviceaccounts", ("get",)), name="another")
        self.is_refused(self.create(named), f"{self.user} may not get the ServiceAccount trainer")
        self.grant(("", "serviceaccounts", ("get",)), name="trainer")
        self.waits_for(lambda: self.create(named))

    def test_the_claims_that_a_job_names_must_be_visible_to_its_creator(self):
        self.grant(MAKE_PODS)
        self.grant(("", "persistentvolumeclaims", ("get",)), name="corpus")
        named = job("a")
        named["spec"]["data"]["claimName"] = "corpus"
        self.waits_for(lambda: self.create(named))
        for claim, part in (("states", {"checkpoint": {"path": "states", "claimName": "states"}}),
                            ("weights", {"model": {"preset": "llama-tiny", "initFrom": {"path": "w", "claimName": "weights"}}})):
            named["spec"] |= part
            self.is_refused(self.create(named), f"{self.user} may not get the PersistentVolumeClaim {claim} that the job names")
            self.grant(("", "persistentvolumeclaims", ("get",)), name=claim)
            self.waits_for(lambda: self.create(named))
        named["spec"]["data"]["claimName"] = "others"
        self.is_refused(self.create(named), f"{self.user} may not get the PersistentVolumeClaim others that the job names")

    def test_a_priority_class_needs_the_right_to_use_it_here_or_everywhere(self):
        self.grant(MAKE_PODS, ("scheduling.k8s.io", "priorityclasses", ("get", "list")))
        self.waits_for(lambda: self.create(job("a")))
        for in_cluster, name in ((False, "high"), (True, "higher")):
            named = job("a", priorityClassName=name)
            self.is_refused(self.create(named), f"{self.user} may not use the PriorityClass {name}")
            self.grant(("scheduling.k8s.io", "priorityclasses", ("use",)), name=name, in_cluster=in_cluster)
            self.waits_for(lambda named=named: self.create(named))

    def test_further_claims_are_judged_like_those_of_data(self):
        self.grant(MAKE_PODS)
        volume = lambda name: {"name": name, "claimName": name, "mountPath": f"/mnt/{name}"}  # noqa: E731
        one = job("a", volumes=[volume("models")])
        self.waits_for(lambda: self.create(job("a")))
        self.is_refused(self.create(one), f"{self.user} may not get the PersistentVolumeClaim models that the job names")
        many = job("a", volumes=[volume(name) for name in ("models", "a", "b", "c")])
        self.grant(("", "persistentvolumeclaims", ("get",)), name="models")
        self.waits_for(lambda: self.create(one))
        for name in ("a", "b", "c"):
            self.grant(("", "persistentvolumeclaims", ("get",)), name=name)
        wait_until("the claims are known", lambda: "may not get every" in self.create(many).message())
        self.grant(("", "persistentvolumeclaims", ("get",)))
        self.waits_for(lambda: self.create(many))

    def test_the_secrets_and_config_maps_of_variables_must_be_visible_to_the_jobs_creator(self):
        self.grant(MAKE_PODS)
        self.waits_for(lambda: self.create(job("a")))
        for plural, kind, field in (("secrets", "Secret", "secretKey"), ("configmaps", "ConfigMap", "configMapKey")):
            reads = lambda name, field=field: {"name": f"A_{name.upper()}", field: {"name": name, "key": "k"}}  # noqa: E731
            one, two = job("a", env=[reads("mine")]), job("a", env=[reads("mine"), reads("yours")])
            self.is_refused(self.create(one), f"{self.user} may not get the {kind} mine")
            self.grant(("", plural, ("get",)), name="mine")
            self.waits_for(lambda one=one: self.create(one))
            self.is_refused(self.create(two), f"and on all {plural} for several")
            self.grant(("", plural, ("get",)))
            self.waits_for(lambda two=two: self.create(two))

    def test_the_network_of_nodes_is_for_namespaces_that_an_administrator_has_labelled(self):
        self.grant(MAKE_PODS)
        self.waits_for(lambda: self.create(job("a")))
        asks = job("a", hostNetwork=True)
        self.is_refused(self.create(asks), "has no label training.caravan.dev/host-network=enabled")
        label = json.dumps({"metadata": {"labels": {"training.caravan.dev/host-network": "enabled"}}})
        self.passes(self.server.call("PATCH", f"/api/v1/namespaces/{self.namespace}", label, MERGE))
        self.waits_for(lambda: self.create(asks))

    def test_a_queueing_system_may_suspend_resume_and_place_a_job_and_nothing_else(self):
        named = job("a", serviceAccountName="trainer", priorityClassName="high")
        named["spec"] |= {"suspend": True, "data": {"path": "train.bin", "claimName": "corpus"}}
        self.passes(self.server.post(self.jobs, named))
        place = {"nodeSelector": {"rack": "r1"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
        self.grant(("training.caravan.dev", "llamatrainingjobs", ("place",)))
        self.waits_for(lambda: self.change("a", {"suspend": False, "worker": place}))
        self.passes(self.change("a", {"scheduling": {"gang": {"timeoutSeconds": 60}}}))
        for spec in ({"worker": {"image": "mine"}}, {"worker": {"env": [{"name": "A", "value": "b"}]}},
                     {"activeDeadlineSeconds": 1}, {"failurePolicy": {"maxRestarts": 0}}):
            self.is_refused(self.change("a", spec), f"{self.user} may not create pods")

    def test_who_may_change_a_job_alone_may_neither_suspend_nor_resume_nor_place_it(self):
        self.passes(self.server.post(self.jobs, job("runs")))
        waiting = job("waits")
        waiting["spec"]["suspend"] = True
        self.passes(self.server.post(self.jobs, waiting))
        self.grant(("training.caravan.dev", "llamatrainingjobs", ("place",)), name="another")
        for name, spec in (("runs", {"suspend": True}), ("waits", {"suspend": False}),
                           ("waits", {"worker": {"nodeSelector": {"rack": "r1"}}}),
                           ("waits", {"worker": {"tolerations": [{"operator": "Exists"}]}}),
                           ("waits", {"scheduling": {"gang": {"timeoutSeconds": 60}}})):
            self.is_refused(self.change(name, spec), f"{self.user} may not create pods")

    def test_a_change_is_judged_by_what_is_named_newly(self):
        named = job("a", serviceAccountName="trainer", priorityClassName="high")
        named["spec"] |= {"suspend": True, "data": {"path": "train.bin", "claimName": "corpus"}}
        self.passes(self.server.post(self.jobs, named))
        self.grant(MAKE_PODS)
        self.waits_for(lambda: self.change("a", {"worker": {"image": "mine"}}))
        self.is_refused(self.change("a", {"worker": {"serviceAccountName": "admin"}}),
                        f"{self.user} may not get the ServiceAccount admin")
        self.is_refused(self.change("a", {"worker": {"priorityClassName": "higher"}}),
                        f"{self.user} may not use the PriorityClass higher")

    def test_labels_finalizers_and_the_status_are_no_change_of_the_job(self):
        self.passes(self.server.post(self.jobs, job("a")))
        self.grant(("training.caravan.dev", "llamatrainingjobs/status", ("patch",)))
        metadata = json.dumps({"metadata": {"labels": {"a": "b"}, "finalizers": ["example.org/x"]}})
        path = f"{self.jobs}/a?dryRun=All"
        self.waits_for(lambda: self.server.call("PATCH", path, metadata, MERGE, self.user))
        status = json.dumps({"status": {"attempt": 1}})
        self.passes(self.server.call("PATCH", f"{self.jobs}/a/status?dryRun=All", status, MERGE, self.user))

    def test_a_job_that_holds_quota_keeps_the_queue_that_its_label_names(self):
        path, label = f"{self.jobs}/a", "kueue.x-k8s.io/queue-name"
        queued = job("a")
        queued["metadata"]["labels"] = {label: "team-a"}
        self.passes(self.server.post(self.jobs, queued))
        change = lambda **what: self.server.call("PATCH", f"{path}?dryRun=All", json.dumps(what), MERGE)  # noqa: E731
        name = lambda queue: {"labels": {label: queue}}  # noqa: E731
        report = lambda **status: self.passes(  # noqa: E731
            self.server.call("PATCH", f"{path}/status", json.dumps({"status": status}), MERGE))
        self.passes(change(metadata=name("team-b")))
        report(gang={"admitted": True})
        for queue in ("team-b", "", None):
            refused = change(metadata=name(queue))
            self.assertEqual(422, refused.status, refused.message())
            self.assertIn(f"the label {label}: the job holds quota of the queue that it names", refused.message())
        self.assertEqual(422, change(metadata=name(None), spec={"suspend": True}).status, "its pods have not ended")
        self.passes(change(metadata={"labels": {"another": "label"}}))
        report(completionTime="2030-01-01T00:00:00Z")
        self.passes(change(metadata=name(None)))


class OperatorAdmission(OnAServer):
    def setUp(self):
        super().setUp()
        stray = {"metadata": {"name": "stray"}}
        wait_until("the policy acts", lambda: self.try_out("configmaps", stray).status == FORBIDDEN)

    def at(self, plural: str) -> str:
        root = "/apis/networking.k8s.io/v1" if plural == "networkpolicies" else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}"

    def child(self, file: str) -> dict:
        """What the operator makes, as its tests say."""
        made = json.loads((CHILDREN / f"{file}.json").read_text())
        made["metadata"]["namespace"] = self.namespace
        return made

    def secret(self, kind: str) -> dict:
        data = {"tls.crt": "", "tls.key": ""}
        return {"metadata": self.child("plan")["metadata"], "type": kind, "data": data}

    def try_out(self, plural: str, what: dict) -> Answer:
        return self.server.post(f"{self.at(plural)}?dryRun=All", what, OPERATOR)

    def test_it_may_make_the_children_of_jobs(self):
        self.server.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1})
        self.server.post("/apis/node.k8s.io/v1/runtimeclasses", {"metadata": {"name": "nvidia"}, "handler": "nvidia"})
        for plural, file in (("pods", "pod_0"), ("pods", "pod_1_rich"), ("pods", "pod_1_gpus"),
                             ("configmaps", "plan"), ("services", "service"), ("serviceaccounts", "service_account"),
                             ("networkpolicies", "network_policy")):
            self.passes(self.try_out(plural, self.child(file)))
        self.passes(self.try_out("secrets", self.secret("training.caravan.dev/certificates")))

    def test_it_may_make_nothing_that_no_job_controls(self):
        owner = self.child("plan")["metadata"]["ownerReferences"][0]
        for owners in ([], [owner | {"kind": "Job", "apiVersion": "batch/v1"}], [owner | {"controller": False}]):
            for plural, file in (("pods", "pod_0"), ("configmaps", "plan"), ("services", "service"),
                                 ("serviceaccounts", "service_account"), ("networkpolicies", "network_policy")):
                stray = self.child(file)
                stray["metadata"]["ownerReferences"] = owners
                self.is_refused(self.try_out(plural, stray), "with the job as its controller, and nothing else")
        unlabelled = self.child("plan")
        unlabelled["metadata"]["labels"] = {}
        self.is_refused(self.try_out("configmaps", unlabelled), "with the job as its controller, and nothing else")

    def test_it_may_neither_change_nor_delete_what_is_not_a_jobs(self):
        foreign = {"metadata": {"name": "foreign"}, "data": {"a": "b"}}
        self.passes(self.server.post(self.at("configmaps"), foreign))
        mine = self.child("plan") | {"apiVersion": "v1", "kind": "ConfigMap"}
        mine["metadata"]["name"] = "foreign"
        taken = self.server.call("PATCH", f"{self.at('configmaps')}/foreign?dryRun=All", json.dumps(mine), MERGE, OPERATOR)
        self.is_refused(taken, "and nothing else")
        pod = {"metadata": {"name": "foreign"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        self.passes(self.server.post(self.at("pods"), pod))
        deleted = self.server.call("DELETE", f"{self.at('pods')}/foreign?dryRun=All", user=OPERATOR)
        self.is_refused(deleted, "and nothing else")

    def test_it_may_change_and_delete_what_is_a_jobs(self):
        self.passes(self.server.post(self.at("configmaps"), self.child("plan")))
        self.passes(self.server.post(self.at("pods"), self.child("pod_0")))
        plan, pod = (self.child(file)["metadata"]["name"] for file in ("plan", "pod_0"))
        data = json.dumps({"data": {"a": "b"}})
        self.passes(self.server.call("PATCH", f"{self.at('configmaps')}/{plan}?dryRun=All", data, MERGE, OPERATOR))
        for plural, name in (("pods", pod), ("configmaps", plan)):
            self.passes(self.server.call("DELETE", f"{self.at(plural)}/{name}?dryRun=All", user=OPERATOR))

    def test_its_pods_have_nothing_of_their_node(self):
        volume = {"name": "node", "hostPath": {"path": "/"}}
        for change in ({"hostNetwork": True}, {"hostPID": True}, {"hostIPC": True}, {"volumes": [volume]}):
            pod = self.child("pod_0")
            pod["spec"] = {"containers": [{"name": "a", "image": "a"}]} | change
            self.is_refused(self.try_out("pods", pod), "no pod that is privileged or has the namespaces or the folders")
        for kind in ("containers", "initContainers"):
            pod = self.child("pod_0")
            privileged = {"name": "a", "image": "a", "securityContext": {"privileged": True}}
            pod["spec"] = {"containers": [{"name": "b", "image": "b"}]} | {kind: [privileged]}
            self.is_refused(self.try_out("pods", pod), "no pod that is privileged")
        for more, why in (({"ports": [{"containerPort": 80, "hostPort": 80}]}, "no pod that is privileged or has the namespaces"),
                          ({"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "no pod with capabilities")):
            pod = self.child("pod_0")
            pod["spec"]["containers"][0] |= more
            self.is_refused(self.try_out("pods", pod), why)

    def test_its_pods_have_the_capabilities_that_a_service_mesh_adds(self):
        pod = self.child("pod_0")
        pod["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}}
        self.passes(self.try_out("pods", pod))

    def test_its_pods_have_no_token_for_the_api_server(self):
        pod = self.child("pod_0")
        pod["spec"]["automountServiceAccountToken"] = True
        self.is_refused(self.try_out("pods", pod), "no pod with a token that the API server takes")
        for audience in ({}, {"audience": "https://kubernetes.default.svc.cluster.local"}):
            pod = self.child("pod_0")
            token = {"serviceAccountToken": {"path": "token"} | audience}
            pod["spec"]["volumes"].append({"name": "more", "projected": {"sources": [token]}})
            self.is_refused(self.try_out("pods", pod), "no pod with a token that the API server takes")
        token["serviceAccountToken"]["audience"] = "sts.amazonaws.com"  # as webhooks of clouds add them
        self.passes(self.try_out("pods", pod))

    def test_its_pods_have_the_network_of_their_node_where_the_namespace_is_labelled(self):
        label = json.dumps({"metadata": {"labels": {"training.caravan.dev/host-network": "enabled"}}})
        self.passes(self.server.call("PATCH", f"/api/v1/namespaces/{self.namespace}", label, MERGE))
        pod = self.child("pod_0")
        pod["spec"] = {"containers": [{"name": "a", "image": "a"}], "hostNetwork": True, "automountServiceAccountToken": False}
        wait_until("the label is known", lambda: self.try_out("pods", pod).status == 201)
        for change in ({"hostPID": True}, {"securityContext": {"windowsOptions": {"hostProcess": True}}}):
            more = pod | {"spec": pod["spec"] | change}
            self.is_refused(self.try_out("pods", more), "no pod that is privileged or has the namespaces or the folders")

    def test_its_secrets_bring_nobodys_token(self):
        secret = self.secret("kubernetes.io/service-account-token")
        secret["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "default"}
        self.is_refused(self.try_out("secrets", secret), "of the type training.caravan.dev/certificates, and no other")

    def test_its_services_and_network_policies_open_nothing_else(self):
        service = self.child("service")
        service["spec"] = {"ports": [{"port": 443}], "externalIPs": ["192.0.2.1"]}
        self.is_refused(self.try_out("services", service), "Services without an address of their own")
        policy = self.child("network_policy")
        policy["spec"]["podSelector"] = {}
        self.is_refused(self.try_out("networkpolicies", policy), "for the pods of one job, and no other")

    def test_it_may_make_nothing_in_the_clusters_own_namespaces(self):
        self.namespace = "kube-system"
        self.is_refused(self.try_out("pods", self.child("pod_0")), "the cluster's own namespaces")

    def test_it_may_take_its_own_lease_and_no_other(self):
        leases = "/apis/coordination.k8s.io/v1/namespaces/caravan-system/leases"
        answer = self.server.post(f"{leases}?dryRun=All", {"metadata": {"name": "another"}}, OPERATOR)
        self.is_refused(answer, "its own Lease, and no other")
        mine = self.server.call("GET", f"{leases}/caravan-operator", user=OPERATOR)
        self.passes(mine)
        put = f"{leases}/caravan-operator?dryRun=All"
        self.passes(self.server.call("PUT", put, json.dumps(mine.body), user=OPERATOR))

    def test_it_may_delete_a_job_only_after_its_end_and_on_its_word(self):
        for name, ttl in (("kept", {}), ("brief", {"ttlSecondsAfterFinished": 0})):
            made = job(name)
            made["spec"] |= ttl
            self.passes(self.server.post(self.jobs, made))
        remove = lambda name: self.server.call("DELETE", f"{self.jobs}/{name}?dryRun=All", user=OPERATOR)  # noqa: E731
        for name in ("kept", "brief"):
            self.is_refused(remove(name), "may delete a job that has ended and has ttlSecondsAfterFinished")
            end = json.dumps({"status": {"completionTime": "2030-01-01T00:00:00Z"}})
            self.passes(self.server.call("PATCH", f"{self.jobs}/{name}/status", end, MERGE, OPERATOR))
        self.is_refused(remove("kept"), "may delete a job that has ended and has ttlSecondsAfterFinished")
        self.passes(remove("brief"))

    def test_others_are_not_bound(self):
        self.passes(self.server.post(f"{self.at('configmaps')}?dryRun=All", {"metadata": {"name": "stray"}}))


class ServiceCertificateAdmission(OnAServer):
    """Where an operator, here of one namespace, keeps the job service's certificate."""

    def setUp(self):
        super().setUp()
        self.operator = f"system:serviceaccount:{self.namespace}:caravan-operator"
        options = ("--namespaced", "--namespace", self.namespace, "--set",
                   "service.enabled=true,crds.enabled=false,clusterObjects.shared=false")
        for document in documents_of(install.manifest(*options)):
            if not document.namespace:
                self.addCleanup(self.server.call, "DELETE", document.path())
        apply_all(self.server, *options)
        self.root, self.secret = self.at("configmaps", "caravan-service-root"), self.at("secrets", "caravan-service-certificate")
        wait_until("the rights are known", lambda: self.put(self.root, {"data": {"ca.crt": "a"}}).status == 200)
        wait_until("the policy acts", lambda: self.change("stray").status == FORBIDDEN)

    def at(self, plural: str, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def put(self, path: str, change: dict) -> Answer:
        found = self.server.call("GET", path, user=self.operator)
        return self.server.call("PUT", f"{path}?dryRun=All", json.dumps(found.body | change), user=self.operator)

    def change(self, name: str) -> Answer:
        self.server.post(self.at("configmaps"), {"metadata": {"name": name}})
        path = f"{self.at('configmaps', name)}?dryRun=All"
        return self.server.call("PATCH", path, json.dumps({"data": {"a": "b"}}), MERGE, self.operator)

    def make(self, plural: str, what: dict) -> Answer:
        return self.server.post(f"{self.at(plural)}?dryRun=All", what, self.operator)

    def test_it_may_read_and_fill_these_two_and_no_other(self):
        self.passes(self.put(self.secret, {"data": {"tls.key": "a2V5"}}))
        self.passes(self.put(self.root, {"data": {"ca.crt": "root"}}))
        self.passes(self.server.post(self.at("secrets"), {"metadata": {"name": "others"}}))
        self.assertEqual(FORBIDDEN, self.server.call("GET", self.at("secrets", "others"), user=self.operator).status)
        self.assertEqual(FORBIDDEN, self.server.call("GET", self.at("secrets"), user=self.operator).status)
        self.is_refused(self.change("others"), "and nothing else")
        deleted = self.server.call("DELETE", f"{self.root}?dryRun=All", user=self.operator)
        self.is_refused(deleted, "and nothing else")

    def test_it_may_make_them_anew_and_no_other(self):
        for path in (self.root, self.secret):
            self.passes(self.server.call("DELETE", path))
        kind = {"type": "training.caravan.dev/certificates"}
        self.passes(self.make("secrets", {"metadata": {"name": "caravan-service-certificate"}} | kind))
        self.passes(self.make("configmaps", {"metadata": {"name": "caravan-service-root"}}))
        for plural, name in (("secrets", "another"), ("secrets", "caravan-service-root"), ("configmaps", "another"),
                             ("configmaps", "caravan-service-certificate")):
            self.is_refused(self.make(plural, {"metadata": {"name": name}} | (kind if plural == "secrets" else {})), "and nothing else")
        token = {"name": "caravan-service-certificate", "annotations": {"kubernetes.io/service-account.name": "default"}}
        self.is_refused(self.make("secrets", {"metadata": token, "type": "kubernetes.io/service-account-token"}),
                        "of the type training.caravan.dev/certificates, and no other")

    def test_everybody_who_is_known_may_read_whom_to_trust_and_nobody_the_key(self):
        self.passes(self.server.call("GET", self.root, user="anybody"))
        self.assertEqual(FORBIDDEN, self.server.call("GET", self.secret, user="anybody").status)


class FlowControl(OnAServer):
    def schema_of(self, path: str) -> str:
        """The name of the one that a call of the operator went into."""
        schemas = self.server.call("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas").body["items"]
        names = {schema["metadata"]["uid"]: schema["metadata"]["name"] for schema in schemas}
        return names[self.server.call("GET", path, user=OPERATOR).flow_schema]

    def goes_into(self, path: str, schema: str) -> None:
        wait_until(f"{path} goes into {schema}", lambda: self.schema_of(path) == schema)

    def test_its_lease_goes_with_those_of_other_leaders_and_all_else_into_a_level_of_its_own(self):
        lease = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/caravan-operator"
        self.goes_into(lease.format("caravan-system"), "caravan-operator-leader-election")
        self.goes_into(lease.format("default"), "caravan-operator")
        self.goes_into(f"/api/v1/namespaces/{self.namespace}/pods", "caravan-operator")
        self.goes_into("/api/v1/nodes", "caravan-operator")

    def test_both_schemas_have_their_level(self):
        for name in ("caravan-operator", "caravan-operator-leader-election"):
            at = f"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/{name}"
            def dangles(at: str = at) -> str:
                conditions = self.server.call("GET", at).body.get("status", {}).get("conditions", [])
                return next((each["status"] for each in conditions if each["type"] == "Dangling"), "")
            wait_until(f"{name} has its level", lambda dangles=dangles: dangles() == "False")


if __name__ == "__main__":
    unittest.main()
