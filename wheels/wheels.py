#!/usr/bin/python3 -B
"""Installs the Python wheels that building and testing need, each held against its SHA-256.

    wheels.py folder SET     prints the environment of a set, in CARAVAN_CACHE; whole once it has a file `installed`
    wheels.py install SET    makes it, unless it is there; refuses wheels that ask for other versions of each other
    wheels.py lock [SET...]  writes SET.txt anew from SET.in, or all
    wheels.py check          says which SET.txt does not fit its SET.in

SET.in has what we ask for, by version where we care; SET.txt, which pip reads when installing, has every wheel of it with
version and hash, for this machine's Python and processor. An environment is named after what is in it, so that
checkouts which differ do not disturb each other.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterable

import cuda_stubs

LISTS = Path(__file__).resolve().parent
# Installed as listed, without what the wheels say that they need.
BARE = ("cuda", "libtorch", "nvcc", "tensorboard")
# The set whose wheels another's Python sees too.
BASE = {"oracle": "libtorch", "tensorboard": "oracle"}


class Refusal(Exception):
    """What is wrong, and what to do."""


def site_of(folder: Path) -> Path:
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def content_of(text: str) -> str:
    """Without comments, so that these change nothing."""
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def environments() -> Path:
    return Path(os.environ.get("CARAVAN_CACHE") or Path.home() / ".cache/caravan", "wheels")


def folder_of(name: str, lists: Path = LISTS) -> Path:
    content = content_of((lists / f"{name}.txt").read_text())
    if name in BASE:
        content += folder_of(BASE[name], lists).name
    return environments() / f"{name}-{digest_of(content)[:12]}"


def make_once(name: str, folder: Path, make: Callable[[Path], object]) -> None:
    """Of several that ask at the same time, one makes it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            make(folder)
            (folder / "installed").touch()


def pip_folder() -> Path:
    return environments() / f"pip-{platform.python_version()}"


def pip() -> list[str | Path]:
    """This Python's own in an environment by itself: to make one with pip takes seconds, and no other needs it."""
    folder = pip_folder()
    make_once("pip", folder, lambda folder: subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True))
    return [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]


def install(name: str, lists: Path = LISTS) -> None:
    if name in BASE:
        install(BASE[name], lists)
    make_once(name, folder_of(name, lists), lambda folder: fill(name, folder, lists))


def fill(name: str, folder: Path, lists: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    command = [*pip(), "--python", folder / "bin" / "python", "install", "--require-hashes", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--no-compile", "--no-deps", "--requirement", lists / f"{name}.txt"])
    if done.returncode != 0:
        raise Refusal(f"pip did not install {name}.txt, for the reason above. Where a hash is not the expected one, the wheel "
                      f"is not the one that was chosen: find out why before you choose it with ./dev lock {name}")
    if name in FINISH:
        FINISH[name](folder)
    if found := conflicts_in(folder):
        raise Refusal("\n".join([f"{name}.txt has wheels that do not fit each other: change {name}.in, then ./dev lock {name}", *found]))


def conflicts_in(folder: Path) -> list[str]:
    """Of the versions. What a wheel asks for and a set leaves out is no conflict."""
    run = subprocess.run([*pip(), "--python", folder / "bin" / "python", "check"], stdout=subprocess.PIPE, text=True)
    return [line for line in run.stdout.splitlines() if " has requirement " in line]


def finish_nvcc(folder: Path) -> None:
    (site_of(folder) / "nvidia" / "cu13" / "lib64").symlink_to("lib")  # where nvcc looks


def see_base(name: str, folder: Path) -> Path:
    base = site_of(folder_of(BASE[name]))
    (site_of(folder) / f"{BASE[name]}.pth").write_text(f"{base}\n")
    return base


def finish_oracle(folder: Path) -> None:
    base = see_base("oracle", folder)
    cuda_stubs.write(base / "torch", site_of(folder))
    subprocess.run([folder / "bin" / "python", "-c", "import torch, transformers"], check=True)


def finish_tensorboard(folder: Path) -> None:
    see_base("tensorboard", folder)
    reader = "import tensorboard.backend.event_processing.event_accumulator"
    subprocess.run([folder / "bin" / "python", "-c", reader], check=True)


FINISH: dict[str, Callable[[Path], None]] = {"nvcc": finish_nvcc, "oracle": finish_oracle,
                                           "tensorboard": finish_tensorboard}


def asked_of(name: str, lists: Path = LISTS) -> str:
    """What SET.in asks for, with what it takes over from other sets."""
    content = content_of((lists / f"{name}.in").read_text())
    others = re.findall(r"^-c (\S+)$", content, re.MULTILINE)
    return "\n".join([content, *(content_of((lists / other).read_text()) for other in others)])


def header_of(name: str, lists: Path = LISTS) -> str:
    return f"# Written by ./dev lock from {name}.in ({digest_of(asked_of(name, lists))[:16]}).\n"


def pins_of(report: dict) -> Iterable[str]:
    for wheel in report["install"]:
        package = re.sub(r"[-_.]+", "-", wheel["metadata"]["name"]).lower()
        hash_of = wheel["download_info"]["archive_info"]["hash"].replace("=", ":")
        yield f"{package}=={wheel['metadata']['version']} --hash={hash_of}\n"


def lock(name: str, lists: Path = LISTS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [*pip(), "install", "--dry-run", "--ignore-installed", "--report", report]
        bare = ["--no-deps"] if name in BARE else []
        done = subprocess.run([*command, "--only-binary", ":all:", *bare, "--requirement", lists / f"{name}.in"])
        if done.returncode != 0:
            raise Refusal(f"pip found no wheels for {name}.in, for the reason above; {name}.txt is as it was")
        pins = sorted(pins_of(json.loads(report.read_text())))
    (lists / f"{name}.txt").write_text(header_of(name, lists) + "".join(pins))


def mistakes_in(lists: Path = LISTS) -> Iterable[str]:
    for path in sorted(lists.glob("*.in")):
        text = (lists / f"{path.stem}.txt").read_text()
        if not text.startswith(header_of(path.stem, lists)):
            yield f"{path.stem}.txt was not written from {path.name} as it is now: ./dev lock {path.stem}"
        for pin in content_of(text).splitlines():
            if not re.fullmatch(r"[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}", pin):
                yield f"{path.stem}.txt: '{pin}' is not a wheel with its version and hash: ./dev lock {path.stem}"


def check() -> None:
    mistakes = list(mistakes_in())
    if mistakes:
        raise Refusal("\n".join(mistakes))


def main(verb: str, *names: str) -> None:
    if verb == "folder":
        print(folder_of(*names))
    elif verb == "install":
        install(*names)
    elif verb == "lock":
        for name in names or sorted(path.stem for path in LISTS.glob("*.in")):
            lock(name)
    elif verb == "check":
        check()
    else:
        raise Refusal(f"no verb '{verb}'\n{__doc__}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refusal, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"wheels.py: {error}")
