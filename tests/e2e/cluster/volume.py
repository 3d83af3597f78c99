"""The volume with the text that jobs train on: a folder of this machine, and a claim that is bound to it."""

from cluster import FOLDER


def corpus_volume(name):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany"], "storageClassName": "",
                     "hostPath": {"path": str(FOLDER / "corpus"), "type": "Directory"}}}


def corpus_claim(name, namespace):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "", "volumeName": name,
                     "resources": {"requests": {"storage": "1Gi"}}}}
