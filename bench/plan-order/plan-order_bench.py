"""Whether the planner ranks layouts as the trainer does: eight layouts of one small model on two CPU ranks.

Usage: plan-order_bench.py PROGRAMS [--rounds 5]     PROGRAMS: folder of caravan, caravan-agent, caravan-trainer

Runs with other sequence lengths, which are not among the eight, say how fast this machine's ranks compute, large products
and small ones, and how long collectives take. These go into a device catalogue and an engine profile, with which
`caravan plan` predicts the eight. Prints one JSON object: of each layout the predicted and the measured seconds of a step
(the least of all steps but the first of a run) and the error, the mean of the errors (the goal is 15 %), and Kendall's
tau-b between the two orders (the goal is 0.8).
"""

import argparse
import dataclasses
import itertools
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import numpy

STEPS = 12
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "bench/planner"))
from least_squares import Prior, fit  # noqa: E402

RANKS = 2
GIB = 2**30
LAYOUTS = {
    "DP2": {"data": 2},
    "DP2 with checkpointing": {"data": 2, "activationCheckpointing": "Always"},
    "PP2, 16 micro-batches": {"pipeline": 2},
    "PP2, 16 micro-batches, with checkpointing": {"pipeline": 2, "activationCheckpointing": "Always"},
    "PP2, 2 micro-batches": {"pipeline": 2, "microBatchSize": 8},
    "PP2, 1 micro-batch": {"pipeline": 2, "microBatchSize": 16},
    "TP2": {"tensor": 2},
    "TP2 with checkpointing": {"tensor": 2, "activationCheckpointing": "Always"},
}
SEQUENCE_LENGTH = 128
MACHINE = {  # what is assumed of a rank before it is measured
    "teraflops": Prior(0.05, 1),
    "gemmHalfSize": Prior(10_000, 2),
    "memoryGigabytesPerSecond": Prior(10, 0.5),
    "exchangeGigabytesPerSecond": Prior(1, 1),
    "collectiveLatencySeconds": Prior(1e-4, 2),
}
RECOMPUTING = {"data": 2, "microBatchSize": 4, "activationCheckpointing": "WhenNeeded"}
LAYERS = 8  # of llama-mini
NOISE = 0.03  # of a measured step, relative


@dataclasses.dataclass(frozen=True)
class Run:
    parallelism: dict
    length: int = SEQUENCE_LENGTH
    memory: int = 64 * GIB  # of a rank


CALIBRATION_RUNS = [Run(layout, length) for layout in ({"data": 2}, {"tensor": 2}) for length in (64, 256)]


