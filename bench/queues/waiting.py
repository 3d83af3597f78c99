"""Two kinds of jobs that wait: in queues of a real Kueue, and suspended, which costs an operator least."""

import json
import re

import kueue
from cluster import apply, kubectl

NAMESPACE = "default"
QUEUES = 10
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LATER = "later-"  # how names of jobs begin that come behind all others


def condition(job, kind):
    return next((c for c in job.get("status", {}).get("conditions", []) if c["type"] == kind), {"status": ""})


class InQueues:
    """In ten queues with room for one job each."""

    other = "system:serviceaccount:kueue-system:kueue-controller-manager"  # who looks at each job, too

    def prepare(self):
        kueue.install()
        let_kueue_hold_many()
        for number in range(QUEUES):
            apply(*kueue.queue(f"queue-{number}", "4Ti", NAMESPACE, **{"nvidia.com/gpu": "8"}))

    def dress(self, body, number):
        body["metadata"]["labels"] = {QUEUE_LABEL: f"queue-{number % QUEUES}"}
        return body

    @staticmethod
    def is_decided(job):
        """It has its quota, or knows its place."""
        quota = condition(job, "QuotaReserved")
        return quota["status"] == "True" or (quota["status"] == "False" and "in its queue" in quota["message"])


class Suspended:
    """All but those that come later, one after another: these start."""

    other = None

    def prepare(self):
        """Nothing."""

    def dress(self, body, _):
        body["spec"]["suspend"] = not body["metadata"]["name"].startswith(LATER)
        return body

    @staticmethod
    def is_decided(job):
        """It has its plan, and is known to be suspended or has its pod."""
        scheduled = condition(job, "Scheduled").get("message", "")
        return condition(job, "Suspended")["status"] == "True" or "1 pod" in scheduled


def let_kueue_hold_many():
    """Without a limit that the machine does not set: 500 calls a second instead of 50, and memory."""
    of_kueue = ("--namespace", kueue.SYSTEM)
    found = json.loads(kubectl("get", "configmap", kueue.CONFIGURATION, *of_kueue, "--output=json"))
    text = found["data"]["controller_manager_config.yaml"]
    text = re.sub(r"qps: \d+\n(\s*)burst: \d+", r"qps: 500\n\1burst: 1000", text)
    patch = {"data": {"controller_manager_config.yaml": text}}
    kubectl("patch", "configmap", kueue.CONFIGURATION, *of_kueue, "--type=merge", "--patch", json.dumps(patch))
    kubectl("set", "resources", "deployment", kueue.CONTROLLER, *of_kueue, "--limits=cpu=2,memory=4Gi")
    kueue.await_controller()
