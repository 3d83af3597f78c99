"""The cluster that the tests of this folder share: fixture.py up | install | down

`up` starts it, with a namespace for jobs that has the King James Bible on a volume; `install` imports the images and installs
the operator as a user would.
"""

import subprocess
import sys

from cluster import FOLDER, NAMESPACE, OPERATOR_NAMESPACE, PROGRAMS, REPOSITORY, apply, kubectl, script
from volume import corpus_claim, corpus_volume


def write_corpus():
    folder = FOLDER / "corpus"
    folder.mkdir(exist_ok=True)
    text = folder / "kjv.txt"
    text.write_bytes(subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, capture_output=True).stdout)
    subprocess.run([PROGRAMS / "caravan", "data", "tokenize", "--tokenizer", "byte", text, "--to", folder / "kjv.bin"],
                   check=True, capture_output=True)


def install():
    script("import", *(REPOSITORY / "build/images" / f"caravan-{name}.tar" for name in ("operator", "worker")))
    kubectl("apply", "--server-side", "-f", REPOSITORY / "deploy/install.yaml")
    kubectl("rollout", "status", "deployment/caravan-operator", "--namespace", OPERATOR_NAMESPACE, "--timeout=120s")


def make_namespace():
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}},
          corpus_volume("corpus"), corpus_claim("corpus", NAMESPACE))


def up():
    script("up", *(REPOSITORY / "deploy/helm/caravan/files/crds").glob("*.yaml"))
    write_corpus()
    make_namespace()


def main(verb):
    try:
        {"up": up, "install": install, "down": lambda: script("down")}[verb]()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")


if __name__ == "__main__":
    main(*sys.argv[1:])