class Bench:
    def __init__(self, programs: pathlib.Path, folder: pathlib.Path) -> None:
        self._caravan = programs / "caravan"
        self._folder = folder

    def prepare(self) -> None:
        dice = random.Random(1)
        words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 8))) for _ in range(500)]
        (self._folder / "text.txt").write_text(" ".join(dice.choices(words, k=50_000)))
        self._call("data", "tokenize", "--tokenizer", "byte", self._folder / "text.txt", "--to", self._folder / "text.bin")

    def _call(self, *arguments) -> str:
        done = subprocess.run([self._caravan, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"caravan {' '.join(map(str, arguments))} ended with exit code {done.returncode}:\n{done.stderr}")
        return done.stdout

    def _job(self, run: Run) -> pathlib.Path:
        fixed = {"mode": "Manual", "tensor": 1, "pipeline": 1, "data": 1, "microBatchSize": 1,
                 "activationCheckpointing": "Never"} | run.parallelism
        device = {"kind": "CPU", "product": "this-cpu", "memory": str(run.memory)}
        spec = {"model": {"preset": "llama-mini"}, "data": {"claimName": "corpus", "path": "text.bin"},
                "training": {"steps": STEPS, "sequenceLength": run.length, "globalBatchSequences": 16, "precision": "FP32"},
                "parallelism": fixed, "resources": {"devices": RANKS, "device": device}}
        path = self._folder / "job.json"
        path.write_text(json.dumps({"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
                                    "metadata": {"name": "plan-order"}, "spec": spec}))
        return path

    def measured(self, runs: list[Run], rounds: int) -> list[float]:
        """Of each run the least seconds of its steps but the first. The runs take turns, so that what slows the machine down
        for a while slows all of them down."""
        seconds = [[self._step_seconds(run) for run in runs] for _ in range(rounds)]
        return [min(times) for times in zip(*seconds)]

    def _step_seconds(self, run: Run) -> float:
        output = self._call("run", self._job(run), "--volume", f"corpus={self._folder}", "-o", "json")
        events = [json.loads(line) for line in output.splitlines()]
        return min([event["seconds"] for event in events if event["type"] == "step"][1:])

    def plan(self, run: Run, machine: dict) -> dict:
        exchange = machine["exchangeGigabytesPerSecond"]
        device = {"name": "this-cpu", "memory": "64Gi", "peakTeraflops": text_of(machine["teraflops"]),
                  "matrixTeraflops": text_of(machine["teraflops"]),
                  "memoryGigabytesPerSecond": text_of(machine["memoryGigabytesPerSecond"]),
                  "nodeGigabytesPerSecond": text_of(exchange), "networkGigabytesPerSecond": text_of(exchange)}
        (self._folder / "devices.yaml").write_text(json.dumps({"devices": [device]}))
        (self._folder / "profile.yaml").write_text(profile_of(machine))
        output = self._call("plan", self._job(run), "--device-catalogue", self._folder / "devices.yaml",
                            "--engine-profile", self._folder / "profile.yaml", "-o", "json")
        return json.loads(output)["plan"]

    def predicted(self, runs: list[Run], machine: dict) -> list[float]:
        return [self.plan(run, machine)["stepSeconds"] for run in runs]

    def recomputing(self) -> dict[str, Run]:
        """For limits of the memory from "nothing is made again" to "hardly anything fits": by what is made again.

        `caravan run` plans without knowing how fast the machine is, so a limit counts only where a plan that knows is the
        same."""
        machine = {name: prior.value for name, prior in MACHINE.items()}
        runs: dict[str, Run] = {}
        for memory in self._limits(machine):
            run = Run(RECOMPUTING, memory=memory)
            again = made_again(self.plan(run, machine))
            if again not in runs and again == made_again(self._plan_of_run(run)):
                runs[again] = run
        return runs

    def _plan_of_run(self, run: Run) -> dict:
        """What `caravan run` would do."""
        return json.loads(self._call("plan", self._job(run), "-o", "json"))["plan"]

    def _limits(self, machine: dict) -> list[int]:
        """In equal steps, from more than enough."""
        most, least = (self.plan(Run(RECOMPUTING | {"activationCheckpointing": policy}), machine)["peakBytes"]
                       for policy in ("Never", "Always"))
        usable = [self.plan(Run(RECOMPUTING, memory=memory), machine)["usableBytes"] for memory in (64 * GIB, 32 * GIB)]
        part = (usable[0] - usable[1]) / (32 * GIB)
        of_processes = 64 * GIB - usable[0] / part
        step = (most - least) / LAYERS / 3
        return [int(of_processes + (most + (2 * LAYERS / 3 - number) * step) / part) for number in range(4 * LAYERS - 3)]


def made_again(plan: dict) -> str:
    if plan["activationCheckpointing"] == "Never":
        return "nothing"
    some = sum(plan.get("recomputedLayers", [])) or LAYERS
    return f"{plan.get('recomputedPart') or 'all'} of {some} layers"


def fit_machine(bench: Bench, times: list[float]) -> dict[str, float]:
    def errors(machine: dict) -> numpy.ndarray:
        return numpy.log(bench.predicted(CALIBRATION_RUNS, machine)) - numpy.log(times)

    return fit(MACHINE, errors, NOISE).values


def text_of(number: float) -> str:
    return f"{number:.9f}"


def profile_of(machine: dict) -> str:
    """Our own, with rates of a CPU: what a GPU's kernels lose on launches is none here."""
    own = {"gemmEfficiency": "1", "attentionEfficiency": "1", "layerOverheadSeconds": "0",
           **{name: text_of(machine[name]) for name in ("gemmHalfSize", "collectiveLatencySeconds")}}
    lines = (REPOSITORY / "planner/profiles/caravan.yaml").read_text().splitlines()
    kept = [line for line in lines if line.split(":")[0] not in own]
    return "\n".join(kept + [f'{name}: "{value}"' for name, value in own.items()]) + "\n"


def kendall_tau_b(pairs: list[tuple[float, float]]) -> float:
    def sign(a: float, b: float) -> int:
        return 0 if math.isclose(a, b, rel_tol=1e-3) else (1 if a > b else -1)

    signs = [(sign(a[0], b[0]), sign(a[1], b[1])) for a, b in itertools.combinations(pairs, 2)]
    agreement = sum(x * y for x, y in signs)
    untied = math.sqrt(sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs))
    return agreement / untied if untied else 0.0


def measure(programs: pathlib.Path, rounds: int) -> dict:
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(programs, pathlib.Path(name))
        bench.prepare()
        recomputing = bench.recomputing()
        named = {label: Run(layout) for label, layout in LAYOUTS.items()}
        named |= {f"DP2, micro-batches of 4, made again: {again}": run for again, run in recomputing.items()}
        times = bench.measured(CALIBRATION_RUNS + list(named.values()), rounds)
        machine = fit_machine(bench, times[:len(CALIBRATION_RUNS)])
        pairs = list(zip(bench.predicted(list(named.values()), machine), times[len(CALIBRATION_RUNS):]))
    rows = {label: {"predictedSeconds": round(predicted, 4), "measuredSeconds": round(measured, 4),
                    "errorPercent": round(100 * (predicted / measured - 1), 1)}
            for label, (predicted, measured) in zip(named, pairs)}
    eight = pairs[:len(LAYOUTS)]
    error = statistics.mean(abs(predicted / measured - 1) for predicted, measured in eight)
    return {"kendallTau": round(kendall_tau_b(eight), 3), "goalTau": 0.8, "meanAbsoluteErrorPercent": round(100 * error, 1),
            "goalErrorPercent": 15, "machine": machine, "layouts": rows}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    print(json.dumps(measure(given.programs.resolve(), given.rounds), indent=2))


if __name__ == "__main__":
    main()
