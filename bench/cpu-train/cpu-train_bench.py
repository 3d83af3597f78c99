"""How fast Caravan trains on this machine's processor, beside PyTorch with transformers and beside matrix products alone.

Usage: cpu-train_bench.py PROGRAMS [--sizes 128 256 512 1024] [--types FP32 BF16] [--rounds 3] [--steps 8]
                          [--micro-batches 1 2 4] [--modes eager compile]            PROGRAMS: folder of caravan

The same Llama (8 layers, 512 tokens, 4 sequences a batch) begins with the same weights and trains the same steps, in turn in
one run: Caravan with one rank and all threads, with two ranks (TP2, DP2) and half of the threads each, PyTorch eager, PyTorch
compiled, and the matrix products of the model's shapes alone. Of a run count the steps but the first two, of which the median
is taken. The best micro-batch of each is the one with the least median over the rounds. PyTorch holds a BF16 model, gradients
and states in BF16; Caravan holds gradients, states and a copy of the weights in FP32, which is more work.

Prints one JSON object: of each size and type the seconds of a step, how many times faster Caravan is (median, least and most of
the rounds), the part of products alone, where Caravan's time goes by phase and by kernel, by how much losses differ (in FP32
at most 1e-4 of the loss), and what failed.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from contestants import LAYERS, SEQUENCE_LENGTH, SEQUENCES, Caravan, Failed, Task, Torch, make_weights, write_tokens

LAYOUTS = {"caravan": {"tensor": 1, "data": 1}, "caravan TP2": {"tensor": 2, "data": 1}, "caravan DP2": {"tensor": 1, "data": 2}}
WARM_UP = 2  # steps
TOLERANCE = 1e-4
GOALS = {"FP32": {"eager": 1.25, "partOfProducts": 0.8}, "BF16": {"eager": 1.5, "compile": 1.3}}


class Case:
    """One size and type: the runs of all contestants, round by round."""

    def __init__(self, task: Task, micro_batches: list[int]) -> None:
        self._task, self._micro_batches = task, micro_batches
        self._seconds: dict[str, dict[int, list[float]]] = {}  # by contestant and micro-batch, of each round
        self._losses: dict[str, list[float]] = {}
        self._phases: dict[tuple[str, int], dict] = {}
        self._kernels: dict[str, dict] = {}  # by layout
        self._failures: dict[str, str] = {}

    def measure(self, programs: pathlib.Path, modes: list[str], rounds: int) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_tokens(folder / "tokens.bin")
            make_weights(self._task, folder / "weights")
            torches = {mode: Torch(mode, self._task, folder, folder / f"{mode}.log") for mode in sorted({"eager", *modes})}
            caravans = {label: Caravan(programs / "caravan", folder, layout) for label, layout in LAYOUTS.items()}
            try:
                for number in range(rounds):
                    say(f"{self._task.width} wide, {self._task.precision}, round {number + 1} of {rounds}")
                    self._round(caravans, torches, modes)
                self._profile(caravans)
            finally:
                for torch in torches.values():
                    torch.end()

    def _round(self, caravans: dict[str, Caravan], torches: dict[str, Torch], modes: list[str]) -> None:
        for size in self._micro_batches:
            self._note("products", size, lambda: torches["eager"].run(f"products {size}"))
            for label, caravan in caravans.items():
                if SEQUENCES % (size * caravan.parallelism["data"]) == 0:
                    self._note(label, size, lambda: caravan.run(self._task, size))
            for mode in modes:
                self._note(mode, size, lambda: torches[mode].run(f"{size}"))

    def _profile(self, caravans: dict[str, Caravan]) -> None:
        for label in [label for label in caravans if label in self._seconds]:
            try:
                self._kernels[label] = caravans[label].profile(self._task, self._best(label))
            except Failed as failure:
                self._failures[f"profile of {label}"] = str(failure)

    def _note(self, label: str, size: int, run) -> None:
        name = f"{label}, micro-batch {size}"
        if name in self._failures:
            return
        try:
            result = run()
        except Failed as failure:
            self._failures[name] = str(failure)
            say(f"{name} failed: {failure}")
            return
        median = statistics.median(result["seconds"][WARM_UP:])
        say(f"{name}: {median:.3f} s a step")
        self._seconds.setdefault(label, {}).setdefault(size, []).append(median)
        if label != "products":
            self._losses.setdefault(label, result["losses"])
        if result.get("phases"):
            self._phases[label, size] = result["phases"]

    def _best(self, label: str) -> int:
        return min(self._seconds[label], key=lambda size: statistics.median(self._seconds[label][size]))

    def _loss_differences(self) -> dict[str, float]:
        """From Caravan on one rank, the worst of all steps, relative."""
        own = self._losses.get("caravan", [])
        return {label: max(abs(a / b - 1) for a, b in zip(losses, own)) for label, losses in self._losses.items()
                if own and label != "caravan"}

    def _ratios(self, label: str) -> dict:
        """How many times faster `label` is than each mode of PyTorch."""
        found = {}
        for mode in ("eager", "compile"):
            if mode not in self._seconds:
                continue
            own, theirs = self._best(label), self._best(mode)
            found[mode] = {"best": spread(self._seconds[mode][theirs], self._seconds[label][own])}
            if 1 in self._seconds[mode] and 1 in self._seconds[label]:
                found[mode]["microBatch1"] = spread(self._seconds[mode][1], self._seconds[label][1])
        return found

    def report(self) -> dict:
        differences = self._loss_differences()
        worst = max(differences.values(), default=None)
        if self._task.precision == "FP32" and worst is not None and worst > TOLERANCE:
            self._failures["losses"] = f"differ by {worst:.1e}: this is not the same work"
            say(self._failures["losses"])
        flops, labels = self._task.product_flops(), list(self._seconds)
        trainers = [label for label in labels if label != "products"]
        best = {label: self._seconds[label][self._best(label)] for label in labels}
        return {
            "width": self._task.width, "type": self._task.precision,
            "stepSeconds": {label: {size: [round(each, 4) for each in times] for size, times in sizes.items()}
                            for label, sizes in self._seconds.items()},
            "bestMicroBatch": {label: self._best(label) for label in labels},
            "gigaflopsOfProducts": {label: round(flops / statistics.median(times) / 1e9, 1) for label, times in best.items()},
            "partOfProducts": {label: spread(best["products"], best[label]) for label in trainers if "products" in best},
            "timesFaster": {label: self._ratios(label) for label in LAYOUTS if label in self._seconds},
            "phases": {label: self._phases.get((label, self._best(label)), "not read") for label in LAYOUTS
                       if label in self._seconds},
            "kernels": self._kernels,
            "lossDifference": {label: float(f"{value:.1e}") for label, value in differences.items()},
            "failures": self._failures,
        }  # fmt: skip


def spread(above: list[float], below: list[float]) -> dict[str, float]:
    """Of the ratios of each round."""
    ratios = [a / b for a, b in zip(above, below)]
    return {"median": round(statistics.median(ratios), 3), "least": round(min(ratios), 3), "most": round(max(ratios), 3)}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--sizes", type=int, nargs="+", default=[128, 256, 512, 1024])
    arguments.add_argument("--types", nargs="+", choices=["FP32", "BF16"], default=["FP32", "BF16"])
    arguments.add_argument("--micro-batches", type=int, nargs="+", choices=[1, 2, 4], default=[1, 2, 4])
    arguments.add_argument("--modes", nargs="+", choices=["eager", "compile"], default=["eager", "compile"])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--steps", type=int, default=8)
    given = arguments.parse_args()
    if given.steps <= WARM_UP:
        arguments.error(f"--steps must be more than {WARM_UP}")
    threads = len(os.sched_getaffinity(0))
    cases = []
    for width in given.sizes:
        for precision in given.types:
            case = Case(Task(width, precision, given.steps, threads), given.micro_batches)
            case.measure(given.programs.resolve(), given.modes, given.rounds)
            cases.append(case.report())
    print(json.dumps({"layers": LAYERS, "sequenceLength": SEQUENCE_LENGTH, "sequences": SEQUENCES, "threads": threads,
                      "rounds": given.rounds, "goals": GOALS, "cases": cases}, indent=2))


if __name__ == "__main__":
    main()
