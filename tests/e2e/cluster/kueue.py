"""Kueue on the cluster of the tests: the real program of the pinned version, installed from its own manifests."""

import json
import pathlib
import re
import subprocess
import tempfile

from cluster import NAMESPACE, REPOSITORY, apply, kubectl, script, wait_until

IMAGE = "caravan.local/kueue:test"
API = "kueue.x-k8s.io/v1beta2"
SYSTEM, CONTROLLER, CONFIGURATION = "kueue-system", "kueue-controller-manager", "kueue-manager-config"
VERSION = re.search(r"^KUEUE_VERSION=(\S+)", (REPOSITORY / "versions.env").read_text(), re.MULTILINE)[1]


def program():
    """What tests/cluster/build.sh makes of it."""
    build = subprocess.run([REPOSITORY / "tests/cluster/build.sh", "queues"], check=True,
                           capture_output=True, text=True)
    return pathlib.Path(build.stdout.strip()) / f"kueue-{VERSION}"


def pod_groups():
    """The folder with the definitions of the PodGroups of Volcano and coscheduling."""
    return next(program().parent.glob("pod-groups-*"))


def import_image():
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / "kueue.tar"
        subprocess.run([REPOSITORY / "deploy/images/oci_image.py", archive, "--name", IMAGE, "--entrypoint", "/manager",
                        "--file", f"{program()}=/manager"], check=True, capture_output=True)
        script("import", archive)


def manifest():
    text = kubectl("kustomize", f"{program()}.config/default")
    text = re.sub(r"image: \S*/kueue:\S+", f"image: {IMAGE}", text)
    text = text.replace("imagePullPolicy: Always", "imagePullPolicy: Never")
    # The machine of the tests is small.
    return text.replace("cpu: 500m", "cpu: 50m").replace("memory: 512Mi", "memory: 256Mi")


def install():
    import_image()
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=manifest())
    await_controller()


def _takes_objects():
    try:
        apply({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "default"}})
        return True
    except AssertionError:
        return False  # its webhooks are not reachable yet


def configure(**integrations):
    """Kueue anew, with other integrations than its manifests name."""
    found = json.loads(kubectl("get", "configmap", CONFIGURATION, "--namespace", SYSTEM, "--output=json"))
    # They come last, but for comments.
    others, _, _ = found["data"]["controller_manager_config.yaml"].partition("integrations:")
    patch = {"data": {"controller_manager_config.yaml": f"{others}integrations: {json.dumps(integrations)}\n"}}
    kubectl("patch", "configmap", CONFIGURATION, "--namespace", SYSTEM, "--type=merge", "--patch", json.dumps(patch))
    kubectl("rollout", "restart", "deployment", CONTROLLER, "--namespace", SYSTEM)
    await_controller()


def await_controller():
    kubectl("rollout", "status", f"deployment/{CONTROLLER}", "--namespace", SYSTEM, "--timeout=180s")
    # The one before answers its webhooks until it ends, and then nobody does for a moment.
    wait_until("one controller is left",
               lambda: len(kubectl("get", "pods", "--namespace", SYSTEM, "-o", "name").split()) == 1)
    wait_until("Kueue takes objects", lambda: _takes_objects())


def priority(name, value):
    return {"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}


def queue(name, memory, namespace=NAMESPACE, **others):
    """A LocalQueue in the namespace of the jobs with a ClusterQueue of its own; others: amounts of further resources."""
    amounts = {"cpu": "64", "memory": memory, "ephemeral-storage": "64Gi", **others}
    quota = [{"name": resource, "nominalQuota": amount} for resource, amount in amounts.items()]
    return ({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name},
             "spec": {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
                      "resourceGroups": [{"coveredResources": list(amounts),
                                          "flavors": [{"name": "default", "resources": quota}]}]}},
            {"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": name, "namespace": namespace},
             "spec": {"clusterQueue": name}})
