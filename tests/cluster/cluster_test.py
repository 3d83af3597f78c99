#!/usr/bin/env python3
"""Tests of cluster.sh. Runs itself in namespaces of its own, where it sees what its clusters leave behind, and nothing
of other clusters on the machine. Exits with 77, which ctest counts as skipped, when it is not root.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable

import machine_state
from turns import taking_turns

HERE = Path(__file__).resolve().parent
SKIPPED = 77
IMAGE = "caravan.local/probe:1"
OWN_NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--mount-proc", "--kill-child"]
os.environ["HTTPS_PROXY"] = "http://127.0.0.1:9"  # nobody is there


class Cluster:
    def __init__(self, folder: Path):
        self.folder = folder

    def script(self, verb: str, *arguments: str | Path) -> str:
        """Runs a verb of cluster.sh; a failure shows what it said."""
        command = [HERE / "cluster.sh", verb, self.folder, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"cluster.sh {verb} failed: {done.stdout}")
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        command = 'eval "$("$0" env "$1")" && exec kubectl "${@:2}"'
        return subprocess.run(
            ["bash", "-c", command, HERE / "cluster.sh", self.folder, *arguments],
            input=stdin, check=True, capture_output=True, text=True,
        ).stdout

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def holder(self) -> int:
        """The process that the cluster's namespaces end with."""
        name = f"caravan-cluster {self.folder} "
        return next(pid for pid, line in machine_state.processes().items() if line == name)


def build_probe(folder: Path) -> Path:
    """The image of a program that is linked statically; the linker warns that getaddrinfo may need more."""
    probe, image = folder / "probe", folder / "probe.tar"
    subprocess.run(["gcc", "-Os", "-static", "-w", "-o", probe, HERE / "probe.c"], check=True, capture_output=True)
    writer = HERE / "../../deploy/images/oci_image.py"
    content = ["--name", IMAGE, "--entrypoint", "/probe", "--file", f"{probe}=/probe"]
    subprocess.run([writer, image, *content], check=True, capture_output=True)
    return image


def volume(folder: Path) -> list[dict[str, Any]]:
    """A folder of this machine as a volume, and the claim that takes it."""
    size = {"storage": "1Mi"}
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "answers"},
         "spec": spec | {"capacity": size, "hostPath": {"path": str(folder)}}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "answers", "namespace": "test"},
         "spec": spec | {"resources": {"requests": size}, "volumeName": "answers"}},
    ]


def pod(name: str, *, asks_for: str) -> dict[str, Any]:
    """A pod that pod security level restricted admits, in the headless service."""
    container = {
        "name": "probe", "image": IMAGE, "imagePullPolicy": "Never",
        "args": [asks_for, f"/answers/{name}"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "answers", "mountPath": "/answers"}],
    }
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "test", "labels": {"app": "probe"}},
        "spec": {
            "hostname": name, "subdomain": "probes", "restartPolicy": "Never", "containers": [container],
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "answers", "persistentVolumeClaim": {"claimName": "answers"}}],
        },
    }


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace",
             "metadata": {"name": "test", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "probes", "namespace": "test"},
           "spec": {"clusterIP": "None", "selector": {"app": "probe"}, "publishNotReadyAddresses": True}}
CLOSED = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
          "metadata": {"name": "closed", "namespace": "test"},
          "spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]}}
NOBODY = "nobody.probes"


def start(folder: Path, name: str, image: Path) -> Cluster:
    """A cluster with the probe's image and the namespace test, whose pods may write to `folder`/answers."""
    answers = folder / "answers"
    answers.mkdir(exist_ok=True)
    answers.chmod(0o777)
    cluster = Cluster(folder / name)
    cluster.script("up")
    cluster.script("import", image)
    cluster.apply(NAMESPACE)
    cluster.apply(*volume(answers), SERVICE)
    return cluster


def run_pod(cluster: Cluster, name: str, *, asks_for: str, until: str) -> None:
    cluster.apply(pod(name, asks_for=asks_for))
    condition = f"--for=jsonpath={{.status.phase}}={until}"
    cluster.kubectl("--namespace=test", "wait", condition, f"pod/{name}", "--timeout=60s")


def answers(address: str) -> bool:
    """Whether a packet reaches the pod: nobody listens on the port, which its kernel says at once."""
    try:
        socket.create_connection((address, 1), timeout=0.5)
    except ConnectionRefusedError:
        return True
    except TimeoutError:
        return False
    raise AssertionError("who listens there?")


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.1)


