"""Copies the licences of the libraries that programs load.

Usage: licences.py PROGRAMS DESTINATION PROGRAM...     PROGRAMS: folder of the programs as they were linked
"""

import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "images"))
from shared_libraries import closure, licence_texts  # noqa: E402


def main(programs: str, destination: str, *names: str) -> None:
    libraries = closure(pathlib.Path(programs) / name for name in names)
    for place, text in licence_texts(libraries.values()).items():
        copy = pathlib.Path(destination) / pathlib.Path(place).relative_to("/usr/share/doc")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(text, copy)


if __name__ == "__main__":
    main(*sys.argv[1:])
