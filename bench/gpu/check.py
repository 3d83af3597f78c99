"""Whether kernels, library, training and groups of ranks are right on this machine's GPU: the tests of a bundle, layouts of a
small model (groups.py), a job as users start it (user_run.py), and compute-sanitizer, all at once.

Usage: check.py FOLDER [--minutes 5] [--output FOLDER]     FOLDER: of gpu_bench.py --prepare

Exit code 1 where a check fails, is skipped for want of a device, or was not made; each has its whole output in a file of
--output.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import groups
import processes
import user_run

SANITIZER = "compute-sanitizer"
EVERY_CASE = {"CARAVAN_TEST_DAY": "all"}  # else long rows of cases take turns
KERNELS = ["cuda_device_test", "--gtest_filter=-LoadedLibrary.*"]  # that one is for machines without a device


@dataclasses.dataclass(frozen=True)
class Check:
    name: str
    command: list[str]  # a program's path is within the bundle's tests


CHECKS = [
    Check("kernels", KERNELS),
    Check("library-and-training", ["gpu_test", "--gtest_filter=*Gpu*"]),
    # What CUDA refuses is returned, and tests ask for it.
    Check("memcheck", [SANITIZER, "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", "9", *KERNELS]),
    Check("racecheck", [SANITIZER, "--tool", "racecheck", "--error-exitcode", "9", *KERNELS]),
]


def said_of(output: str, code: int) -> str:
    """Empty: all passed."""
    failed = re.findall(r"^\[  FAILED  \] ([^\s,]+).*\(\d+ ms\)$", output, re.MULTILINE)
    if failed:
        return f"{len(failed)} tests failed, first {failed[0]}"
    if code != 0:
        last = output.strip().splitlines()
        return f"exit code {code}: {last[-1] if last else 'no output'}"
    if "[  SKIPPED ]" in output:
        return "tests were skipped: is there a device?"
    return "" if "[  PASSED  ]" in output else "no test ran"


def run(check: Check, tests: pathlib.Path, environment: dict, seconds: float, log: pathlib.Path) -> str:
    if seconds < 1:
        return "not made: no time was left"
    if check.command[0] == SANITIZER and shutil.which(SANITIZER, path=environment["PATH"]) is None:
        return f"not made: no {SANITIZER} here"
    command = [str(tests / word) if (tests / word).is_file() else word for word in check.command]
    with log.open("w+") as output:
        try:
            code = processes.ended(command, seconds, environment, output, subprocess.STDOUT).returncode
        except subprocess.TimeoutExpired:
            return f"not done after {seconds:.0f} s"
        output.seek(0)
        return said_of(output.read(), code)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--output", type=pathlib.Path)
    given = arguments.parse_args()
    folder, end = given.folder.resolve(), time.monotonic() + 60 * given.minutes
    output = given.output or folder
    output.mkdir(parents=True, exist_ok=True)
    libraries = {"LD_LIBRARY_PATH": processes.libraries(folder)}

    def made(check: Check) -> tuple[str, str]:
        log = output / f"check-{check.name}.log"
        return check.name, run(check, folder / "programs/tests", os.environ | libraries | EVERY_CASE, end - time.monotonic(), log)

    def of_groups() -> int:
        checks = groups.Checks(folder, folder / "programs/bin/caravan-trainer", libraries, output, end)
        return groups.check_all(checks, groups.devices_here(), lambda line: print(line, flush=True))

    def of_user() -> int:
        said = user_run.UserRun(folder, libraries, output).problem(end - time.monotonic())
        print(f"caravan run: {said or 'it trains and tells its metrics'}", flush=True)
        return said != ""

    with concurrent.futures.ThreadPoolExecutor(len(CHECKS) + 2) as pool:
        others = [pool.submit(of_groups), pool.submit(of_user)]
        bad = 0
        for result in concurrent.futures.as_completed([pool.submit(made, check) for check in CHECKS]):
            name, said = result.result()
            bad += said != ""
            print(f"{name}: {said or 'all passed'}", flush=True)
        bad += sum(other.result() for other in others)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
