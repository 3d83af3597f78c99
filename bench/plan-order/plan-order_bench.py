"""Whether the planner ranks layouts as the trainer does: eight layouts of one small model on two CPU ranks.

Usage: plan-order_bench.py PROGRAMS [--rounds 3]     PROGRAMS: folder of caravan, caravan-agent, caravan-trainer

Two runs with shorter sequences, which are not among the eight, say how fast this machine's ranks compute and how long a
collective takes. These go into a device catalogue and an engine profile, with which `caravan plan` predicts the eight.
Prints one JSON object: of each layout the predicted and the measured seconds of a step (the median of a run, the least
of all rounds), and Kendall's tau-b between the two orders; the goal is 0.6.
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
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RANKS = 2
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
ASSUMED_TERAFLOPS = 0.05  # of a rank, corrected by the first calibration run
SEQUENCE_LENGTH = 128
CALIBRATION_LENGTH = 64


class Bench:
    def __init__(self, programs: pathlib.Path, folder: pathlib.Path) -> None:
        self._caravan = programs / "caravan"
        self._folder = folder
        self._teraflops = ASSUMED_TERAFLOPS
        self._latency = 0.0

    def prepare(self) -> None:
        dice = random.Random(1)
        words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 8))) for _ in range(500)]
        (self._folder / "text.txt").write_text(" ".join(dice.choices(words, k=50_000)))
        self._call("data", "tokenize", "--tokenizer", "byte", self._folder / "text.txt", "-o", self._folder / "text.bin")

    def _call(self, *arguments) -> str:
        done = subprocess.run([self._caravan, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"caravan {' '.join(map(str, arguments))} ended with exit code {done.returncode}:\n{done.stderr}")
        return done.stdout

    def _job(self, parallelism: dict, length: int) -> pathlib.Path:
        fixed = {"mode": "Manual", "tensor": 1, "pipeline": 1, "data": 1, "microBatchSize": 1,
                 "activationCheckpointing": "Never"} | parallelism
        spec = {"model": {"preset": "llama-mini"}, "data": {"claimName": "corpus", "path": "text.bin"},
                "training": {"steps": STEPS, "sequenceLength": length, "globalBatchSequences": 16, "precision": "FP32"},
                "parallelism": fixed, "resources": {"devices": RANKS, "device": {"kind": "CPU", "product": "this-cpu"}}}
        path = self._folder / "job.json"
        path.write_text(json.dumps({"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
                                    "metadata": {"name": "plan-order"}, "spec": spec}))
        return path

    def measured(self, parallelism: dict, length: int = SEQUENCE_LENGTH) -> float:
        """The median seconds of a run's steps but the first."""
        output = self._call("run", self._job(parallelism, length), "--volume", f"corpus={self._folder}", "-o", "json")
        events = [json.loads(line) for line in output.splitlines()]
        return statistics.median([event["seconds"] for event in events if event["type"] == "step"][1:])

    def predicted(self, parallelism: dict, length: int = SEQUENCE_LENGTH) -> float:
        (self._folder / "devices.yaml").write_text(
            f'devices:\n- {{name: this-cpu, memory: 64Gi, peakTeraflops: "{self._teraflops:.9f}", '
            f'matrixTeraflops: "{self._teraflops:.9f}", memoryGigabytesPerSecond: "10", nodeGigabytesPerSecond: "1", '
            'networkGigabytesPerSecond: "1"}\n')
        (self._folder / "profile.yaml").write_text(self._profile())
        output = self._call("plan", self._job(parallelism, length), "--device-catalogue", self._folder / "devices.yaml",
                            "--engine-profile", self._folder / "profile.yaml", "-o", "json")
        return json.loads(output)["plan"]["stepSeconds"]

    def _profile(self) -> str:
        """Our own, with rates of a CPU: what a GPU's kernels lose on small products and launches is none here."""
        own = {"gemmEfficiency": "1", "gemmHalfSize": "0", "attentionEfficiency": "1", "layerOverheadSeconds": "0",
               "collectiveLatencySeconds": f"{self._latency:.9f}"}
        lines = (REPOSITORY / "planner/profiles/caravan.yaml").read_text().splitlines()
        kept = [line for line in lines if line.split(":")[0] not in own]
        return "\n".join(kept + [f'{name}: "{value}"' for name, value in own.items()]) + "\n"

    def calibrate(self) -> dict:
        """One run without tensor parallelism gives the rate of compute, one with it what a collective takes."""
        alone = self.measured({"data": 2}, CALIBRATION_LENGTH)
        for _ in range(3):  # what moves through memory does not scale with the rate
            self._teraflops *= self.predicted({"data": 2}, CALIBRATION_LENGTH) / alone
        joined = self.measured({"tensor": 2}, CALIBRATION_LENGTH)
        without = self.predicted({"tensor": 2}, CALIBRATION_LENGTH)
        self._latency = 1e-4
        each = (self.predicted({"tensor": 2}, CALIBRATION_LENGTH) - without) / self._latency
        self._latency = max(0.0, (joined - without) / each)
        return {"rankTeraflops": self._teraflops, "collectiveSeconds": self._latency}


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
        machine = bench.calibrate()
        rows = {label: {"predictedSeconds": round(bench.predicted(layout), 4), "measuredSeconds": math.inf}
                for label, layout in LAYOUTS.items()}
        for _, (label, layout) in itertools.product(range(rounds), LAYOUTS.items()):
            rows[label]["measuredSeconds"] = min(rows[label]["measuredSeconds"], round(bench.measured(layout), 4))
    tau = kendall_tau_b([(row["predictedSeconds"], row["measuredSeconds"]) for row in rows.values()])
    return {"kendallTau": round(tau, 3), "goal": 0.6, "machine": machine, "layouts": rows}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    print(json.dumps(measure(given.programs.resolve(), given.rounds), indent=2))


if __name__ == "__main__":
    main()