@taking_turns(2)
class LifetimeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="caravan-cluster-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.image = build_probe(self.folder)

    def up(self, name: str) -> Cluster:
        self.addCleanup(Cluster(self.folder / name).script, "down")
        return start(self.folder, name, self.image)

    def expect_same_machine(self, before: machine_state.MachineState, cgroups: frozenset[str]) -> None:
        self.assertEqual(machine_state.observe(), before)
        self.assertEqual(machine_state.cgroup_folders(cgroups), [])

    def test_down_leaves_nothing_behind_and_a_second_up_works(self) -> None:
        before = machine_state.observe()
        for _ in range(2):
            cluster = self.up("cluster")
            run_pod(cluster, "asker", asks_for=NOBODY, until="Running")
            cgroups = machine_state.cgroups()
            self.assertNotEqual(machine_state.cgroup_folders(cgroups), [])
            cluster.script("down")
            self.assertFalse(cluster.folder.exists())
            self.expect_same_machine(before, cgroups)

    def test_of_two_clusters_one_is_killed_and_the_other_still_runs_pods(self) -> None:
        before = machine_state.observe()
        first = self.up("first")
        run_pod(first, "asker", asks_for=NOBODY, until="Running")
        cgroups = machine_state.cgroups()
        second = self.up("second")
        os.kill(first.holder(), signal.SIGKILL)
        first.script("down")
        self.assertEqual(machine_state.cgroup_folders(cgroups), [])
        run_pod(second, "finder", asks_for="finder.probes", until="Succeeded")
        cgroups = machine_state.cgroups()
        second.script("down")
        self.expect_same_machine(before, cgroups)

    def test_a_folder_with_other_files_is_not_touched(self) -> None:
        for verb in ["up", "down"]:
            with self.assertRaisesRegex(AssertionError, "holds other files"):
                Cluster(self.folder).script(verb)
        self.assertTrue(self.image.exists())

    def test_what_is_not_up_is_not_taken_down(self) -> None:
        self.assertEqual(Cluster(self.folder / "cluster").script("down"), "")


@taking_turns(2)
class RunningTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="caravan-cluster-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.addClassCleanup(Cluster(cls.folder / "cluster").script, "down")
        cls.cluster = start(cls.folder, "cluster", build_probe(cls.folder))

    def test_pods_write_to_volumes_and_find_each_other_by_name_across_a_restart_of_the_api_server(self) -> None:
        run_pod(self.cluster, "asker", asks_for="asked.probes", until="Running")
        self.cluster.script("restart", "apiserver")
        run_pod(self.cluster, "asked", asks_for=NOBODY, until="Running")
        run_pod(self.cluster, "asker", asks_for="asked.probes", until="Succeeded")
        address = self.cluster.kubectl("--namespace=test", "get", "pod/asked", "--output=jsonpath={.status.podIP}")
        self.assertEqual((self.folder / "answers/asker").read_text(), address)

    def test_a_network_policy_closes_a_pod_to_all_but_those_that_it_names(self) -> None:
        run_pod(self.cluster, "guarded", asks_for=NOBODY, until="Running")
        address = self.cluster.kubectl("--namespace=test", "get", "pod/guarded", "--output=jsonpath={.status.podIP}")
        self.assertTrue(answers(address))
        self.cluster.apply(CLOSED)
        eventually(lambda: not answers(address), "the policy to close the pod")
        self.cluster.kubectl("--namespace=test", "delete", "networkpolicy/closed")
        eventually(lambda: answers(address), "the pod to be open again")

    def test_what_is_up_stays_up(self) -> None:
        holder = self.cluster.holder()
        self.assertIn("is up", self.cluster.script("up"))
        self.assertEqual(self.cluster.holder(), holder)

    def test_an_image_that_no_registry_has_fails_at_once(self) -> None:
        wanted = pod("elsewhere", asks_for=NOBODY)
        wanted["spec"]["containers"][0] |= {"image": "registry.invalid/none:1", "imagePullPolicy": "IfNotPresent"}
        self.cluster.apply(wanted)
        reason = "{.status.containerStatuses[0].state.waiting.reason}"
        self.cluster.kubectl("--namespace=test", "wait", f"--for=jsonpath={reason}=ImagePullBackOff", "pod/elsewhere")


def main() -> None:
    if os.geteuid() != 0:
        print("skipped: only root can make the namespaces of a cluster")
        sys.exit(SKIPPED)
    if "--inside" not in sys.argv:
        os.execvp("unshare", [*OWN_NAMESPACES, sys.executable, __file__, "--inside", *sys.argv[1:]])
    sys.argv.remove("--inside")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    unittest.main()


if __name__ == "__main__":
    main()
