"""Jobs in the queues of a real Kueue: queue_test.py [soak]

With `soak`, fifty rounds of jobs that start, are suspended, killed and deleted at random; whatever happened, the quota
in use is that of the jobs that run.
"""

import json
import random
import sys
import unittest

import kueue
from cluster import MORE_STEPS_THAN_ARE_MADE, NAMESPACE, REPOSITORY, ClusterTest, apply, kill, kubectl, small_job, wait_until
from volume import share

WORKLOADS = f"apis/{kueue.API}/namespaces/{NAMESPACE}/workloads"
CLUSTER_QUEUES = f"apis/{kueue.API}/clusterqueues"
TESTDATA = REPOSITORY / "operator/children/testdata"


def queued_job(name, steps, queue, priority=None, **spec):
    """Of two pods that ask for 1Gi each: as much as the queues of these tests have. They get little of a processor, since
    some train for as long as a test takes."""
    job = small_job(name, steps, **spec)
    job["spec"]["worker"] = {**job["spec"].get("worker", {}), "resources": {"cpu": "200m", "memory": "1Gi"}}
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    if priority:
        job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    return job


class QueueTest(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        kueue.install()
        apply(kueue.priority("low", 1), kueue.priority("high", 1000))

    def make_queue(self, name, memory="2Gi"):
        apply(*kueue.queue(name, memory))
        self.addCleanup(lambda: kubectl("delete", "clusterqueue", name, "--wait=false"))
        self.addCleanup(lambda: kubectl("delete", "localqueue", name, "--namespace", NAMESPACE, "--wait=false"))

    def submit(self, *jobs):
        for job in jobs:
            apply(job)
            self.addCleanup(self.delete, job["metadata"]["name"])

    @staticmethod
    def delete(name):
        kubectl("delete", "ltj", name, "--namespace", NAMESPACE, "--ignore-not-found")

    def wait_for_condition(self, name, kind, status, part=""):
        def holds():
            condition = self.condition(name, kind)
            text = f"{condition['reason']}: {condition['message']}"
            return condition["status"] == status and part in text
        wait_until(f"{kind} of {name} is {status} with '{part}'", holds)

    def used(self, queue):
        """Pods' worth of the ClusterQueue that is taken, as Kueue counts it."""
        status = self.api.get(f"{CLUSTER_QUEUES}/{queue}").get("status", {})
        totals = [r["total"] for flavor in status.get("flavorsReservation", []) for r in flavor["resources"]
                  if r["name"] == "memory"]
        return sum(int(total.removesuffix("Gi")) for total in totals)


class Queues(QueueTest):
    def test_two_jobs_and_quota_for_one(self):
        self.make_queue("one")
        self.submit(queued_job("first", MORE_STEPS_THAN_ARE_MADE, "one"))
        self.wait_for_steps("first")
        self.submit(queued_job("second", 20, "one"))
        self.wait_for_condition("second", "QuotaReserved", "False", "it is number 1 in its queue")
        self.assertIn("insufficient unused quota", self.condition("second", "QuotaReserved")["message"])
        self.assertEqual(self.condition("second", "Scheduled")["reason"], "WaitingForQuota")
        self.assertEqual(self.status("second")["state"], "Queued")
        self.assertEqual(self.children("second"), [])
        self.delete("first")
        self.wait_for_end("second")
        wait_until("the quota is given back", lambda: self.used("one") == 0)

    def test_a_higher_priority_suspends_a_job_that_goes_on_afterwards(self):
        share("checkpoints", NAMESPACE)
        self.make_queue("ranked")
        checkpoint = {"claimName": "checkpoints", "path": "ranked", "everySteps": MORE_STEPS_THAN_ARE_MADE}
        self.submit(queued_job("low", MORE_STEPS_THAN_ARE_MADE, "ranked", "low", checkpoint=checkpoint))
        self.wait_for_steps("low")
        self.submit(queued_job("high", 20, "ranked", "high"))
        self.wait_for_condition("low", "Suspended", "True", "ByQueue: the queue takes back what it had given: Preempted")
        self.wait_for_end("high")
        self.wait_for_condition("low", "Suspended", "False", "Resumed: the queue has admitted the job")
        self.wait_for_condition("low", "Running", "True", "attempt 2 makes steps, from the checkpoint of step ")
        self.assertEqual((self.status("low")["attempt"], self.status("low")["restarts"]), (2, 0))

    def test_a_job_whose_workload_is_deleted_is_suspended_and_not_lost(self):
        self.make_queue("watched")
        self.submit(queued_job("orphan", MORE_STEPS_THAN_ARE_MADE, "watched"))
        self.wait_for_steps("orphan")
        kubectl("delete", "workload", "ltj-orphan", "--namespace", NAMESPACE)
        self.wait_for_condition("orphan", "Suspended", "True", "ByQueue: somebody has deleted workload ltj-orphan")
        wait_until("its pods are gone", lambda: not self.children("orphan"))
        self.change("orphan", suspend=True)
        self.wait_for_condition("orphan", "Suspended", "True", "ByUser")
        self.change("orphan", suspend=False)
        self.wait_for_condition("orphan", "Running", "True", "attempt 2")

    def test_a_suspended_job_leaves_its_place_to_others(self):
        self.make_queue("shared")
        self.submit(queued_job("pauses", MORE_STEPS_THAN_ARE_MADE, "shared"))
        self.wait_for_steps("pauses")
        self.change("pauses", suspend=True)
        wait_until("it has no Workload", lambda: self.api.get(f"{WORKLOADS}/ltj-pauses") is None)
        self.submit(queued_job("other", 20, "shared"))
        self.wait_for_end("other")
        self.change("pauses", suspend=False)
        self.wait_for_condition("pauses", "Running", "True", "attempt 2")

    def test_what_the_operator_makes_is_what_the_real_definitions_take(self):
        kubectl("apply", "--server-side", "-f", kueue.pod_groups())
        self.api.wait_for_definitions()
        for name in ("pod_group_volcano", "pod_group_coscheduling", "workload"):
            made = json.loads((TESTDATA / f"{name}.json").read_text())
            made["metadata"]["namespace"] = NAMESPACE
            kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", text=json.dumps(made))

    def test_pods_of_other_gang_schedulers_wait_for_these_with_their_group(self):
        kubectl("apply", "--server-side", "-f", kueue.pod_groups())
        for name, provider, group in (("bursts", "Volcano", "scheduling.volcano.sh/v1beta1"),
                                      ("gathers", "Coscheduling", "scheduling.x-k8s.io/v1alpha1")):
            self.submit(small_job(name, 20, scheduling={"gang": {"provider": provider}}))
            pods = wait_until("two pods", lambda: self.two_pods(name))
            path = f"apis/{group}/namespaces/{NAMESPACE}/podgroups/{name}"
            self.assertEqual(self.api.get(path)["spec"]["minMember"], 2)
            self.assertNotIn("default-scheduler", {pod["spec"]["schedulerName"] for pod in pods})
            if provider == "Volcano":
                self.moves_to_another_queue(name, path)

    def moves_to_another_queue(self, name, path):
        self.change(name, suspend=True)
        wait_until("its pods are gone", lambda: not self.children(name))
        self.change(name, suspend=False, scheduling={"gang": {"provider": "Volcano"}, "queue": "gold"})
        wait_until("two pods", lambda: self.two_pods(name))
        self.assertEqual(self.api.get(path)["spec"]["queue"], "gold")

    def two_pods(self, name):
        pods = self.children(name)
        return pods if len(pods) == 2 else None


class PodIntegration(QueueTest):
    """Where Kueue's own integration of pods takes all pods of the namespace."""

    FRAMEWORK = "LlamaTrainingJob.v1alpha1.training.caravan.dev"

    def test_pods_that_kueue_gates_say_so_and_run_when_it_is_told_of_their_jobs(self):
        self.addCleanup(lambda: kueue.configure(frameworks=["batch/job"]))
        kueue.configure(frameworks=["pod"])
        self.make_queue("default", memory="0")
        self.make_queue("real")
        self.submit(queued_job("gated", MORE_STEPS_THAN_ARE_MADE, "real"))
        self.wait_for_condition("gated", "Scheduled", "False", "PodsGated: 0 of 2 pods have a machine; pod gated-0-a1: "
                                "Kueue's own integration of pods holds it back")
        self.assertIn(self.FRAMEWORK, self.condition("gated", "Scheduled")["message"])
        self.change("gated", suspend=True)
        wait_until("its pods are gone", lambda: not self.children("gated"))
        self.let_kueue_read_jobs()
        kueue.configure(frameworks=["pod"], externalFrameworks=[self.FRAMEWORK])
        self.change("gated", suspend=False)
        self.wait_for_steps("gated")

    def let_kueue_read_jobs(self):
        name = "kueue-reads-ltj"
        kubectl("create", "clusterrole", name, "--verb=get,list,watch",
                "--resource=llamatrainingjobs.training.caravan.dev")
        kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}",
                f"--serviceaccount={kueue.SYSTEM}:{kueue.CONTROLLER}")
        self.addCleanup(kubectl, "delete", "clusterrole,clusterrolebinding", name)

    def test_a_job_says_that_kueue_does_not_run(self):
        scale = ("scale", "deployment", kueue.CONTROLLER, "--namespace", kueue.SYSTEM)
        self.make_queue("halted")
        self.addCleanup(kueue.await_controller)
        self.addCleanup(kubectl, *scale, "--replicas=1")
        kubectl(*scale, "--replicas=0")
        wait_until("Kueue is gone", lambda: not self.api.items(f"api/v1/namespaces/{kueue.SYSTEM}/pods"))
        self.submit(queued_job("waits", MORE_STEPS_THAN_ARE_MADE, "halted"))
        self.wait_for_condition("waits", "Scheduled", "False", "failed calling webhook")
        kubectl(*scale, "--replicas=1")
        self.wait_for_steps("waits")


