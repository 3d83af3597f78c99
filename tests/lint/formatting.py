"""Asks clang-format about each C++ file that git knows, and remembers those it found clean by the hash of what they hold.

Usage: formatting.py REPOSITORY CACHE
"""

import hashlib
import json
import pathlib
import subprocess
import sys

CLANG_FORMAT = "clang-format-14"


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def main(repository, cache):
    remembered = pathlib.Path(cache, "formatted.json")
    settings = (output_of(CLANG_FORMAT, "--version") + pathlib.Path(repository, ".clang-format").read_text()).encode()
    names = output_of("git", "ls-files", "*.cc", "*.cu", "*.h", cwd=repository).split()
    keys = {name: hashlib.sha256(settings + b"\0" + pathlib.Path(repository, name).read_bytes()).hexdigest() for name in names}
    clean = set(json.loads(remembered.read_text())) if remembered.exists() else set()
    todo = [name for name in names if keys[name] not in clean]
    print(f"clang-format: {len(names)} files, {len(todo)} of them not known to be clean", flush=True)
    if todo and subprocess.run([CLANG_FORMAT, "--dry-run", "--Werror", *todo], cwd=repository, check=False).returncode != 0:
        return 1
    written = remembered.with_suffix(".new")
    written.write_text(json.dumps(sorted(keys.values())))
    written.replace(remembered)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
