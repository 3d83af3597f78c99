"""Runs clang-tidy over the files of the build but tests, and remembers clean files by the hash of all that they read.

Usage: tidy.py REPOSITORY BUILD CACHE [COMMITS MOST]

With COMMITS only over files that changed, or whose header of the same name did, since so many commits ago or not
committed yet; over all where git does not know. Of those at most MOST, which CARAVAN_TEST_DAY chooses, so that files take
turns, and that what is mended is looked at again.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CLANG_TIDY = "clang-tidy-14"


def dependencies_by_object(build):
    """What ninja knows each object was made of: object -> files of this project."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    result, current = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            current = result.setdefault(line.split(":")[0], [])
        elif line.strip() and current is not None and not line.strip().startswith("/usr/"):
            current.append(line.strip())
    return result


def for_clang(command):
    """Headers that GCC has precompiled, warnings that Clang does not have, and how much memory GCC takes are for GCC alone."""
    of_gcc = r" -Winvalid-pch -include \S+| -Wno-(subobject-linkage|stringop-overflow)| --param=ggc-min-heapsize=\d+"
    return {**command, "command": re.sub(of_gcc, "", command["command"])}


def each_file(commands):
    """Those of the files by themselves that a unity build compiles as one."""
    for command in commands:
        file = pathlib.Path(command["file"])
        if file.parent.name != "Unity":
            yield command
            continue
        for part in re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE):
            yield {**command, "file": part, "command": command["command"].replace(f"-c {file}", f"-c {part}")}


def output_of(command):
    words = command["command"].split()
    return words[words.index("-o") + 1]


def is_product(file, repository):
    path = pathlib.Path(file)
    if not path.is_relative_to(repository) or path.name.endswith("_test.cc"):
        return False
    return path.relative_to(repository).parts[0] not in ("build", "fuzz", "tests")


def key_of(repository, build, command, dependencies):
    digest = hashlib.sha256()
    for folder in pathlib.Path(command["file"]).relative_to(repository).parents:
        settings = repository / folder / ".clang-tidy"
        digest.update(settings.read_bytes() if settings.is_file() else b"")
    digest.update(command["command"].replace(str(repository), "").encode())
    for name in sorted(dependencies):
        path = pathlib.Path(build, name)
        if path.is_file() and "site-packages" not in name:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def changed_names(repository, commits):
    """Names without their endings, or nothing where git cannot tell."""
    names = set()
    for arguments in (["diff", "--name-only", f"HEAD~{commits}"], ["ls-files", "--others", "--exclude-standard"]):
        run = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, text=True)
        if run.returncode != 0:
            return None
        names.update(str(pathlib.Path(name).with_suffix("")) for name in run.stdout.splitlines())
    return names


def name_of(command, repository):
    """In the repository, without its ending."""
    return str(pathlib.Path(command["file"]).relative_to(repository).with_suffix(""))


def sample(commands, most, seed):
    """The same for one seed, whatever the order."""
    ranked = sorted(commands, key=lambda each: hashlib.sha256(f"{seed} {pathlib.Path(each['file']).name}".encode()).digest())
    return ranked[:most]


def check(command, folder):
    # OpenMP off: clang would look for a header of its own.
    run = subprocess.run(
        [CLANG_TIDY, "--quiet", "--extra-arg=-fno-openmp", "-p", folder, command["file"]], capture_output=True, text=True)
    return run.returncode, run.stdout


def main(repository, build, cache, commits=None, most=None):
    changed = changed_names(repository, commits) if commits else None
    repository, cache = pathlib.Path(repository), pathlib.Path(cache, "tidy")
    cache.mkdir(parents=True, exist_ok=True)
    dependencies = dependencies_by_object(build)
    known = json.loads(pathlib.Path(build, "compile_commands.json").read_text())
    commands = [for_clang(command) for command in each_file(known)
                if is_product(command["file"], repository) and (changed is None or name_of(command, repository) in changed)]
    found = len(commands)
    if most is not None:
        commands = sample(commands, int(most), os.environ.get("CARAVAN_TEST_DAY", ""))
    todo = []
    for command in commands:
        read = dependencies.get(output_of(command))  # by a compiler: nothing where the file was never compiled
        stamp = cache / key_of(repository, build, command, read) if read else None
        if stamp is None or not stamp.exists():
            todo.append((command, stamp))
    failures = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(commands))
        runs = {pool.submit(check, command, folder): (command, stamp) for command, stamp in todo}
        for run in concurrent.futures.as_completed(runs):
            command, stamp = runs[run]
            code, output = run.result()
            if code == 0 and stamp is not None:
                stamp.touch()
            elif code != 0:
                failures += 1
                print(f"{command['file']}:\n{output}")
    print(f"clang-tidy: {len(commands)} of {found} files, {len(todo)} of them not known to be clean, {failures} with findings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
