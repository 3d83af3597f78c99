"""Volumes of jobs: folders of this machine, and claims that are bound to them."""

from cluster import FOLDER, apply


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


def share(name, namespace):
    """A volume that all pods of a namespace write to; its folder and its claim have its name."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)  # pods run as users of their own
    apply(volume(name, name, "ReadWriteMany"), claim(name, namespace, "ReadWriteMany"))
