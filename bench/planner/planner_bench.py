"""Holds the planner against published measurements: fits, picks, memory limits, step times, layouts.

Usage: planner_bench.py BIN [DATA] [--write | --check]

BIN holds caravan and planner_evaluate, DATA the measured rows; if absent, shared/data beside the repository. Prints one
JSON object. --write also writes the fitted profile bench/planner/profiles/hagemann.yaml and the tables of
docs/planner-validation.md. --check prints nothing but the bars that were missed, if any, and then ends with exit code 1;
without the data it ends with 77, which ctest reports as skipped. The profile that was checked in must be the one that the
data give.
"""

import argparse
import json
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="?", default=REPOSITORY.parent / "shared/data")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if not (given.data / "hagemann_calibration.csv").exists():
        print(f"{given.data}: the measured data are not there", file=sys.stderr)
        return SKIPPED if given.check else 2
    import report  # needs numpy, which a run without data does not
    import validation
    result = validation.validate(given.bin.resolve(), given.data)
    profile = validation.profile_of(result)
    if not given.check:
        print(json.dumps(result, indent=2))
    if given.write:
        report.write(REPOSITORY, result, profile)
    missed = validation.missed_bars(result)
    shipped = (REPOSITORY / "bench/planner/profiles/hagemann.yaml").read_text(encoding="utf-8")
    if given.check and shipped != report.profile_text(profile):
        missed.append("bench/planner/profiles/hagemann.yaml is not what the data give; run `./dev bench planner --write`")
    for bar in missed:
        print(f"missed: {bar}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
