"""What a real Kueue grants beside quota: admission checks, and domains of a topology; and jobs that it runs elsewhere."""

import datetime
import json
import unittest

import kueue
from cluster import MORE_STEPS_THAN_ARE_MADE, NAMESPACE, apply, kubectl, wait_until
from fake_nodes import FakeNodes
from queue_test import WORKLOADS, QueueTest, queued_job

CHECK = "budget"
RACK = "example.com/rack"
INDEX = "training.caravan.dev/topology-index"


class Checks(QueueTest):
    """The test plays the controller of an admission check."""

    def setUp(self):
        apply({"apiVersion": kueue.API, "kind": "AdmissionCheck", "metadata": {"name": CHECK},
               "spec": {"controllerName": "caravan.dev/test"}})
        self.addCleanup(kubectl, "delete", "admissioncheck", CHECK, "--wait=false")
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": self.now()}
        self.patch("admissioncheck", CHECK, {"conditions": [active]})
        cluster_queue, local_queue = kueue.queue("checked", "2Gi")
        cluster_queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
        apply(cluster_queue, local_queue)
        self.addCleanup(kubectl, "delete", "clusterqueue", "checked", "--wait=false")
        self.addCleanup(kubectl, "delete", "localqueue", "checked", "--namespace", NAMESPACE, "--wait=false")

    @staticmethod
    def now():
        return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def patch(kind, name, status):
        kubectl("patch", kind, name, "--namespace", NAMESPACE, "--subresource=status", "--type=merge", "--patch",
                json.dumps({"status": status}))

    def say(self, job, state, message):
        self.patch("workload", f"ltj-{job}", {"admissionChecks": [
            {"name": CHECK, "state": state, "message": message, "lastTransitionTime": self.now()}]})

    def test_a_job_waits_for_its_check_starts_waits_again_and_is_refused(self):
        self.submit(queued_job("asks", MORE_STEPS_THAN_ARE_MADE, "checked"))
        waits = f"; admission check {CHECK} is Pending"
        self.wait_for_condition("asks", "QuotaReserved", "True", waits)
        self.assertEqual(self.children("asks"), [])
        self.say("asks", "Pending", "two of four machines are up")
        self.wait_for_condition("asks", "QuotaReserved", "True", f"{waits}: two of four machines are up")
        self.say("asks", "Ready", "paid")
        self.wait_for_steps("asks")

        self.say("asks", "Retry", "the price has risen")
        self.wait_for_condition("asks", "Suspended", "True", "ByQueue")
        self.wait_for_condition("asks", "QuotaReserved", "True", waits)
        wait_until("its pods are gone", lambda: not self.children("asks"))
        self.say("asks", "Ready", "paid")
        self.wait_for_condition("asks", "Running", "True", "attempt 2")

        self.say("asks", "Rejected", "nothing is left")
        self.wait_for_condition("asks", "QuotaReserved", "False", "waits for spec.active to become true")
        self.assertIn(CHECK, self.condition("asks", "QuotaReserved")["message"])
        self.assertEqual(self.condition("asks", "Suspended")["reason"], "ByQueue")
        wait_until("its pods are gone again", lambda: not self.children("asks"))
        wait_until("no quota is in use", lambda: self.used("checked") == 0)
        self.assertEqual(self.status("asks")["restarts"], 0)


class Elsewhere(QueueTest):
    def test_a_job_of_multikueue_is_queued_and_left_alone(self):
        self.make_queue("both", memory="4Gi")
        self.submit(queued_job("remote", MORE_STEPS_THAN_ARE_MADE, "both", managedBy="kueue.x-k8s.io/multikueue"))
        wait_until("its Workload is there", lambda: self.api.get(f"{WORKLOADS}/ltj-remote"))
        wait_until("Kueue admits it", lambda: self.used("both") == 2)
        # Another job, from its creation to its end, is time enough to do what must not be done.
        self.submit(queued_job("local", 20, "both"))
        self.wait_for_end("local")
        self.assertEqual((self.children("remote"), self.status("remote")), ([], {}))


