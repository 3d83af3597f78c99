#!/usr/bin/env python3
"""Writes the images of the operator and of the workers from what was built.

    images.py BUILD OUT [--cuda] [--registry PREFIX]

BUILD is a build folder with the programs, OUT gets caravan-operator.tar and caravan-worker.tar; with --cuda also
caravan-worker-cuda.tar, for nodes with GPUs. An image holds the programs, the libraries that they load and the
licences of those and of what is compiled in, and nothing else: no shell, no package manager. An archive whose inputs
did not change is left as it is. Errors: exit code 1, saying what is missing.
"""

import argparse
import hashlib
import itertools
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Sequence

import compiled_in
import layer
import oci_image
from layer import Entry, file_entry
from oci_image import Image
from shared_libraries import closure, licence_texts

SOURCES = Path(__file__).resolve().parents[2]
LICENCE = "/usr/share/doc/caravan/LICENSE"


@dataclass(frozen=True)
class Description:
    """One image. The first program is what runs; others stand beside it."""

    name: str
    title: str
    description: str
    programs: tuple[str, ...]
    ports: tuple[int, ...]
    plugins: tuple[str, ...] = ()  # in BUILD/lib; a program opens them by name, or one the other
    opened: tuple[str, ...] = ()  # libraries that others open by name: patterns beside those they load
    read: tuple[str, ...] = ()  # what libraries read where it is: patterns from the root on
    environment: dict[str, str] = field(default_factory=dict)


OPERATOR = Description(
    "caravan-operator",
    "Caravan operator",
    "Runs LlamaTrainingJobs on Kubernetes: the operator and the job service",
    programs=("caravan-operator", "caravan-service"),
    ports=(8080, 8081, 8443, 8444, 9443, 9444),
)
WORKER = Description(
    "caravan-worker",
    "Caravan worker",
    "Trains Llama models on CPUs: the agent of a node and its trainer",
    programs=("caravan-agent", "caravan-trainer"),
    ports=(7070, 9400),
)
CUDA_WORKER = Description(
    "caravan-worker-cuda",
    "Caravan worker for NVIDIA GPUs",
    "Trains Llama models on GPUs: the agent of a node, its trainer and CUDA's libraries without the driver",
    programs=("caravan-agent", "caravan-trainer"),
    ports=(7070, 9400),
    plugins=("libcaravan_device_cuda.so", "libcaravan_cuda.so"),
    opened=(
        "libcudnn_*.so.9",
        "libnvrtc.so.13",
        "libnvrtc-builtins.so.13.*",
        "libibverbs/lib*-rdmav*.so",  # NCCL opens libibverbs, which they load, and that opens them: InfiniBand and RoCE
    ),
    read=("etc/libibverbs.d/*.driver",),
    # Where nodes put their driver, which the loader does not look at by itself: GKE, and CDI on those of Red Hat's kind.
    environment={"LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/lib64"},
)


def base_files() -> list[Entry]:
    """What the C library reads, and a place for temporary files."""
    users = b"root:x:0:0:root:/:/usr/sbin/nologin\ncaravan:x:65532:65532:caravan:/:/usr/sbin/nologin\n"
    return [
        Entry("/etc/passwd", users, 0o644),
        Entry("/etc/group", b"root:x:0:\ncaravan:x:65532:\n", 0o644),
        Entry("/etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n", 0o644),
        Entry("/tmp", None, 0o1777),
    ]


def install_programs(build: Path, out: Path) -> Path:
    """Copies the programs as they are to be shipped: stripped."""
    folder = out / "programs"
    command = ["cmake", "--install", build, "--component", "images", "--strip", "--prefix", folder.resolve()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"the programs are not built in {build}:\n{done.stdout}{done.stderr}".rstrip())
    return folder / "bin"


def plugins_of(description: Description, build: Path) -> list[Path]:
    plugins = [(build / "lib" / name).resolve() for name in description.plugins]
    for plugin in plugins:
        if not plugin.exists():
            raise ValueError(
                f"{description.name} needs {plugin}, the CUDA code of the trainer, which this build does not have;"
                " it was not written"
            )
    return plugins


def libraries_of(description: Description, build: Path, plugins: Sequence[Path]) -> dict[str, Path]:
    """From the programs where they were built, whose run paths lead to the libraries of this machine."""
    libraries = closure([*(build / "bin" / program for program in description.programs), *plugins])
    folders = {library.parent for library in libraries.values()}
    opened = files_of(description, description.opened, folders)
    libraries |= closure(opened)
    return libraries | {f"/usr/lib/{path.name}": path.resolve() for path in opened}


