"""The chart in caravan/, rendered and checked by the programs of tools.sh."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1]
CHART = HERE / "caravan"
HELMS = ("helm3", "helm4")


@cache
def program(name: str) -> Path:
    """Built when it is not there."""
    built = subprocess.run([HERE / "tools.sh", name], check=True, stdout=subprocess.PIPE, text=True)
    return Path(built.stdout.strip()) / name


def kubernetes_version() -> str:
    return re.search(r"^KUBERNETES_VERSION=(\S+)", (SOURCES / "versions.env").read_text(), re.MULTILINE)[1]


def helm(which: str, *arguments: str | os.PathLike, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
    """Which of HELMS; with check, an AssertionError has its words when it fails."""
    done = subprocess.run([program(which), *arguments], capture_output=True, text=True, env=os.environ | environment)
    if check and done.returncode != 0:
        raise AssertionError(f"{which} {' '.join(map(str, arguments))} ends with {done.returncode}: {done.stderr}")
    return done


@cache
def rendered(*options: str | os.PathLike, which: str = "helm4", namespace: str = "caravan-system") -> str:
    """What the chart makes for a cluster of the version that is tested. Comments that name a template are left out."""
    text = helm(which, "template", "caravan", CHART, "--namespace", namespace, "--kube-version", kubernetes_version(),
                *options).stdout
    return re.sub(r"^# Source: .*\n", "", text, flags=re.MULTILINE)


def documents(text: str) -> list[str]:
    parts = re.split(r"^---\n", text, flags=re.MULTILINE)
    return [part.strip("\n") + "\n" for part in parts if re.search(r"^kind: ", part, re.MULTILINE)]


def chart_before(folder: Path) -> Path:
    """A chart as the one before this could be, since none was released: a smaller version, and a definition whose column
    Restarts has the name Starts."""
    before = Path(shutil.copytree(CHART, folder / "caravan"))
    [definition] = (before / "files/crds").glob("*.yaml")
    for path, today, then in ((before / "Chart.yaml", "\nversion: ", "\nversion: 0.0.1-before."),
                              (definition, "\n    - name: Restarts\n", "\n    - name: Starts\n")):
        text = path.read_text()
        if text.count(today) != 1:
            raise AssertionError(f"{path} does not have '{today.strip()}' once")
        path.write_text(text.replace(today, then))
    return before
