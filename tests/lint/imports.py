"""Imports every Python program of a folder: what only a long suite runs must still find what it takes from the others.

Usage: imports.py FOLDER
"""

import pathlib
import subprocess
import sys

IMPORT = "import importlib, sys; name = sys.argv[1]; sys.argv[1:] = ['some', 'arguments']; importlib.import_module(name)"


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    programs = sorted(folder.glob("*.py"))
    failed = 0
    for program in programs:
        done = subprocess.run([sys.executable, "-c", IMPORT, program.stem], cwd=folder, capture_output=True, text=True)
        failed += done.returncode != 0
        if done.returncode != 0:
            print(f"{program}: {done.stderr.strip().splitlines()[-1]}")
    print(f"{len(programs)} programs, {failed} of which cannot be imported")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
