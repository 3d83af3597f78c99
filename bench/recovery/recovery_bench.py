"""How fast a job that lost something trains again: from the fault to the word of it, and to the end of the first step after it.

Usage: recovery_bench.py PROGRAMS [--rounds 5] [--cluster FOLDER]     PROGRAMS: folder of caravan

Two agents with two ranks each train a small model on this machine's processor; each round kills a rank, kills the agent of the
second node, and tells that agent to end (SIGTERM). With --cluster, the folder that `./dev cluster up` made, also a job of
two pods: a rank is killed, a pod is killed, a pod is deleted; seen through the job's status, four times a second. The step after a
fault begins at the last checkpoint, which is one step old. Prints one JSON object: medians, the worst, and each round.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

JOB = {
    "apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": "bench"},
    "spec": {
        "model": {"preset": "llama-tiny"},
        "training": {"steps": 1_000_000, "sequenceLength": 64, "globalBatchSequences": 8, "precision": "FP32"},
        "resources": {"devices": 4, "devicesPerNode": 2, "device": {"kind": "CPU", "memory": "1Gi"}},
        "failurePolicy": {"maxRestarts": 1_000_000},
    },
}  # fmt: skip
BEFORE = 5  # steps of the attempt that is disturbed
EXCEPTIONS = (FileNotFoundError, ProcessLookupError)
GOALS = {"rank killed": {"told": 1, "trains": 10}, "agent killed": {"told": 5, "trains": 10},
         "pod killed": {"trains": 30}, "pod deleted": {"trains": 30}}


def processes(mark: str, program: str) -> list[int]:
    """Of a program, with a word on its command line that contains the mark."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except EXCEPTIONS:
            continue
        if pathlib.Path(words[0]).name == program and any(mark in word for word in words[1:]):
            found.append(int(folder.name))
    return sorted(found)


class Run:
    """`caravan run`, and its lines with the time at which each came."""

    def __init__(self, caravan: pathlib.Path, work: pathlib.Path, round_: int):
        self.work = work / f"run-{round_}"
        job = json.loads(json.dumps(JOB))
        job["spec"]["data"] = {"path": str(work / "tokens.bin")}
        job["spec"]["checkpoint"] = {"path": str(work / f"states-{round_}"), "everySteps": 1, "keepLast": 1}
        file = work / "job.json"
        file.write_text(json.dumps(job))
        self.process = subprocess.Popen([caravan, "run", file, "--nodes", "2", "-o", "json", "--work-directory", self.work],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def wait_for(self, holds) -> float:
        for text in self.process.stdout:
            if holds(json.loads(text)):
                return time.monotonic()
        raise SystemExit("the run ended early")

    def wait_for_step(self, attempt: int, steps: int = 1) -> float:
        seen = 0

        def is_enough(line: dict) -> bool:
            nonlocal seen
            seen += line["type"] == "step" and line["attempt"] == attempt
            return seen == steps
        return self.wait_for(is_enough)

    def disturb(self, attempt: int, program: str, number: int) -> dict:
        self.wait_for_step(attempt, BEFORE)
        victim = processes(str(self.work), program)[-1]
        begin = time.monotonic()
        os.kill(victim, number)
        told = self.wait_for(lambda line: line["type"] == "event" and "restarting" in line["message"])
        return {"told": told - begin, "trains": self.wait_for_step(attempt + 1) - begin}

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def locally(caravan: pathlib.Path, work: pathlib.Path, round_: int) -> dict[str, dict]:
    faults = {"rank killed": ("caravan-trainer", signal.SIGKILL), "agent killed": ("caravan-agent", signal.SIGKILL),
              "agent told to end": ("caravan-agent", signal.SIGTERM)}
    found = {}
    for name, (program, number) in faults.items():  # a run of its own: attempts in a row wait longer each time
        run = Run(caravan, work, round_)
        found[name] = run.disturb(1, program, number)
        run.end()
    return found


class Cluster:
    """A job on it, in the namespace default."""

    def __init__(self, folder: pathlib.Path, name: str):
        self.folder, self.name = folder, name
        job = json.loads(json.dumps(JOB))
        job["metadata"] = {"name": name, "namespace": "default"}
        job["spec"]["data"] = {"claimName": "corpus", "path": "kjv.bin"}
        self.kubectl("apply", "--server-side", "-f", "-", text=json.dumps(job))

    def kubectl(self, *words: str, text: str | None = None) -> str:
        script = pathlib.Path(__file__).resolve().parents[2] / "tests/cluster/cluster.sh"
        shell = 'eval "$("$0" env "$1")"; exec kubectl --namespace default "${@:2}"'
        return subprocess.run(["bash", "-c", shell, script, self.folder, *words], input=text, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def wait_for_steps(self, attempt: int) -> float:
        """Until the status says that the attempt makes steps."""
        while True:
            status = json.loads(self.kubectl("get", "ltj", self.name, "-o", "json")).get("status", {})
            running = next((c for c in status.get("conditions", []) if c["type"] == "Running"), {})
            if status.get("attempt") == attempt and running.get("reason") == "StepsAdvancing":
                return time.monotonic()
            time.sleep(0.25)

    def kill(self, program: str) -> None:
        pod = json.loads(self.kubectl("get", "pod", f"{self.name}-1-a1", "-o", "json"))["metadata"]["uid"]
        for victim in processes("/", program):
            if pod in pathlib.Path(f"/proc/{victim}/cgroup").read_text():
                return os.kill(victim, signal.SIGKILL)
        raise SystemExit(f"no {program} in the pod")

    def disturb(self, act) -> dict:
        self.wait_for_steps(1)
        begin = time.monotonic()
        act(self)
        trains = self.wait_for_steps(2) - begin
        self.kubectl("delete", "ltj", self.name)
        return {"trains": trains}


def on_cluster(folder: pathlib.Path, round_: int) -> dict[str, dict]:
    faults = {
        "rank of a pod killed": lambda job: job.kill("caravan-trainer"),
        "pod killed": lambda job: job.kill("caravan-agent"),
        "pod deleted": lambda job: job.kubectl("delete", "pod", f"{job.name}-1-a1", "--wait=false"),
    }
    return {name: Cluster(folder, f"{name.replace(' ', '-')}-{round_}").disturb(act) for name, act in faults.items()}


def summary(rounds: list[dict[str, dict]]) -> dict[str, dict]:
    figures: dict[str, dict] = {}
    for fault, times in rounds[0].items():
        for what in times:
            values = [round(each[fault][what], 2) for each in rounds]
            figures.setdefault(fault, {})[what] = {"median": statistics.median(values), "worst": max(values), "rounds": values}
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--cluster", type=pathlib.Path)
    given = arguments.parse_args()
    caravan = given.programs.resolve() / "caravan"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "text").write_bytes(bytes(range(32, 127)) * 4000)
        subprocess.run([caravan, "data", "tokenize", work / "text", "--tokenizer", "byte", "--to", work / "tokens.bin"],
                       check=True, stdout=subprocess.DEVNULL)
        rounds = [locally(caravan, work, number) for number in range(given.rounds)]
    figures = summary(rounds)
    if given.cluster:
        figures |= summary([on_cluster(given.cluster.resolve(), number) for number in range(given.rounds)])
    print(json.dumps({"unit": "seconds", "goals": GOALS, "figures": figures}, indent=2))


if __name__ == "__main__":
    main()
