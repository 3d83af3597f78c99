"""Volumes of jobs: folders of this machine, and claims that are bound to them."""

from cluster import FOLDER


def volume(name, folder, mode):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": [mode], "storageClassName": "",
                     "hostPath": {"path": str(FOLDER / folder), "type": "Directory"}}}


def claim(name, namespace, mode):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": {"accessModes": [mode], "storageClassName": "", "volumeName": name,
                     "resources": {"requests": {"storage": "1Gi"}}}}


def corpus_volume(name):
    """With the text that jobs train on."""
    return volume(name, "corpus", "ReadOnlyMany")


def corpus_claim(name, namespace):
    return claim(name, namespace, "ReadOnlyMany")


def shared_volume(name):
    """That all pods write to; its folder has its name."""
    return volume(name, name, "ReadWriteMany")


def shared_claim(name, namespace):
    return claim(name, namespace, "ReadWriteMany")
