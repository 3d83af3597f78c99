"""Nodes that exist on paper only: pods are bound to them and never run. Their hearts beat as long as this is open."""

import datetime
import json
import threading

from cluster import FOLDER, Api, apply, kubectl, wait_until

BEAT_SECONDS = 5
MERGE = "application/merge-patch+json"
LEASES = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class FakeNodes:
    def __init__(self, labels_of, **room):
        """labels_of: by name. Each node has this room, by resource."""
        self.names, self.stop = list(labels_of), threading.Event()
        status = {"capacity": room, "allocatable": room,
                  "conditions": [{"type": "Ready", "status": "True", "reason": "Fake", "message": "",
                                  "lastHeartbeatTime": now()[:19] + "Z", "lastTransitionTime": now()[:19] + "Z"}]}
        for name, labels in labels_of.items():
            apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}},
                  {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                   "metadata": {"name": name, "namespace": "kube-node-lease"},
                   "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now()}})
            kubectl("patch", "node", name, "--subresource=status", "--type=merge", "--patch",
                    json.dumps({"status": status}))
        self.thread = threading.Thread(target=self._beat, daemon=True)
        self.thread.start()
        # Kueue does not look again at what found no room on a node that was new.
        wait_until("the nodes take pods", lambda: not any(map(self._is_tainted, self.names)))

    @staticmethod
    def _is_tainted(name):
        return kubectl("get", "node", name, "--output=jsonpath={.spec.taints}")

    def _beat(self):
        while not self.stop.wait(BEAT_SECONDS):
            api = Api(FOLDER / "kubeconfig")
            for name in self.names:
                api.request("PATCH", f"{LEASES}/{name}", {"spec": {"renewTime": now()}}, MERGE)

    def close(self):
        self.stop.set()
        self.thread.join()
        kubectl("delete", "node", *self.names, "--wait=false")
        kubectl("delete", "lease", "--namespace", "kube-node-lease", "--ignore-not-found", *self.names)
