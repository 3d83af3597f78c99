"""Asks clang-format about each C++ file that git knows, and remembers those it found clean by the hash of what they hold.

Usage: formatting.py REPOSITORY CACHE

Where git knows no checkout, about each below the repository but what is built.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

CLANG_FORMAT = "clang-format-14"
ENDINGS = (".cc", ".cu", ".h")


def files_of(repository):
    listed = subprocess.run(["git", "ls-files"], cwd=repository, check=False, capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if name.endswith(ENDINGS)]
    names = (path.relative_to(repository) for path in pathlib.Path(repository).rglob("*"))
    return sorted(str(name) for name in names if name.suffix in ENDINGS and name.parts[0] != "build")


def main(repository, cache):
    remembered = pathlib.Path(cache, "formatted.json")
    version = subprocess.run([CLANG_FORMAT, "--version"], check=True, capture_output=True).stdout
    settings = version + pathlib.Path(repository, ".clang-format").read_bytes()
    names = files_of(repository)
    keys = {name: hashlib.sha256(settings + b"\0" + pathlib.Path(repository, name).read_bytes()).hexdigest() for name in names}
    clean = set(json.loads(remembered.read_text())) if remembered.exists() else set()
    todo = [name for name in names if keys[name] not in clean]
    print(f"clang-format: {len(names)} files, {len(todo)} of them not known to be clean", flush=True)
    if todo and subprocess.run([CLANG_FORMAT, "--dry-run", "--Werror", *todo], cwd=repository, check=False).returncode != 0:
        return 1
    written = remembered.with_suffix(f".{os.getpid()}")  # checkouts share the folder
    written.write_text(json.dumps(sorted(keys.values())))
    written.replace(remembered)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
