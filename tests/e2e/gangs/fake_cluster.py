"""An API server with nodes that exist on paper only: pods are bound to them and never run.

Nothing collects what belongs to a deleted job, so its pods are deleted here, as a kubelet and the garbage collector do.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(REPOSITORY / "tests/cluster"))
from api import Api, wait_until  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["CARAVAN_BIN"])
SCRIPT = REPOSITORY / "tests/cluster/api.sh"
JOBS = "apis/training.caravan.dev/v1alpha1/namespaces/default/llamatrainingjobs"
PODS = "api/v1/namespaces/default/pods"
CLAIM = "corpus"
MERGE = "application/merge-patch+json"


def node(name):
    """With room for one pod of these tests."""
    room = {"cpu": "8", "memory": "64Gi", "ephemeral-storage": "512Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}}


def job(name, pods, provider):
    return {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": name},
            "spec": {"model": {"preset": "llama-tiny"}, "data": {"claimName": CLAIM, "path": "train.bin"},
                     "training": {"steps": 100, "sequenceLength": 64, "globalBatchSequences": 4 * pods},
                     "resources": {"devices": 2 * pods, "devicesPerNode": 2,
                                   "device": {"kind": "CPU", "memory": "4Gi"}},
                     "worker": {"resources": {"cpu": "8"}},
                     "scheduling": {"gang": {"provider": provider}}}}


def bound_volume():
    """The claim of all jobs, as it is when a controller has bound it."""
    amount = {"storage": "1Gi"}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": CLAIM},
              "spec": {"capacity": amount, "accessModes": ["ReadOnlyMany"], "hostPath": {"path": "/nowhere"},
                       "storageClassName": "by-hand", "claimRef": {"namespace": "default", "name": CLAIM}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": CLAIM, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
             "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": CLAIM, "storageClassName": "by-hand",
                      "resources": {"requests": amount}}}
    return {"api/v1/persistentvolumes": volume, "api/v1/namespaces/default/persistentvolumeclaims": claim}


class FakeCluster:
    def __init__(self, nodes, *definitions):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="caravan-gangs-"))
        self.children = []
        try:
            subprocess.run([SCRIPT, "up", self.folder], check=True, capture_output=True)
            self.kubeconfig = self.folder / "kubeconfig"
            self.api = Api(self.kubeconfig)
            self._define(REPOSITORY / "deploy/helm/caravan/files/crds", *definitions)
            for number in range(nodes):
                self._add(node(f"node-{number}"))
            for path, item in bound_volume().items():
                self.post(path, item)
            self.start(PROGRAMS / "caravan-operator", "--kubeconfig", self.kubeconfig, "--lease-namespace", "default",
                       "--worker-image", "worker:test", "--reports-listen", "127.0.0.1:0", "--probes", "127.0.0.1:0",
                       "--metrics", "127.0.0.1:0")
        except BaseException:
            self.end()
            raise

    def _define(self, *folders):
        environment = subprocess.run([SCRIPT, "env", self.folder], check=True, capture_output=True, text=True).stdout
        files = " ".join(f"-f {folder}" for folder in folders)
        subprocess.run(["bash", "-ec", f"{environment}\nkubectl apply --server-side {files} >&2"], check=True)
        self.api.wait_for_definitions()

    def _add(self, body):
        """Ready, which a controller says where there is one."""
        self.post("api/v1/nodes", body)
        self.api.request("PATCH", f"api/v1/nodes/{body['metadata']['name']}", {"spec": {"taints": None}}, MERGE)
        self.api.request("PATCH", f"api/v1/nodes/{body['metadata']['name']}/status", {"status": body["status"]}, MERGE)

    def start(self, program, *arguments):
        log = (self.folder / f"{program.name}.log").open("w")
        self.children.append(subprocess.Popen([program, *map(str, arguments)], stdout=log, stderr=log))
        log.close()

    def write(self, name, body):
        path = self.folder / name
        path.write_text(json.dumps(body))
        return path

    def post(self, path, body):
        status, answer = self.api.request("POST", path, body)
        assert status == 201, answer

    def pods(self, name):
        return self.api.items(f"{PODS}?labelSelector=training.caravan.dev/job-name={name}")

    def bound(self, name):
        return sum("nodeName" in pod["spec"] for pod in self.pods(name))

    def delete(self, name):
        self.api.request("DELETE", f"{JOBS}/{name}")
        wait_until(f"{name} is gone", lambda: self.api.get(f"{JOBS}/{name}") is None)

        def no_pods():
            left = self.pods(name)
            for pod in left:
                self.api.request("DELETE", f"{PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
            return not left
        wait_until(f"pods of {name} are gone", no_pods)

    def logs(self):
        return "\n".join(f"{path.name}:\n" + path.read_text()[-3000:] for path in self.folder.glob("*scheduler*.log"))

    def end(self):
        for child in self.children:
            child.send_signal(signal.SIGKILL)
            child.wait()
        subprocess.run([SCRIPT, "down", self.folder], check=False, capture_output=True)
