"""Whatever dies while a job trains on the cluster, the job ends as if nothing had happened."""

import json
import unittest

from cluster import (NAMESPACE, NETWORKING, OPERATOR_NAMESPACE, ClusterTest, apply, kill, kubectl, processes_of,
                     run_locally, script, small_job, taking_turns, wait_until)

STEPS = 200  # several seconds, in which somebody dies
LEASE = f"apis/coordination.k8s.io/v1/namespaces/{OPERATOR_NAMESPACE}/leases/caravan-operator"


@taking_turns(4)
class Faults(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loss = run_locally(small_job("undisturbed", STEPS))["lastLoss"]

    def start(self, name, steps=STEPS):
        apply(small_job(name, steps))

    def start_and_wait(self, name):
        self.start(name)
        self.wait_for_steps(name)

    def ends_as_if_nothing_had_happened(self, name, restarts):
        status = self.wait_for_end(name)
        self.assertEqual(float(status["progress"]["loss"]), self.loss)
        self.assertEqual(status["progress"]["step"], STEPS)
        self.assertEqual(status["restarts"], restarts)
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE)
        self.leaves_nothing(name)

    def kill_operators(self):
        for pod in self.running_operators():
            kill(pod, "caravan-operator")

    def test_a_killed_rank_costs_an_attempt_and_no_pod(self):
        self.start_and_wait("rank")
        before = {pod["metadata"]["uid"] for pod in self.children("rank")}
        kill(self.pod("rank", 1), "caravan-trainer")
        wait_until("the restart in the status", lambda: self.status("rank").get("restarts") == 1)
        self.assertEqual(before, {pod["metadata"]["uid"] for pod in self.children("rank")})
        log = kubectl("logs", "rank-0-a1", "--namespace", NAMESPACE)
        self.assertRegex(log, r"RankFailed: rank [23] on node 1 died first, .*SIGKILL")
        self.ends_as_if_nothing_had_happened("rank", restarts=1)

    def test_a_killed_agent_costs_its_pod_alone(self):
        self.start_and_wait("agent")
        first = self.pod("agent", 0)
        kill(self.pod("agent", 1), "caravan-agent")
        wait_until("the restart in the status", lambda: self.status("agent").get("restarts") == 1)
        wait_until("its pod of the next attempt",
                   lambda: self.pod("agent", 1)["metadata"]["name"] == "agent-1-a2")
        self.assertEqual(self.pod("agent", 0)["metadata"]["uid"], first["metadata"]["uid"])
        self.ends_as_if_nothing_had_happened("agent", restarts=1)

    def test_a_deleted_pod_is_replaced_alone(self):
        self.start_and_wait("pod")
        first = self.pod("pod", 0)
        kubectl("delete", "pod", "pod-1-a1", "--namespace", NAMESPACE, "--wait=false")
        wait_until("the restart in the status", lambda: self.status("pod").get("restarts") == 1)
        self.assertEqual(self.pod("pod", 0)["metadata"]["uid"], first["metadata"]["uid"])
        self.ends_as_if_nothing_had_happened("pod", restarts=1)

    def test_the_pod_of_the_coordinator_is_replaced_alone(self):
        self.start_and_wait("first")
        second = self.pod("first", 1)
        kubectl("delete", "pod", "first-0-a1", "--namespace", NAMESPACE, "--wait=false")
        wait_until("the restart in the status", lambda: self.status("first").get("restarts") == 1)
        self.assertEqual(self.pod("first", 1)["metadata"]["uid"], second["metadata"]["uid"])
        self.ends_as_if_nothing_had_happened("first", restarts=1)

    def test_operators_killed_while_they_create_and_while_the_job_runs(self):
        self.start("operator")
        wait_until("a first child", lambda: self.children("operator", "networkpolicies", group=NETWORKING))
        self.kill_operators()
        pod = self.pod("operator", 1)
        wait_until("a rank", lambda: processes_of(pod["metadata"]["uid"], "caravan-trainer"))
        self.kill_operators()
        self.ends_as_if_nothing_had_happened("operator", restarts=0)

    def leader(self):
        """The holder of a lease that is being renewed."""
        first = self.api.get(LEASE)["spec"].get("renewTime")
        wait_until("a renewal", lambda: self.api.get(LEASE)["spec"].get("renewTime") != first)
        return self.api.get(LEASE)["spec"]["holderIdentity"]

    def test_a_deleted_lease_stays_with_its_leader(self):
        self.start_and_wait("lease")
        leader = self.leader()
        kubectl("delete", "lease", "caravan-operator", "--namespace", OPERATOR_NAMESPACE)
        wait_until("the leader makes it anew",
                   lambda: (self.api.get(LEASE) or {"spec": {}})["spec"].get("holderIdentity") == leader)
        self.ends_as_if_nothing_had_happened("lease", restarts=0)

    def test_a_restart_of_the_api_server(self):
        self.start_and_wait("server")
        script("restart", "apiserver")
        self.ends_as_if_nothing_had_happened("server", restarts=0)

    def test_suspension_deletes_the_pods_and_keeps_the_attempts(self):
        self.start_and_wait("pause")
        self.change("pause", suspend=True)
        wait_until("no pods", lambda: not self.children("pause"))
        self.assertEqual(self.condition("pause", "Suspended")["reason"], "ByUser")
        self.assertEqual(self.status("pause")["attempt"], 1)
        self.change("pause", suspend=False)
        self.ends_as_if_nothing_had_happened("pause", restarts=0)

    def test_a_time_out_that_is_changed_reaches_the_plan_of_a_running_job(self):
        self.start_and_wait("patience")
        self.change("patience", stallTimeoutSeconds=777)
        wait_until("the plan has it", lambda: any(
            "777" in plan["data"]["plan.json"] for plan in self.children("patience", "configmaps")))
        self.ends_as_if_nothing_had_happened("patience", restarts=0)

    def test_a_plan_that_was_made_immutable_follows_the_job_all_the_same(self):
        self.start_and_wait("rigid")
        kubectl("patch", "configmap", "rigid-plan", "--namespace", NAMESPACE, "--type=merge", "--patch",
                json.dumps({"immutable": True}))
        self.change("rigid", stallTimeoutSeconds=777)
        wait_until("the plan has it", lambda: any(
            "777" in plan["data"]["plan.json"] for plan in self.children("rigid", "configmaps")))
        self.ends_as_if_nothing_had_happened("rigid", restarts=0)

    def test_a_job_deleted_while_it_runs_leaves_nothing_and_its_name_is_free(self):
        self.start_and_wait("again")
        kubectl("delete", "ltj", "again", "--namespace", NAMESPACE)
        self.start("again")
        self.ends_as_if_nothing_had_happened("again", restarts=0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
