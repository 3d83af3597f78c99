"""Runs a benchmark that prints one JSON object, and keeps it with what a reader must know to repeat it.

Usage: record.py NAME PYTHON SCRIPT PROGRAMS [ARGUMENT...]     writes bench/results/DATE-NAME.json, and prints it
"""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]


def first_match(pattern, path):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    return found.group(1) if found else "unknown"


def machine():
    memory = int(first_match(r"^MemTotal:\s+(\d+)", "/proc/meminfo")) >> 20
    return {"processor": first_match(r"^model name\s*: (.*)$", "/proc/cpuinfo"), "cores": os.cpu_count(),
            "memoryGiB": memory, "kernel": platform.release()}


def commit():
    """With a + when the tree has changes that are not in it."""
    text = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=REPOSITORY, check=True,
                          capture_output=True, text=True).stdout
    return text.strip()


def main(name, python, script, programs, *arguments):
    done = subprocess.run([python, script, programs, *arguments], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:  # it has said why
        sys.exit(done.returncode)
    result = json.loads(done.stdout)
    date = datetime.date.today().isoformat()
    text = json.dumps({"benchmark": name, "date": date, "machine": machine(), "commit": commit(),
                       "command": " ".join(["./dev bench", name, *arguments]), "result": result}, indent=2)
    (REPOSITORY / "bench/results" / f"{date}-{name}.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