def files_of(description: Description, patterns: Sequence[str], folders: Iterable[Path]) -> list[Path]:
    found = {pattern: [path for folder in folders for path in folder.glob(pattern)] for pattern in patterns}
    for pattern, paths in found.items():
        if not paths:
            raise ValueError(f"{description.name} needs {pattern}, which is not on this machine; it was not written")
    return list(itertools.chain(*found.values()))


def layers_of(description: Description, build: Path, programs: Path) -> list[list[Entry]]:
    """What changes with the pinned wheels, with Debian's updates, and with each build."""
    plugins = plugins_of(description, build)
    libraries = libraries_of(description, build, plugins)
    wheels = {place: path for place, path in libraries.items() if "site-packages" in path.parts}
    system = {place: path for place, path in libraries.items() if place not in wheels and path not in plugins}
    system |= {str(path): path.resolve() for path in files_of(description, description.read, [Path("/")])}
    own = {f"/usr/bin/{program}": programs / program for program in description.programs}
    own |= {f"/usr/lib/{plugin.name}": programs.parent / "lib" / plugin.name for plugin in plugins}
    own |= compiled_in.licence_texts(build)
    own[LICENCE] = SOURCES / "LICENSE"
    layers = [
        entries_of(wheels | licence_texts(wheels.values())),
        base_files() + entries_of(system | licence_texts(system.values())),
        entries_of(own),
    ]
    return [entries for entries in layers if entries]


def entries_of(files: dict[str, Path]) -> list[Entry]:
    return [file_entry(path, place) for place, path in sorted(files.items())]


def version_of(build: Path) -> str:
    cache = (build / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(\S+)$", cache, re.MULTILINE)[1]


def labels_of(description: Description, version: str) -> dict[str, str]:
    labels = {
        "title": description.title,
        "description": description.description,
        "version": version,
        "licenses": "Apache-2.0",
    }
    describe = ["git", "-C", SOURCES, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    revision = subprocess.run(describe, capture_output=True, text=True)
    if revision.returncode == 0:
        labels["revision"] = revision.stdout.strip()
    return {f"org.opencontainers.image.{key}": value for key, value in labels.items()}


def fingerprint(image: Image) -> str:
    """Of everything that the archive depends on, and of what writes it."""
    told = [image.name, image.entrypoint, image.labels, image.ports, image.environment]
    digest = hashlib.sha256(json.dumps(told).encode())
    for module in (layer, oci_image):
        digest.update(Path(module.__file__).read_bytes())
    for entries in image.layers:
        for entry in entries:
            digest.update(f"{entry.path} {entry.mode} {content_digest(entry)}\n".encode())
    return digest.hexdigest()


def content_digest(entry: Entry) -> str:
    if not isinstance(entry.content, Path):
        return hashlib.sha256(entry.content or b"").hexdigest()
    with open(entry.content, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def write_if_changed(image: Image, archive: Path) -> None:
    record = archive.with_suffix(".json")
    inputs = fingerprint(image)
    known = json.loads(record.read_text()) if record.exists() and archive.exists() else {}
    if known.get("inputs") != inputs:
        record.unlink(missing_ok=True)
        known = {"inputs": inputs, "digest": oci_image.write_image(image, archive)}
        record.write_text(json.dumps(known))
    print(f"{archive}  {image.name}  {known['digest']}  {archive.stat().st_size / 1e6:.1f} MB")


def write_all(descriptions: Iterable[Description], build: Path, out: Path, registry: str) -> None:
    programs = install_programs(build, out)
    version = version_of(build)
    for description in descriptions:
        entrypoint = f"/usr/bin/{description.programs[0]}"
        layers = layers_of(description, build, programs)
        name = f"{registry}/{description.name}:{version}"
        labels = labels_of(description, version)
        image = Image(name, entrypoint, layers, labels, description.ports, description.environment)
        write_if_changed(image, out / f"{description.name}.tar")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Writes the images of the operator and of the workers.")
    parser.add_argument("build", type=Path, help="a build folder with the programs")
    parser.add_argument("out", type=Path, help="folder of the archives")
    parser.add_argument("--cuda", action="store_true", help="also the worker for NVIDIA GPUs")
    parser.add_argument("--registry", default="localhost", metavar="PREFIX", help="what the images' names begin with")
    options = parser.parse_args(arguments)
    descriptions = [OPERATOR, WORKER] + [CUDA_WORKER] * options.cuda
    try:
        write_all(descriptions, options.build, options.out, options.registry)
    except (OSError, ValueError) as error:
        print(f"images.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