class Soak(QueueTest):
    """Quota is exact, whatever happens to the jobs."""

    ROUNDS = 50
    JOBS = 3
    ROOM = 2  # for as many of them at once

    def test_quota_is_that_of_the_jobs_that_run(self):
        dice = random.Random(16)
        self.make_queue("soak", memory=f"{2 * self.ROOM}Gi")
        for index in range(self.JOBS):
            self.submit(queued_job(f"soak-{index}", MORE_STEPS_THAN_ARE_MADE, "soak", dice.choice(("low", "high"))))
        for turn in range(self.ROUNDS):
            name = f"soak-{dice.randrange(self.JOBS)}"
            action = dice.choice((self.toggle, self.kill_a_rank, self.make_anew, self.delete_a_pod,
                                  self.delete_the_workload))
            with self.subTest(turn=turn, job=name, action=action.__name__):
                action(name)
                if turn % 5 == 4:
                    self.settle()
        for index in range(self.JOBS):
            self.delete(f"soak-{index}")
        wait_until("no quota is in use", lambda: self.used("soak") == 0)

    def settle(self):
        """Until as many jobs as the quota suffices for have it, each with its two pods, and no other pod is there."""
        def exact():
            names = [f"soak-{i}" for i in range(self.JOBS)]
            phases = [pod["status"]["phase"] for name in names for pod in self.children(name)]
            pods = 2 * min(sum(self.wants_quota(name) for name in names), self.ROOM)
            return phases == ["Running"] * pods and self.used("soak") == pods
        wait_until("jobs, quota and pods agree", exact)

    def wants_quota(self, name):
        is_over = any(self.condition(name, kind)["status"] == "True" for kind in ("Complete", "Failed"))
        has_lost_its_place = self.condition(name, "QuotaReserved")["reason"] == "WorkloadDeleted"
        return not is_over and not has_lost_its_place and not self.job(name)["spec"].get("suspend", False)

    def toggle(self, name):
        suspended = self.job(name)["spec"].get("suspend", False)
        self.change(name, suspend=not suspended)

    def kill_a_rank(self, name):
        for pod in self.children(name):
            try:
                kill(pod, "caravan-trainer")
                return
            except IndexError:
                continue

    def delete_a_pod(self, name):
        for pod in self.children(name)[:1]:
            kubectl("delete", "pod", pod["metadata"]["name"], "--namespace", NAMESPACE, "--wait=false", check=False)

    def delete_the_workload(self, name):
        kubectl("delete", "workload", f"ltj-{name}", "--namespace", NAMESPACE, "--ignore-not-found")

    def make_anew(self, name):
        self.delete(name)
        apply(queued_job(name, MORE_STEPS_THAN_ARE_MADE, "soak", "low"))


if __name__ == "__main__":
    names = ["Soak"] if sys.argv[1:] == ["soak"] else sys.argv[1:] or ["Queues", "PodIntegration"]
    unittest.main(argv=[sys.argv[0], *names], verbosity=2)
