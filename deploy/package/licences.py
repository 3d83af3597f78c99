"""Copies the licences of the libraries that programs load, and of what is compiled into programs.

Usage: licences.py BUILD DESTINATION PROGRAM...     BUILD: a build folder with the programs
"""

import os
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "images"))
import compiled_in  # noqa: E402
from shared_libraries import closure, licence_texts  # noqa: E402


def main(build: str, destination: str, *names: str) -> None:
    os.umask(0o022)  # all may read them
    libraries = closure(pathlib.Path(build, "bin", name) for name in names)
    texts = licence_texts(libraries.values()) | compiled_in.licence_texts(pathlib.Path(build))
    for place, text in texts.items():
        copy = pathlib.Path(destination) / pathlib.Path(place).relative_to("/usr/share/doc")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(text, copy)


if __name__ == "__main__":
    main(*sys.argv[1:])
