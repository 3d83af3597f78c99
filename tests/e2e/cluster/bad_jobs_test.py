"""What keeps a job from starting stands in its conditions, and the job starts when the cause is gone."""

import unittest

from cluster import NAMESPACE, PATIENCE_SECONDS, ClusterTest, apply, kubectl, script, small_job, taking_turns, wait_until
from volume import corpus_claim, corpus_volume

TOLD_WITHIN_SECONDS = 30  # what users are promised
STEPS = 3


@taking_turns(3)
class BadJobs(ClusterTest):
    def is_told(self, name, kind, *words, namespace=NAMESPACE, seconds=TOLD_WITHIN_SECONDS):
        def told():
            condition = self.condition(name, kind, namespace)
            return condition["status"] == "False" and all(word in condition["message"] for word in words)
        try:
            wait_until(f"{kind} tells of {words}", told, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says: {self.condition(name, kind, namespace)}") from None

    def heals(self, name, namespace=NAMESPACE):
        self.assertEqual(self.wait_for_end(name, namespace=namespace)["restarts"], 0)
        kubectl("delete", "ltj", name, "--namespace", namespace)

    def test_a_job_that_does_not_fit_is_told_what_would(self):
        apply(small_job("large", STEPS, model={"preset": "llama3-8b"}))
        self.is_told("large", "Planned", "devices")
        self.assertEqual(self.condition("large", "Planned")["reason"], "DoesNotFit")
        self.assertEqual(self.wait_for_end("large", "Failed")["state"], "Failed")
        self.assertEqual(self.children("large"), [])
        kubectl("delete", "ltj", "large", "--namespace", NAMESPACE)

    def test_an_image_that_cannot_be_pulled(self):
        image = "nowhere.invalid/caravan-worker:none"
        apply(small_job("image", STEPS, worker={"image": image}))
        self.is_told("image", "Running", image)
        script("sh", "ctr", "-n", "k8s.io", "images", "tag", self.worker_image(), image)
        self.heals("image")

    def worker_image(self):
        environment = kubectl("get", "deployment", "caravan-operator", "--namespace", "caravan-system", "-o",
                              "jsonpath={.spec.template.spec.containers[0].env[?(@.name=='CARAVAN_WORKER_IMAGE')].value}")
        names = script("sh", "ctr", "-n", "k8s.io", "images", "list", "-q").split()
        return next(name for name in names if name.endswith(environment))

    def test_a_volume_that_is_missing(self):
        apply(small_job("volume", STEPS, data={"claimName": "later", "path": "kjv.bin"}))
        self.is_told("volume", "Scheduled", "later")
        apply(corpus_volume("later"), corpus_claim("later", NAMESPACE))
        self.heals("volume")

    def test_a_node_that_is_too_small(self):
        apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "occupant", "namespace": "default"},
               "spec": {"containers": [{"name": "pause", "image": "caravan.local/pause:1",
                                        "resources": {"requests": {"memory": self.most_of_the_node()}}}]}})
        kubectl("wait", "--for=condition=PodScheduled", "pod/occupant", "--namespace", "default", "--timeout=60s")
        apply(small_job("node", STEPS, worker={"resources": {"memory": "600Mi"}}))
        self.is_told("node", "Scheduled", "Insufficient memory")
        kubectl("delete", "pod", "occupant", "--namespace", "default", "--grace-period=1")
        self.heals("node")

    def most_of_the_node(self):
        nodes = self.api.items("api/v1/nodes")
        allocatable = nodes[0]["status"]["allocatable"]["memory"]
        self.assertTrue(allocatable.endswith("Ki"))
        return f"{int(allocatable[:-2]) - 900 * 1024}Ki"

    def test_a_quota_that_is_used_up(self):
        kubectl("create", "namespace", "narrow")
        apply(corpus_volume("narrow"), corpus_claim("narrow", "narrow"),
              {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods", "namespace": "narrow"},
               "spec": {"hard": {"pods": "1"}}})
        wait_until("the quota is counted", lambda: self.api.get(
            "api/v1/namespaces/narrow/resourcequotas/pods")["status"].get("used"))
        job = small_job("quota", STEPS, data={"claimName": "narrow", "path": "kjv.bin"})
        job["metadata"]["namespace"] = "narrow"
        apply(job)
        self.is_told("quota", "Scheduled", "exceeded quota", namespace="narrow")
        kubectl("delete", "resourcequota", "pods", "--namespace", "narrow")
        self.heals("quota", "narrow")
        kubectl("delete", "namespace", "narrow")

    def test_objects_of_others_under_the_names_of_the_job_are_left_alone(self):
        names = {"serviceaccounts": "foreign", "networkpolicies": "foreign", "services": "foreign",
                 "configmaps": "foreign-plan", "pods": "foreign-0-a1"}
        apply(*(self.foreign(kind, name) for kind, name in names.items()))
        apply(small_job("foreign", STEPS))
        for kind, name in names.items():
            self.is_told("foreign", "Scheduled", f"{kind}/{name}", seconds=PATIENCE_SECONDS)
            kubectl("delete", kind, name, "--namespace", NAMESPACE, "--grace-period=0", "--force")
        self.heals("foreign")

    @staticmethod
    def foreign(kind, name):
        """The least that the API server takes."""
        api, spec = {"serviceaccounts": ("v1/ServiceAccount", None),
                     "networkpolicies": ("networking.k8s.io/v1/NetworkPolicy", {"podSelector": {}}),
                     "services": ("v1/Service", {"ports": [{"port": 1}]}),
                     "configmaps": ("v1/ConfigMap", None),
                     "pods": ("v1/Pod", {"nodeSelector": {"no": "node"}, "containers": [{
                         "name": "c", "image": "caravan.local/pause:1", "securityContext": {
                             "runAsNonRoot": True, "runAsUser": 65532, "allowPrivilegeEscalation": False,
                             "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}]})}[kind]
        version, _, name_of_kind = api.rpartition("/")
        made = {"apiVersion": version, "kind": name_of_kind, "metadata": {"name": name, "namespace": NAMESPACE}}
        return made if spec is None else {**made, "spec": spec}

    def test_a_finished_job_goes_when_its_time_is_over(self):
        apply(small_job("brief", STEPS, ttlSecondsAfterFinished=1))
        wait_until("the job is gone", lambda: self.job("brief") == {})
        self.leaves_nothing("brief")


if __name__ == "__main__":
    unittest.main(verbosity=2)
