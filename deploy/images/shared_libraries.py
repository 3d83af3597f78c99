"""What a program needs beside itself: the closure of its shared libraries, and whose they are.

The loader of this machine is asked, so run paths and the libraries' own needs count. Libraries that are opened
by name at run time are not known to it; whoever describes a program names them.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Collection, Iterable

# Brought by the node's driver, never by an image.
OF_THE_DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})
# "name => path (address)", or "path (address)" for the loader itself.
_FOUND = re.compile(r"\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x[0-9a-f]+\)")
_MISSING = re.compile(r"\s*(?P<name>\S+) => not found")


class MissingLibrary(ValueError):
    pass


def closure(programs: Iterable[Path]) -> dict[str, Path]:
    """The files that the programs load, by where an image has them. MissingLibrary names one that is not here.

    What one does not find by itself may be there by another: a library opened by name has in memory what its program loads.
    """
    files: dict[str, Path] = {}
    missing: dict[str, Path] = {}
    for program in programs:
        for line in _ask_loader(program).splitlines():
            if lacks := _MISSING.match(line):
                missing.setdefault(lacks["name"], program)
            if (found := _FOUND.match(line)) and found["name"] not in OF_THE_DRIVER:
                files[_place(found["name"], found["path"])] = Path(found["path"]).resolve()
    for name in missing.keys() - OF_THE_DRIVER - {Path(place).name for place in files}:
        raise MissingLibrary(f"{missing[name]} needs {name}, which is not on this machine")
    return files


def _ask_loader(program: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    answer = subprocess.run(["ldd", program], env=environment | {"LC_ALL": "C"}, capture_output=True, text=True)
    if answer.returncode != 0 and "statically linked" not in answer.stdout + answer.stderr:
        raise ValueError(f"ldd {program}: {(answer.stdout + answer.stderr).strip()}")
    return answer.stdout


def _place(name: str | None, path: str) -> str:
    """/usr/lib is searched by default; the loader's own path is written in the programs."""
    return path if name is None or name.startswith("/") else f"/usr/lib/{name}"


def licence_texts(files: Collection[Path]) -> dict[str, Path]:
    """The licences of the Debian packages and Python wheels that the files come from, by their place in an image."""
    return _licences_of_packages(files) | _licences_of_wheels(files)


def _licences_of_packages(files: Collection[Path]) -> dict[str, Path]:
    # Packages own files by the names from before /lib became /usr/lib.
    names = [str(file) for file in files] + [str(file).removeprefix("/usr") for file in files]
    answer = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True)
    packages = sorted({line.split(":")[0] for line in answer.stdout.splitlines()})
    texts = {f"/usr/share/doc/{package}/copyright": Path(f"/usr/share/doc/{package}/copyright") for package in packages}
    return {place: text.resolve() for place, text in texts.items() if text.exists()}


def _licences_of_wheels(files: Collection[Path]) -> dict[str, Path]:
    sites = {parent for file in files for parent in file.parents if parent.name == "site-packages"}
    texts: dict[str, Path] = {}
    for record in sorted(record for site in sites for record in site.glob("*.dist-info/RECORD")):
        owned = {record.parent.parent / line.split(",")[0] for line in record.read_text().splitlines()}
        if owned.isdisjoint(files):
            continue
        wheel = record.parent.name.removesuffix(".dist-info")
        for text in sorted(owned):
            if text.parent == record.parent / "licenses":
                texts[f"/usr/share/doc/{wheel}/{text.name}"] = text
    return texts
