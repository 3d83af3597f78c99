"""Whether the planner ranks layouts as the trainer does: eight CPU layouts of one small model.

Usage: plan-order_bench.py PROGRAMS [--rounds 3]     PROGRAMS: folder of caravan, caravan-agent, caravan-trainer

Prints one JSON object: of each layout the predicted time and the measured seconds of a step (the median of a run, the
least of all rounds), and Kendall's tau-b between the two orders; the goal is 0.6. Where a plan has no seconds, the
prediction is the work of a step over what the pipeline does not idle, in units of a step without idling.
"""

import argparse
import itertools
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile

STEPS = 8
LAYOUTS = {
    "TP1 PP1 DP1": {"tensor": 1, "pipeline": 1, "data": 1},
    "TP1 PP1 DP1 with checkpointing": {"tensor": 1, "pipeline": 1, "data": 1, "activationCheckpointing": "Always"},
    "TP1 PP1 DP2": {"tensor": 1, "pipeline": 1, "data": 2},
    "TP1 PP1 DP2 with checkpointing": {"tensor": 1, "pipeline": 1, "data": 2, "activationCheckpointing": "Always"},
    "TP2 PP1 DP1": {"tensor": 2, "pipeline": 1, "data": 1},
    "TP1 PP2 DP1": {"tensor": 1, "pipeline": 2, "data": 1},
    "TP1 PP2 DP1, two micro-batches": {"tensor": 1, "pipeline": 2, "data": 1, "microBatchSize": 8},
    "TP1 PP2 DP1, one micro-batch": {"tensor": 1, "pipeline": 2, "data": 1, "microBatchSize": 16},
}


def job(parallelism: dict) -> dict:
    return {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": "plan-order"},
            "spec": {"model": {"preset": "llama-mini"}, "data": {"claimName": "corpus", "path": "text.bin"},
                     "training": {"steps": STEPS, "sequenceLength": 128, "globalBatchSequences": 16, "precision": "FP32"},
                     "parallelism": {"mode": "Manual", "microBatchSize": 1, "activationCheckpointing": "Never"} | parallelism,
                     "resources": {"devices": parallelism["tensor"] * parallelism["pipeline"] * parallelism["data"],
                                   "device": {"kind": "CPU"}}}}


def write_text(programs: pathlib.Path, folder: pathlib.Path) -> None:
    dice = random.Random(1)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 8))) for _ in range(500)]
    (folder / "text.txt").write_text(" ".join(dice.choices(words, k=50_000)))
    subprocess.run([programs / "caravan", "data", "tokenize", "--tokenizer", "byte", folder / "text.txt", "-o",
                    folder / "text.bin"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run(programs: pathlib.Path, folder: pathlib.Path, parallelism: dict) -> tuple[dict, float]:
    """The plan of a run, and the median seconds of its steps but the first."""
    path = folder / "job.json"
    path.write_text(json.dumps(job(parallelism)))
    done = subprocess.run([programs / "caravan", "run", path, "--volume", f"corpus={folder}", "-o", "json"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{parallelism}: caravan run ended with exit code {done.returncode}:\n{done.stderr}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    plan = next(event["plan"] for event in events if event["type"] == "plan")
    seconds = [event["seconds"] for event in events if event["type"] == "step"]
    return plan, statistics.median(seconds[1:])


def predicted(plan: dict) -> float:
    if "stepSeconds" in plan:
        return plan["stepSeconds"]
    work = 4 / 3 if plan["activationCheckpointing"] == "Always" else 1  # a forward more
    return work / (1 - plan["bubbleFraction"])


def sign(a: float, b: float) -> int:
    """Of the difference, where less than a thousandth is none."""
    return 0 if math.isclose(a, b, rel_tol=1e-3) else (1 if a > b else -1)


def kendall_tau_b(pairs: list[tuple[float, float]]) -> float:
    signs = [(sign(a[0], b[0]), sign(a[1], b[1])) for a, b in itertools.combinations(pairs, 2)]
    agreement = sum(x * y for x, y in signs)
    untied = math.sqrt(sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs))
    return agreement / untied if untied else 0.0


def measure(programs: pathlib.Path, rounds: int) -> dict:
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_text(programs, folder)
        for _, (label, parallelism) in itertools.product(range(rounds), LAYOUTS.items()):
            plan, seconds = run(programs, folder, parallelism)
            before = rows.get(label, {}).get("measuredSeconds", math.inf)
            rows[label] = {"predicted": round(predicted(plan), 4), "measuredSeconds": round(min(before, seconds), 4)}
    tau = kendall_tau_b([(row["predicted"], row["measuredSeconds"]) for row in rows.values()])
    return {"kendallTau": round(tau, 3), "goal": 0.6, "layouts": rows}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    print(json.dumps(measure(given.programs.resolve(), given.rounds), indent=2))


if __name__ == "__main__":
    main()
