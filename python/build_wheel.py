#!/usr/bin/env python3
"""Writes the client's wheel: build_wheel.py SCRATCH TO. The Python that runs it has the wheels of wheels/client.txt.

The messages and stubs are made from proto/ here, so that who installs the wheel needs no compiler of them. The same input
gives the same bytes.
"""

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

from grpc_tools import protoc
from setuptools import build_meta

CLIENT = Path(__file__).resolve().parent
REPOSITORY = CLIENT.parent
API = ("capacity", "estimate", "job", "job_service", "metrics", "options", "plan")
EPOCH = "1577836800"  # 2020-01-01, before which zip has no time


def version() -> str:
    return re.search(r"^project\(caravan VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def generate(to: Path) -> None:
    files = [f"caravan/v1alpha1/{name}.proto" for name in API]
    outputs = [f"--{kind}_out={to}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main(["protoc", f"--proto_path={REPOSITORY}/proto", *outputs, *files]) != 0:
        sys.exit("build_wheel.py: the compiler refused proto/, for the reason above")
    (to / "caravan/v1alpha1/__init__.py").touch()


def build(scratch: Path, to: Path) -> None:
    to = to.resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(CLIENT / "caravan", scratch / "caravan", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (CLIENT / "README.md", REPOSITORY / "LICENSE"):
        shutil.copy(file, scratch)
    (scratch / "pyproject.toml").write_text((CLIENT / "pyproject.toml.in").read_text().replace("@VERSION@", version()))
    generate(scratch)
    os.environ["SOURCE_DATE_EPOCH"] = EPOCH
    with contextlib.chdir(scratch), contextlib.redirect_stdout(sys.stderr):
        build_meta.build_wheel(str(to), {"--global-option": "--quiet"})


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:]))
