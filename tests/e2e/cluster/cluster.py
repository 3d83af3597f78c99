"""A real cluster as its tests see it: kubectl as users run it, the API for waiting, the processes of its pods.

Environment: CARAVAN_CLUSTER (folder given to tests/cluster/cluster.sh) and CARAVAN_BIN (folder of the programs).
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(REPOSITORY / "tests/cluster"))
from api import PATIENCE_SECONDS, Api, wait_until  # noqa: E402
from turns import DAY, in_turn, taking_turns  # noqa: E402

FOLDER = pathlib.Path(os.environ["CARAVAN_CLUSTER"])
PROGRAMS = pathlib.Path(os.environ["CARAVAN_BIN"])
SCRIPT = REPOSITORY / "tests/cluster/cluster.sh"
NAMESPACE = "train"
OPERATOR_NAMESPACE = "caravan-system"
ENDED = ("Succeeded", "Failed")  # phases of pods
MORE_STEPS_THAN_ARE_MADE = 1_000_000  # of a job that a test ends, however late a busy machine looks
NETWORKING = "apis/networking.k8s.io/v1"
JOBS = "apis/training.caravan.dev/v1alpha1/namespaces/{}/llamatrainingjobs"


def script(*arguments, check=True):
    """One verb of cluster.sh: script("sh", "ctr", "version")."""
    verb, *rest = arguments
    return subprocess.run([SCRIPT, verb, FOLDER, *rest], check=check, capture_output=True, text=True).stdout


def kubectl(*arguments, text=None, check=True):
    run = subprocess.run(["bash", "-c", 'eval "$("$0" env "$1")"; exec kubectl "${@:2}"', SCRIPT, FOLDER, *arguments],
                         input=text, capture_output=True, text=True)
    if check and run.returncode != 0:
        raise AssertionError(f"kubectl {' '.join(map(str, arguments))} ends with {run.returncode}: {run.stderr}")
    return run.stdout


def apply(*objects):
    kubectl("apply", "--server-side", "-f", "-", text="\n---\n".join(json.dumps(o) for o in objects))


def example(name="kubernetes.yaml"):
    return json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f", REPOSITORY / "examples" / name))


def small_job(name, steps, **spec):
    """A quick job of two pods with two ranks each; `spec` overrides whole fields."""
    job = example()
    job["metadata"] = {"name": name, "namespace": NAMESPACE}
    job["spec"]["model"] = {"preset": "llama-tiny"}
    job["spec"]["training"] = {"steps": steps, "sequenceLength": 64, "globalBatchSequences": 8, "precision": "FP32"}
    job["spec"].update(spec)
    return job


def lines_of_local_run(job, *volumes):
    """What `caravan run` prints with the same job; a volume is a folder of this cluster's, named like its claim."""
    options = [word for name in ("corpus", *volumes) for word in ("--volume", f"{name}={FOLDER / name}")]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(job, file)
        file.flush()
        run = subprocess.run([PROGRAMS / "caravan", "run", file.name, *options, "-o", "json"], check=True,
                             capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def run_locally(job):
    """The summary of that."""
    return lines_of_local_run(job)[-1]


class ClusterTest(unittest.TestCase):
    """What tests of jobs on the cluster ask and do."""

    @classmethod
    def setUpClass(cls):
        cls.api = Api(FOLDER / "kubeconfig")

    def job(self, name, namespace=NAMESPACE):
        return self.api.get(f"{JOBS.format(namespace)}/{name}") or {}

    def status(self, name, namespace=NAMESPACE):
        return self.job(name, namespace).get("status", {})

    def condition(self, name, kind, namespace=NAMESPACE):
        conditions = self.status(name, namespace).get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), {"status": "", "reason": "", "message": ""})

    @classmethod
    def children(cls, name, kind="pods", namespace=NAMESPACE, group="api/v1"):
        selector = f"labelSelector=training.caravan.dev/job-name={name}"
        return cls.api.items(f"{group}/namespaces/{namespace}/{kind}?{selector}")

    def living_pods(self, name, node):
        """Of a node of a job: those that neither ended nor are being deleted."""
        return [pod for pod in self.children(name)
                if pod["metadata"]["labels"]["training.caravan.dev/node-index"] == str(node)
                and "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] not in ENDED]

    def pod(self, name, node):
        """The living pod of a node of a job."""
        return wait_until(f"a pod of node {node}", lambda: self.living_pods(name, node))[0]

    @classmethod
    def operators(cls, namespace=OPERATOR_NAMESPACE):
        """Their pods."""
        return [pod for pod in cls.api.items(f"api/v1/namespaces/{namespace}/pods")
                if pod["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "caravan-operator"]

    @classmethod
    def running_operators(cls):
        """The pods of those that run, as soon as one does: a kubelet takes its time to start one anew that died."""
        return wait_until("an operator runs", lambda: [
            pod for pod in cls.operators() if processes_of(pod["metadata"]["uid"], "caravan-operator")])

    @staticmethod
    def change(name, **fields):
        kubectl("patch", "ltj", name, "--namespace", NAMESPACE, "--type=merge", "--patch", json.dumps({"spec": fields}))

    def wait_for_steps(self, name, above=0):
        wait_until(f"{name} makes steps", lambda: self.status(name).get("progress", {}).get("step", 0) > above)

    def wait_for_end(self, name, kind="Complete", namespace=NAMESPACE):
        """The status of a job that came to the end that is expected."""
        def ended():
            for other in ("Complete", "Failed"):
                condition = self.condition(name, other, namespace)
                if condition["status"] == "True":
                    self.assertEqual(other, kind, condition["message"])
                    return True
            return False
        wait_until(f"{name} ends", ended)
        return self.status(name, namespace)

    def leaves_nothing(self, name, namespace=NAMESPACE):
        """After its job is deleted."""
        kinds = {"pods": "api/v1", "services": "api/v1", "configmaps": "api/v1", "secrets": "api/v1",
                 "serviceaccounts": "api/v1", "networkpolicies": NETWORKING}
        wait_until(f"nothing of {name} is left", lambda: not any(
            self.children(name, kind, namespace, group) for kind, group in kinds.items()))


def processes_of(pod_uid, program):
    """Their ids, on the machine that runs the cluster."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == program[:15] and pod_uid in (entry / "cgroup").read_text():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sorted(found)


def kill(pod, program):
    """The first process of this program in the pod, without a warning."""
    os.kill(processes_of(pod["metadata"]["uid"], program)[0], signal.SIGKILL)
