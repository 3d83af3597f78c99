"""Who takes part in cpu-train_bench.py: each trains the same steps of the same model and says how long they took."""

import dataclasses
import json
import pathlib
import re
import socket
import subprocess
import sys
import urllib.request

import numpy

SCRIPT = pathlib.Path(__file__).with_name("torch_trainer.py")
SEQUENCE_LENGTH, SEQUENCES, LAYERS, VOCABULARY, HEAD_DIM = 512, 4, 8, 256, 64
LEARNING_RATE = 1e-4
PHASE = re.compile(r'caravan_phase_seconds_total\{.*phase="(\w+)".*\} (\S+)')


class Failed(Exception):
    """A contestant that could not take part, with the reason."""


@dataclasses.dataclass(frozen=True)
class Task:
    width: int
    precision: str  # FP32 or BF16
    steps: int
    threads: int

    def config(self) -> dict:
        """As transformers calls it. Gate and up are 8/3 of the width, in whole lines of 128."""
        heads = self.width // HEAD_DIM
        return {"hidden_size": self.width, "intermediate_size": (8 * self.width // 3 + 127) // 128 * 128,
                "num_hidden_layers": LAYERS, "num_attention_heads": heads, "num_key_value_heads": heads,
                "vocab_size": VOCABULARY, "max_position_embeddings": SEQUENCE_LENGTH, "rms_norm_eps": 1e-5,
                "tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}

    def product_flops(self) -> int:
        """Of the matrix products of one step, without attention's."""
        inner = self.config()["intermediate_size"]
        weights = LAYERS * (4 * self.width**2 + 3 * self.width * inner) + self.width * VOCABULARY
        return 6 * weights * SEQUENCES * SEQUENCE_LENGTH


def write_tokens(path: pathlib.Path) -> None:
    """One batch in llm.c's format, so that every step sees the same sequences whatever the order."""
    count = SEQUENCES * SEQUENCE_LENGTH + 1
    header = numpy.zeros(256, dtype="<i4")
    header[:3] = 20240520, 1, count
    tokens = numpy.random.default_rng(1).zipf(1.3, count) % VOCABULARY
    path.write_bytes(header.tobytes() + tokens.astype("<u2").tobytes())


def make_weights(task: Task, folder: pathlib.Path) -> None:
    subprocess.run([sys.executable, SCRIPT, "make", folder, json.dumps(task.config()), str(task.threads)], check=True,
                   stdout=sys.stderr)


class Torch:
    """A process that keeps its model, and what was compiled for it, from round to round."""

    def __init__(self, mode: str, task: Task, folder: pathlib.Path, log: pathlib.Path) -> None:
        run = {"tokens": str(folder / "tokens.bin"), "sequenceLength": SEQUENCE_LENGTH, "sequences": SEQUENCES,
               "steps": task.steps, "learningRate": LEARNING_RATE}
        self._log = log
        with log.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, SCRIPT, "train", folder / "weights", json.dumps(task.config()), str(task.threads), mode,
                 task.precision, json.dumps(run)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True)

    def run(self, line: str) -> dict:
        try:
            print(line, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            pass
        answered = self._process.stdout.readline()
        if not answered:
            raise Failed(f"exit code {self._process.wait()}: {self._log.read_text()[-500:]}")
        answer = json.loads(answered)
        if "failed" in answer:
            raise Failed(answer["failed"])
        return answer

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def phase_seconds(port: int) -> dict[str, float]:
    """By phase, of all ranks together, since the start."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        found = PHASE.findall(answer.read().decode())
    totals: dict[str, float] = {}
    for phase, seconds in found:
        totals[phase] = totals.get(phase, 0) + float(seconds)
    return totals


def shares(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    spent = {phase: after[phase] - before.get(phase, 0) for phase in after}
    total = sum(spent.values())
    return {phase: round(seconds / total, 3) for phase, seconds in spent.items() if seconds > 0} if total else {}


@dataclasses.dataclass(frozen=True)
class Caravan:
    program: pathlib.Path
    folder: pathlib.Path
    parallelism: dict  # tensor and data

    def _job(self, task: Task, micro_batch: int) -> pathlib.Path:
        optimizer = {"learningRate": f"{LEARNING_RATE:f}", "minLearningRate": "0", "schedule": "Constant", "warmupSteps": 0}
        spec = {
            "model": {"initFrom": {"path": str(self.folder / "weights")}},
            "data": {"path": str(self.folder / "tokens.bin")},
            "training": {"steps": task.steps, "sequenceLength": SEQUENCE_LENGTH, "globalBatchSequences": SEQUENCES,
                         "precision": task.precision, "optimizer": optimizer},
            "parallelism": {"mode": "Manual", "pipeline": 1, "microBatchSize": micro_batch,
                            "activationCheckpointing": "Never", **self.parallelism},
            "resources": {"devices": self.parallelism["tensor"] * self.parallelism["data"], "device": {"kind": "CPU"}},
        }
        path = self.folder / "job.json"
        path.write_text(json.dumps({"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
                                    "metadata": {"name": "cpu-train"}, "spec": spec}))
        return path

    def run(self, task: Task, micro_batch: int) -> dict:
        port = free_port()
        command = [self.program, "run", self._job(task, micro_batch), "-o", "json", "--metrics-port", str(port)]
        with (self.folder / "caravan.log").open("w+") as log:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
                steps, phases = self._read(process, port)
            if process.returncode != 0:
                log.seek(0)
                raise Failed(f"exit code {process.returncode}: {log.read()[-500:]}")
        return {"seconds": [step["seconds"] for step in steps], "losses": [step["loss"] for step in steps],
                "phases": shares(phases[0], phases[-1]) if len(phases) > 1 else {}}

    def profile(self, task: Task, micro_batch: int) -> dict[str, float]:
        """The part of a step that each kernel, or what else it does, takes."""
        command = [self.program, "trace", self._job(task, micro_batch), "--to", self.folder / "trace.json", "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}: {done.stderr[-500:]}")
        found = json.loads(done.stdout)
        return {part["name"]: round(part["seconds"] / found["seconds"], 3) for part in found["parts"]}

    @staticmethod
    def _read(process: subprocess.Popen, port: int) -> tuple[list[dict], list[dict]]:
        steps, phases = [], []
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] != "step":
                continue
            steps.append(event)
            try:
                phases.append(phase_seconds(port))
            except OSError as error:  # the run ended meanwhile
                print(f"phases after step {event['step']}: {error}", file=sys.stderr)
        return steps, phases