class Racks(QueueTest):
    """Four nodes in two racks, and two more in racks of their own, each with room for one pod."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        racks = ("a", "a", "b", "b", "c", "d")
        names = {f"fake-{number}": {"pool": "fake", RACK: rack, "kubernetes.io/hostname": f"fake-{number}"}
                 for number, rack in enumerate(racks)}
        cls.rack_of = {name: labels[RACK] for name, labels in names.items()}
        nodes = FakeNodes(names, cpu="250m", memory="1200Mi", pods="10", **{"ephemeral-storage": "64Gi"})
        cls.addClassCleanup(nodes.close)
        apply({"apiVersion": kueue.API, "kind": "Topology", "metadata": {"name": "racks"},
               "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]}},
              {"apiVersion": kueue.API, "kind": "ResourceFlavor", "metadata": {"name": "racked"},
               "spec": {"nodeLabels": {"pool": "fake"}, "topologyName": "racks"}})
        cls.addClassCleanup(kubectl, "delete", "topology", "racks", "--wait=false")
        cls.addClassCleanup(kubectl, "delete", "resourceflavor", "racked", "--wait=false")

    def setUp(self):
        cluster_queue, local_queue = kueue.queue("racked", "64Gi")
        cluster_queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "racked"
        apply(cluster_queue, local_queue)
        self.addCleanup(kubectl, "delete", "clusterqueue", "racked", "--wait=false")
        self.addCleanup(kubectl, "delete", "localqueue", "racked", "--namespace", NAMESPACE, "--wait=false")

    def submit_replicas(self, name, replicas, mode="Required"):
        """Each with a pipeline over two nodes, which must stand in one rack, or would rather."""
        device = {"kind": "CPU", "memory": "1Gi"}
        self.submit(queued_job(
            name, MORE_STEPS_THAN_ARE_MADE, "racked", scheduling={"topology": {"mode": mode, "key": RACK}},
            resources={"devices": 2 * replicas, "devicesPerNode": 1, "device": device},
            parallelism={"mode": "Manual", "tensor": 1, "pipeline": 2, "data": replicas}))

    @staticmethod
    def delete(name):
        """No kubelet ends its pods."""
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE, "--ignore-not-found", "--wait=false")
        kubectl("delete", "pods", "--namespace", NAMESPACE, "--selector", f"training.caravan.dev/job-name={name}",
                "--force", "--grace-period=0")

    def racks_of(self, name, pods):
        """Of the pods in the order of their replicas; nothing before all have a node."""
        found = sorted(self.children(name), key=lambda pod: int(pod["metadata"]["labels"][INDEX]))
        nodes = [pod["spec"].get("nodeName") for pod in found]
        return [self.rack_of[node] for node in nodes] if len(nodes) == pods and all(nodes) else None

    def test_replicas_stand_in_one_rack_each_and_wait_for_one(self):
        self.submit_replicas("pair", 2)
        racks = wait_until("all have a node", lambda: self.racks_of("pair", 4))
        self.assertEqual((racks[0], racks[2]), (racks[1], racks[3]))
        self.assertEqual(set(racks), {"a", "b"})
        # Two nodes are free, of two racks.
        self.submit_replicas("single", 1)
        self.wait_for_condition("single", "QuotaReserved", "False", "topology")
        self.assertEqual(self.children("single"), [])
        self.submit_replicas("roams", 1, "Preferred")
        racks = wait_until("it has two racks", lambda: self.racks_of("roams", 2))
        self.assertEqual(set(racks), {"c", "d"})
        self.wait_for_condition("roams", "Scheduled", "True", "1 of 1 copies of the model stand in several domains")
        self.delete("roams")
        self.delete("pair")
        racks = wait_until("it has a rack", lambda: self.racks_of("single", 2))
        self.assertEqual(racks[0], racks[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
