"""A job trains on while a newer definition and another operator are installed, and while both are taken back."""

import json
import unittest

from cluster import (MORE_STEPS_THAN_ARE_MADE, NAMESPACE, OPERATOR_NAMESPACE, REPOSITORY, ClusterTest, apply, kubectl, small_job,
                     wait_until)


def definition():
    file = next((REPOSITORY / "deploy/helm/caravan/files/crds").glob("*.yaml"))
    return json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f", file))


def newer_definition():
    """With a field more, whose default stands in every object from now on, and a tighter rule."""
    newer = definition()
    spec = newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    training = spec["properties"]["training"]["properties"]
    training["stepsOfAWarmStart"] = {"type": "integer", "default": 0}
    training["steps"]["maximum"] = 10
    return newer


def install(wanted):
    """The definition, and operators that have seen no other."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=json.dumps(wanted))
    kubectl("rollout", "restart", "deployment/caravan-operator", "--namespace", OPERATOR_NAMESPACE)
    kubectl("rollout", "status", "deployment/caravan-operator", "--namespace", OPERATOR_NAMESPACE, "--timeout=180s")


class Versions(ClusterTest):
    def shown_at(self):
        return self.status("versions").get("progress", {}).get("lastUpdateTime")

    def goes_on(self):
        before = self.shown_at()
        wait_until("another step is shown", lambda: self.shown_at() != before)
        self.assertEqual(self.condition("versions", "Failed")["status"], "")

    def loses_a_pod(self, restarts):
        lost = self.pod("versions", 1)["metadata"]["name"]
        kubectl("delete", "pod", lost, "--namespace", NAMESPACE, "--wait=false")
        wait_until("the restart in the status", lambda: self.status("versions").get("restarts") == restarts)
        wait_until("the first step of the next attempt",
                   lambda: self.condition("versions", "Running")["reason"] == "StepsAdvancing")

    def test_a_job_outlives_a_newer_definition_and_the_way_back(self):
        self.addCleanup(install, definition())
        apply(small_job("versions", MORE_STEPS_THAN_ARE_MADE))
        self.wait_for_steps("versions")
        layout = self.status("versions")["layout"]
        install(newer_definition())
        wait_until("the field that is not known is named",
                   lambda: "spec.training.stepsOfAWarmStart" in self.condition("versions", "Planned")["message"])
        self.assertEqual(self.condition("versions", "Planned")["status"], "True")
        self.loses_a_pod(restarts=1)
        self.goes_on()
        install(definition())
        wait_until("nothing is unknown any more",
                   lambda: "stepsOfAWarmStart" not in self.condition("versions", "Planned")["message"])
        self.loses_a_pod(restarts=2)
        self.goes_on()
        self.assertEqual(self.status("versions")["layout"], layout)
        kubectl("delete", "ltj", "versions", "--namespace", NAMESPACE)
        self.leaves_nothing("versions")


if __name__ == "__main__":
    unittest.main(verbosity=2)
