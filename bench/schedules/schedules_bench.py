"""Whether pipelines idle as long as the simulator says: every schedule through the trainer's executor, over Gloo, on four
ranks that sleep for as long as their ops take.

Usage: schedules_bench.py PROGRAMS [--micro-batches 8] [--unit 250]     PROGRAMS: folder of schedule_sleepers

Prints one JSON object: of each schedule, for ops that all take one unit of so many milliseconds and for others, the bubble
that was simulated, the one that was measured and the error, of which the goal is at most 5 %.
"""

import argparse
import json
import pathlib
import subprocess

STAGES = 4
TIMES = {"F = B = W = 1": (1, 1, 1), "F = 1, B = 1.2, W = 0.8": (1, 1.2, 0.8)}


def measured(programs: pathlib.Path, micro_batches: int, unit: float, times: tuple) -> dict:
    done = subprocess.run([programs / "schedule_sleepers", str(STAGES), str(micro_batches), str(unit), *map(str, times)],
                          check=True, stdout=subprocess.PIPE, text=True)
    return dict(row_of(line) for line in done.stdout.splitlines())


def row_of(line: str) -> tuple[str, dict]:
    name, *seconds = line.split()
    simulated, took, work = map(float, seconds)
    bubbles = simulated - work, took - work
    return name, {"simulatedBubbleSeconds": round(bubbles[0], 4), "measuredBubbleSeconds": round(bubbles[1], 4),
                  "errorPercent": round(100 * (bubbles[1] / bubbles[0] - 1), 1)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--micro-batches", type=int, default=8)
    arguments.add_argument("--unit", type=float, default=250)
    given = arguments.parse_args()
    rows = {label: measured(given.programs.resolve(), given.micro_batches, given.unit, times) for label, times in TIMES.items()}
    worst = max(abs(row["errorPercent"]) for table in rows.values() for row in table.values())
    print(json.dumps({"stages": STAGES, "microBatches": given.micro_batches, "unitMilliseconds": given.unit,
                      "worstErrorPercent": worst, "goalErrorPercent": 5, "schedules": rows}, indent=2))


if __name__ == "__main__":
    main()
