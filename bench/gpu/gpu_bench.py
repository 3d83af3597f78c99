"""How fast Caravan trains on one GPU, beside PyTorch with transformers, beside the plan, and beside what the device can do.

Usage: gpu_bench.py PROGRAMS [--tiny] [--product H100-80GB] [--minutes 9]     PROGRAMS: folder of caravan, planner_evaluate
       gpu_bench.py PROGRAMS --prepare FOLDER [--tiny] [--product H100-80GB]
       gpu_bench.py --measure FOLDER [--output FOLDER] [--minutes 9]
       gpu_bench.py PROGRAMS --report FOLDER

All in one call needs a GPU, but for --tiny, which does everything on this processor with small shapes within a minute: that
is how it is tested. Where the GPU is another machine's, which has Python with torch and transformers and nothing of ours, the
three parts are called one by one. With a machine that runs a command over a copy of this checkout, for ten minutes at most:

  here    ./dev build && ./dev build cuda && python3 bench/gpu/gpu_bench.py build/release/bin --prepare build/gpu-bench
  there   PYTHONUNBUFFERED=1 python3 bench/gpu/check.py build/gpu-bench --minutes 4 --output $OUT
  there   PYTHONUNBUFFERED=1 python3 bench/gpu/gpu_bench.py --measure build/gpu-bench --output $OUT
          (carry build/gpu-bench; ask for 300 s and 600 s; logs of the tests, and measured.json, come back)
  here    cp measured.json build/gpu-bench/ && ./dev bench gpu --report build/gpu-bench

The last one writes bench/results/DATE-gpu.json. What it has: the ceilings of the device (copies, large products of random
data), attention by kernel, products by the models' shapes, our own kernels against the limit of memory, full steps of
llama3.2-1b, llama3.2-3b and llama3-8b, one of them kernel by kernel, those of PyTorch (eager, compiled) for the first runs, one
run again with one thing changed at a time, clocks and power meanwhile; MFU and peaks beside the plan's, a ladder from the step to
the ceilings, and the engine profile refitted. Runs that the planner says do not fit are not started and say so: 8B on an H100-80GB
does not, even with states in bf16, so for its figures name --product H200. What there was no time for is named.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import tempfile

import bundle
import cases


def jobs_of(suite: cases.Suite, measured: dict) -> list[dict]:
    """As planner_evaluate reads them: spec and layout of each run."""
    return [{"spec": bundle.job_of(run, suite, "tokens.bin")["spec"], "plan": planned, "jobName": "gpu-bench", "nodes": 1}
            for run, planned in zip(suite.runs, measured["predictions"])]


def print_report(programs: pathlib.Path, folder: pathlib.Path, measured_in: pathlib.Path) -> None:
    import report  # needs numpy, which the other parts do not

    suite, measured = cases.suite_of(bundle.read(folder)["suite"]), report.read_measured(measured_in)
    print(json.dumps(report.report(programs, suite, jobs_of(suite, measured), measured), indent=2))


def run_measurement(folder: pathlib.Path, minutes: float, output: pathlib.Path) -> None:
    import measure  # needs torch, which the other parts do not

    measure.measure(cases.suite_of(bundle.read(folder)["suite"]), folder, minutes, output)


def everything(programs: pathlib.Path, suite: cases.Suite, minutes: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bundle.prepare(programs, suite, folder)
        with contextlib.redirect_stdout(sys.stderr):
            run_measurement(folder, minutes, folder)
        print_report(programs, folder, folder)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path, nargs="?")
    arguments.add_argument("--tiny", action="store_true")
    arguments.add_argument("--product", default="H100-80GB")
    arguments.add_argument("--minutes", type=float, default=9)
    part = arguments.add_mutually_exclusive_group()
    part.add_argument("--prepare", type=pathlib.Path, metavar="FOLDER")
    part.add_argument("--measure", type=pathlib.Path, metavar="FOLDER")
    part.add_argument("--report", type=pathlib.Path, metavar="FOLDER")
    arguments.add_argument("--output", type=pathlib.Path)
    given = arguments.parse_args()
    if given.measure:
        return run_measurement(given.measure, given.minutes, given.output or given.measure)
    if given.programs is None:
        arguments.error("PROGRAMS is needed but for --measure")
    programs, suite = given.programs.resolve(), cases.suite_of("tiny" if given.tiny else given.product)
    if given.prepare:
        bundle.prepare(programs, suite, given.prepare)
    elif given.report:
        print_report(programs, given.report, given.report)
    else:
        everything(programs, suite, given.minutes)


if __name__ == "__main__":
    main()
