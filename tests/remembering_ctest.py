#!/usr/bin/env python3
"""Runs ctest, but not the tests that have their turn on another day, nor those that have passed today as they are.

Usage: remembering_ctest.py PRESET JOBS FILTER...       JOBS: at a time; FILTER: of ctest, as -L unit

Tests with a label that ends in _by_turns take long: each runs on one day of three, which its name chooses, where one of its
REQUIRED_FILES has changed in the last three days, or is not committed, and where the day is "all" or none; by hand ctest runs it
whenever it is asked.

What a test is: its programs, those of the build that it may start, what it may read of the checkout (every file that git knows
but C++ sources, and of those its REQUIRED_FILES), the processor, Debian's packages, the user, and the day that chooses its cases
(CARAVAN_TEST_DAY). A test with the label `alone` starts no program. Those with the label `lint` or `lint_by_turns` read sources,
and so run whenever they have their turn; so does everything that has its turn with CARAVAN_TEST_AGAIN=1, and where git knows no
checkout, and everything where the day is "all" or none. With a test run again those that it DEPENDS on: it looks at what they
have done. What has passed stands in the build folder, and goes with it; what has failed here since, whatever was asked for, has
not passed.
"""

import hashlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALWAYS, ALONE, BY_TURNS = "lint", "alone", "_by_turns"
NOT_READ = (".cc", ".h", ".cu")
PASSED = "run"  # in ctest's report
PACKAGES = pathlib.Path("/var/lib/dpkg/status")


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Test:
    def __init__(self, number: int, shown: dict) -> None:
        properties = {each["name"]: each["value"] for each in shown["properties"]}
        self.number, self.name, self.command = number, shown["name"], shown.get("command", [])
        self.labels = properties.get("LABELS", [])
        self.required_files, self.depends = properties.get("REQUIRED_FILES", []), properties.get("DEPENDS", [])
        # These come with the tests that need them.
        self.is_fixture = "FIXTURES_SETUP" in properties or "FIXTURES_CLEANUP" in properties

    def has_its_turn(self, day: int, changed: set[str]) -> bool:
        takes_turns = any(label.endswith(BY_TURNS) for label in self.labels)
        if not takes_turns or changed.intersection(self.required_files):
            return True
        return (zlib.crc32(self.name.encode()) + day + day // 9) % 3 == 0  # see common/testing/turn.h

    def runs_always(self) -> bool:
        return ALWAYS in (label.removesuffix(BY_TURNS) for label in self.labels)


class Build:
    """The programs of a build, and the files of its checkout."""

    def __init__(self, folder: pathlib.Path, tests: list[Test], files: list[pathlib.Path]) -> None:
        self._digests = {}
        own = {pathlib.Path(test.command[0]) for test in tests if test.command}
        helpers = [path for name in ("bin", "lib", "tests") if (folder / name).is_dir()
                   for path in sorted((folder / name).iterdir())
                   if path.is_file() and os.access(path, os.X_OK) and path not in own]
        self._programs = digest(*(f"{path} {self._of(path)}" for path in helpers))
        flags = next((line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
        packages = [PACKAGES] if PACKAGES.exists() else []
        self._checkout = digest(platform.release(), flags, str(os.geteuid()),
                                *(f"{path} {self._of(path)}" for path in [*packages, *files]))

    def key(self, test: Test, day: str) -> str:
        own = [f"{word} {self._of(pathlib.Path(word))}" for word in [*test.command, *test.required_files] if os.path.isfile(word)]
        programs = "" if ALONE in test.labels else self._programs
        return digest(day, self._checkout, programs, *test.command, *own)

    def _of(self, path: pathlib.Path) -> str:
        if path not in self._digests:
            with path.open("rb") as file:
                self._digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._digests[path]


def git(*arguments: str) -> set[str]:
    """The files that it names; none where it knows no checkout."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True)
    return set(filter(None, done.stdout.split("\0"))) if done.returncode == 0 else set()


def files_of_checkout() -> list[pathlib.Path]:
    """That tests may read."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [ROOT / name for name in sorted(names) if not name.endswith(NOT_READ) and (ROOT / name).is_file()]


def changed_lately(day: int) -> set[str]:
    """Files that commits of that day and the two before it have changed, or that are not committed."""
    since = f"--since=@{(day - 2) * 86400} +0000"
    return {str(ROOT / name) for name in git("log", "-z", "--format=", "--name-only", since) |
            git("diff", "-z", "--name-only", "HEAD") | git("ls-files", "-z", "--others", "--exclude-standard")}


def ctest(preset: str, *arguments: str | pathlib.Path, **options) -> subprocess.CompletedProcess:
    return subprocess.run(["ctest", "--preset", preset, *arguments], cwd=ROOT, check=False, **options)


def shown(preset: str, *filters: str) -> list[dict]:
    done = ctest(preset, "--show-only=json-v1", *filters, stdout=subprocess.PIPE, text=True)
    done.check_returncode()
    return json.loads(done.stdout)["tests"]


def read_report(report: pathlib.Path) -> dict[str, str]:
    """Of each test how it ended."""
    if not report.exists():
        return {}
    return {case.get("name"): case.get("status") for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase")}


class Memory:
    """What has passed, each as it was."""

    def __init__(self, preset: str) -> None:
        self._path = ROOT / "build" / preset / "passed_tests.json"
        self._keys = json.loads(self._path.read_text()) if self._path.exists() else {}

    def has(self, test: Test, keys: dict[str, str]) -> bool:
        return test.name in keys and self._keys.get(test.name) == keys[test.name]

    def learn(self, ends: dict[str, str], keys: dict[str, str]) -> None:
        for name, end in ends.items():
            if end != PASSED:
                self._keys.pop(name, None)
            elif name in keys:
                self._keys[name] = keys[name]
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(self._keys))
        written.replace(self._path)


def run(preset: str, jobs: str, *arguments: str | pathlib.Path) -> tuple[int, dict[str, str]]:
    """The exit code, and how each test ended."""
    with tempfile.TemporaryDirectory() as name:
        report = pathlib.Path(name) / "report.xml"
        code = ctest(preset, "-j", jobs, *arguments, "--output-junit", report).returncode
        return code, read_report(report)


def run_those(preset: str, jobs: str, tests: list[Test]) -> tuple[int, dict[str, str]]:
    """Beside filters, ctest would number what is left of them."""
    with tempfile.NamedTemporaryFile("w", suffix=".numbers") as numbers:
        numbers.write("0,0,0," + ",".join(str(test.number) for test in tests) + "\n")
        numbers.flush()
        code, ends = run(preset, jobs, "-I", numbers.name)
    missing = [test.name for test in tests if test.name not in ends]
    if missing:
        print(f"ctest did not run {len(missing)} tests that it was asked for, such as {missing[0]}", file=sys.stderr)
    return code or bool(missing), ends


def those_left(today: list[Test], memory: Memory, keys: dict[str, str]) -> list[Test]:
    names = {test.name for test in today if not memory.has(test, keys)}
    by_name = {test.name: test for test in today}
    waiting = list(names)
    while waiting:
        needed = set(by_name[waiting.pop()].depends) & by_name.keys() - names
        names |= needed
        waiting.extend(needed)
    return [test for test in today if test.name in names]


def run_all(preset: str, jobs: str, *filters: str) -> int:
    code, ends = run(preset, jobs, *filters)
    Memory(preset).learn(ends, {})
    return code


def main(preset: str, jobs: str, *filters: str) -> int:
    day = os.environ.get("CARAVAN_TEST_DAY", "all")
    if day == "all":
        return run_all(preset, jobs, *filters)
    tests = [Test(number, each) for number, each in enumerate(shown(preset), start=1)]
    wanted = {each["name"] for each in shown(preset, *filters)}
    asked = [test for test in tests if test.name in wanted and not test.is_fixture]
    if not asked:
        return run_all(preset, jobs, *filters)
    changed = changed_lately(int(day))
    today = [test for test in asked if test.has_its_turn(int(day), changed)]
    if len(today) < len(asked):
        print(f"{len(asked) - len(today)} of {len(asked)} tests have their turn on another day (CARAVAN_TEST_DAY=all has them run)",
              file=sys.stderr, flush=True)

    files = files_of_checkout()
    build = Build(ROOT / "build" / preset, tests, files)
    keys = {test.name: build.key(test, day) for test in today if not test.runs_always()} if files else {}
    memory = Memory(preset)
    left = today if os.environ.get("CARAVAN_TEST_AGAIN") else those_left(today, memory, keys)
    if len(left) < len(today):
        print(f"{len(today) - len(left)} of {len(today)} tests have passed today as they are, and do not run again "
              "(CARAVAN_TEST_AGAIN=1 has them run)", file=sys.stderr, flush=True)
    if not left:
        return 0
    code, ends = run_those(preset, jobs, left)
    memory.learn(ends, keys)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
