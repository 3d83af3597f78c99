"""A job to which everything happens, for as long as is asked for: its losses are those of a job to which nothing happened.

Usage: chaos.py PROGRAMS [--seconds 1200] [--seed 1]     PROGRAMS: folder of caravan

Every few seconds, chosen by the seed: a rank or an agent is killed, a rank is stopped, an agent is told to end, the run is
interrupted, the newest checkpoint loses a bit, or somebody asks for one. Whatever ends the run, it is started again with the
same command.
When the time is over it is left alone until its last step. Ends with 1 when a loss differs in one bit, a process or a folder
under way is left behind, or the run does not end well; prints one JSON object with what was done and the goodput: the part
of the time in which steps were made that had not been made before.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

JOB = """apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {{name: chaos}}
spec:
  model: {{preset: llama-tiny}}
  data: {{path: {work}/tokens.bin}}
  training: {{steps: {steps}, sequenceLength: 64, globalBatchSequences: 64, precision: FP32}}
  resources: {{devices: 2, device: {{kind: CPU}}}}
  parallelism: {{mode: Manual, tensor: 1, pipeline: 2, data: 1}}
  checkpoint: {{path: {work}/{states}, everySteps: 5, keepLast: 3}}
  failurePolicy: {{maxRestarts: 1000000}}
  stallTimeoutSeconds: 20
"""


def processes(work: pathlib.Path) -> dict[int, str]:
    """The run's processes, by what they are."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            line = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(bytes(work) in word for word in line[1:]):
            found[int(folder.name)] = pathlib.Path(line[0].decode()).name
    return found


def command_line(pid: int) -> str:
    return (pathlib.Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()


class Run:
    """`caravan run`, and what it tells: the loss of each step, and how long those took that were new."""

    def __init__(self, program: pathlib.Path, job: pathlib.Path, work: pathlib.Path, losses: dict):
        self.losses, self.new_seconds, self.wrong, self.exit_code = losses, 0.0, [], None
        self.process = subprocess.Popen([program, "run", job, "--nodes", "2", "-o", "json", "--work-directory", work],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        for text in self.process.stdout:
            line = json.loads(text)
            if line["type"] != "step":
                continue
            step, loss = line["step"], line["loss"]
            if step not in self.losses:
                self.new_seconds += line["seconds"]
            elif self.losses[step] != loss:
                self.wrong.append((step, self.losses[step], loss))
            self.losses[step] = loss
        self.exit_code = self.process.wait()


class Chaos:
    """What happens next, by a seed, and how often what was done."""

    def __init__(self, seed: int):
        self.random, self.done = random.Random(seed), {}

    def signal_one(self, pids: list[int], number: int) -> None:
        if not pids:
            raise ProcessLookupError
        os.kill(self.random.choice(sorted(pids)), number)

    def damage(self, states: pathlib.Path) -> None:
        """One bit of the newest checkpoint."""
        steps = sorted(folder for folder in states.glob("step-??????"))
        if len(steps) < 2:  # one stays whole
            return
        file = self.random.choice(sorted(steps[-1].glob("*.safetensors")))
        with file.open("r+b") as bytes_of:
            bytes_of.seek(self.random.randrange(file.stat().st_size))
            byte = bytes_of.read(1)
            bytes_of.seek(-1, os.SEEK_CUR)
            bytes_of.write(bytes([byte[0] ^ 1]))

    def act(self, faults: dict[str, Callable]) -> None:
        """One of those that were done least."""
        least = min(self.done.get(name, 0) for name in faults)
        name = self.random.choice(sorted(name for name in faults if self.done.get(name, 0) == least))
        try:
            faults[name]()
        except (FileNotFoundError, ProcessLookupError):
            return  # it was gone already
        self.done[name] = self.done.get(name, 0) + 1


def under_way(states: pathlib.Path) -> list[str]:
    """The folders of checkpoints that were never finished."""
    return [entry.name for entry in states.iterdir() if ".tmp-" in entry.name]


def faults_of(chaos: Chaos, run: Run, work: pathlib.Path) -> dict[str, Callable]:
    def signal_one(program: str, number: int, words: str = "") -> None:
        chaos.signal_one([pid for pid, name in processes(work / "run").items()
                          if name == program and words in command_line(pid)], number)

    def damage_and_kill() -> None:
        chaos.damage(work / "states")
        signal_one("caravan-trainer", signal.SIGKILL)

    return {
        "rank killed": lambda: signal_one("caravan-trainer", signal.SIGKILL),
        "rank stopped": lambda: signal_one("caravan-trainer", signal.SIGSTOP),
        "agent killed": lambda: signal_one("caravan-agent", signal.SIGKILL),
        "agent told to end": lambda: signal_one("caravan-agent", signal.SIGTERM, "--node 1"),
        "run interrupted": lambda: run.process.send_signal(signal.SIGINT),
        "checkpoint damaged, rank killed": damage_and_kill,
        "checkpoint asked for": lambda: run.process.send_signal(signal.SIGUSR1),
    }


def tokenize(program: pathlib.Path, work: pathlib.Path) -> None:
    text = work / "text"
    text.write_bytes(bytes(range(32, 127)) * 4000)
    subprocess.run([program, "data", "tokenize", text, "--tokenizer", "byte", "--to", work / "tokens.bin"], check=True,
                   stdout=subprocess.DEVNULL)


def arguments_of(text: str) -> argparse.ArgumentParser:
    """Which faults, and for how long."""
    arguments = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=1200)
    arguments.add_argument("--seed", type=int, default=1)
    return arguments


def main() -> None:
    arguments = arguments_of(__doc__)
    arguments.add_argument("programs", type=pathlib.Path)
    given = arguments.parse_args()
    program = given.programs.resolve() / "caravan"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        tokenize(program, work)
        sys.exit(0 if torment(program, work, given) else 1)


def torment(program: pathlib.Path, work: pathlib.Path, given: argparse.Namespace) -> bool:
    job, chaos, losses = work / "job.yaml", Chaos(given.seed), {}
    steps = int(200 + 2 * given.seconds)
    job.write_text(JOB.format(work=work, steps=steps, states="states"))
    begin, new_seconds, wrong, starts, exit_code = time.monotonic(), 0.0, [], 0, None
    while exit_code != 0 and starts < 10_000:
        run, starts = Run(program, job, work / "run", losses), starts + 1
        while run.reader.is_alive():
            run.reader.join(chaos.random.uniform(1, 6))
            if run.reader.is_alive() and time.monotonic() - begin < given.seconds:
                chaos.act(faults_of(chaos, run, work))
        new_seconds, exit_code = new_seconds + run.new_seconds, run.exit_code
        wrong += run.wrong
        if exit_code not in (0, 1, 130):
            break
    wall = time.monotonic() - begin
    left = {"processes": list(processes(work / "run").values()),
            "folders": under_way(work / "states")}
    calm = {}
    job.write_text(JOB.format(work=work, steps=steps, states="calm"))
    Run(program, job, work / "run", calm).reader.join()
    wrong += [(step, calm.get(step), loss) for step, loss in losses.items() if calm.get(step) != loss]
    print(json.dumps({"seed": given.seed, "seconds": round(wall), "steps": steps, "starts": starts, "faults": chaos.done,
                      "goodput": round(new_seconds / wall, 3), "exitCode": exit_code, "wrongLosses": wrong[:10],
                      "leftBehind": left}, indent=2))
    return exit_code == 0 and not wrong and len(losses) == steps and not any(left.values())


if __name__ == "__main__":
    main()
