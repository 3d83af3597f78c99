"""Gangs with the schedulers of Volcano and of scheduler-plugins, the real programs, on nodes that exist on paper only.

    gangs_test.py Volcano | Coscheduling

Held is what these schedulers make of the operator's PodGroups and pods: all pods of a gang have a node, or none.
"""

import pathlib
import random
import re
import subprocess
import sys
import unittest

from fake_cluster import JOBS, REPOSITORY, FakeCluster, job, wait_until

NODES = 4
ROUNDS = 5
VERSIONS = dict(re.findall(r"^(\w+)_VERSION=(\S+)", (REPOSITORY / "versions.env").read_text(), re.MULTILINE))


def program(name):
    build = subprocess.run([REPOSITORY / "tests/cluster/build.sh", name], check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(build.stdout.strip(), name)


def start_volcano(cluster, scheduler):
    settings = {"actions": "enqueue, allocate, backfill",
                "tiers": [{"plugins": [{"name": "priority"}, {"name": "gang"}, {"name": "conformance"}]},
                          {"plugins": [{"name": "predicates"}, {"name": "proportion"}, {"name": "nodeorder"}]}]}
    cluster.start(scheduler, "--kubeconfig", cluster.kubeconfig,
                  "--scheduler-conf", cluster.write("volcano.json", settings), "--leader-elect=false",
                  "--enable-healthz=false", "--enable-metrics=false", "--logtostderr", "-v=3")


# What waits for others of its group hears of no machine that becomes free, so it is looked at again in turn: by default
# after five minutes.
LOOKS_AGAIN = "--pod-max-in-unschedulable-pods-duration=2s"


def start_coscheduling(cluster, scheduler):
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]},
               "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}}
    settings = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False}, "clientConnection": {"kubeconfig": str(cluster.kubeconfig)},
                "profiles": [{"schedulerName": "scheduler-plugins-scheduler", "plugins": plugins}]}
    cluster.start(scheduler, "--config", cluster.write("coscheduling.json", settings), "--secure-port=0", LOOKS_AGAIN,
                  "-v=2")


# What starts it, and its name among the programs of the test cluster.
SCHEDULERS = {"Volcano": (start_volcano, f"volcano-scheduler-{VERSIONS['VOLCANO']}"),
              "Coscheduling": (start_coscheduling, f"coscheduling-scheduler-{VERSIONS['COSCHEDULING']}")}


class Gangs(unittest.TestCase):
    provider = ""

    @classmethod
    def setUpClass(cls):
        start, name = SCHEDULERS[cls.provider]
        scheduler = program(name)
        cls.cluster = FakeCluster(NODES, scheduler.with_name(f"{name}.config"))
        cls.addClassCleanup(cls.cluster.end)
        start(cls.cluster, scheduler)

    def submit(self, name, pods):
        self.cluster.post(JOBS, job(name, pods, self.provider))
        self.addCleanup(self.cluster.delete, name)

    def wait_until_bound(self, name, pods):
        try:
            wait_until(f"{pods} pods of {name} have a node", lambda: self.cluster.bound(name) == pods)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.cluster.logs()}") from None

    def wait_until_refused(self, name, pods):
        """The scheduler has looked at each of them, and said that it has no node."""
        def said(pod):
            conditions = pod.get("status", {}).get("conditions", [])
            return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)

        def refused():
            found = self.cluster.pods(name)
            return len(found) == pods and all(map(said, found))
        wait_until(f"{name} is refused", refused)

    def test_a_gang_that_fits_is_placed_as_a_whole(self):
        self.submit("fits", NODES)
        self.wait_until_bound("fits", NODES)

    def test_a_gang_that_does_not_fit_has_no_pod_on_a_node_and_holds_up_none_that_fits(self):
        self.submit("large", NODES + 1)
        self.wait_until_refused("large", NODES + 1)
        self.assertEqual(self.cluster.bound("large"), 0)
        self.submit("beside", NODES)
        self.wait_until_bound("beside", NODES)
        self.assertEqual(self.cluster.bound("large"), 0)

    def test_two_gangs_with_room_for_one_run_one_after_the_other(self):
        dice = random.Random(16)
        for turn in range(ROUNDS):
            names = [f"left-{turn}", f"right-{turn}"]
            dice.shuffle(names)
            with self.subTest(turn=turn, order=names):
                for name in names:
                    self.submit(name, NODES - 1)
                first, second = self.one_placed(names)
                self.cluster.delete(first)
                self.wait_until_bound(second, NODES - 1)
                self.cluster.delete(second)

    def one_placed(self, names):
        """The one that has its nodes, and the one that has none."""
        def placed():
            return sorted(names, key=self.cluster.bound, reverse=True) if any(map(self.cluster.bound, names)) else None
        first, second = wait_until("one has nodes", placed)
        self.wait_until_bound(first, NODES - 1)
        self.wait_until_refused(second, NODES - 1)
        self.assertEqual(self.cluster.bound(second), 0)
        return first, second


if __name__ == "__main__":
    Gangs.provider = sys.argv.pop(1)
    unittest.main(verbosity=2)
