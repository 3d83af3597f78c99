"""What a checkpoint costs: how long training waits, how fast it is written and read, beside what this machine's memory and
disk do with as many bytes in the same minute.

Usage: checkpoint_bench.py PROGRAMS [--folder FOLDER] [--rounds 3]     PROGRAMS: folder of caravan

A model of 85 million parameters in fp32 (1.0 GB with its optimizer's states) trains on one rank on this machine's
processor; FOLDER lies on the disk that is measured. A round is a copy in memory, `dd` with fsync twice, of which the faster
counts, since a virtual machine may get the memory of its page cache while it writes, a job that writes one checkpoint while it
trains and one behind its last step, and a job that goes on from that. Prints one JSON object: medians, and each round.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

STEPS = 12
MIDDLE = 4  # the first checkpoint's step: far enough from the last one to be written meanwhile
JOB = """apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {{name: bench}}
spec:
  model: {{architecture: {{hiddenSize: 768, layers: 12, heads: 12, kvHeads: 12, ffnSize: 2048, vocabSize: 256}}}}
  data: {{path: {data}}}
  training: {{steps: {steps}, sequenceLength: 128, globalBatchSequences: 4, precision: FP32}}
  resources: {{devices: 1, device: {{kind: CPU}}}}
  checkpoint: {{path: {folder}, everySteps: {every}}}
"""


def run(caravan: pathlib.Path, work: pathlib.Path, states: pathlib.Path, steps: int, every: int) -> list[dict]:
    job = work / "job.yaml"
    job.write_text(JOB.format(data=work / "tokens.bin", steps=steps, folder=states, every=every))
    done = subprocess.run([caravan, "run", job, "-o", "json", "--work-directory", work / "run"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(lines: list[dict], kind: str) -> list[dict]:
    return [line for line in lines if line["type"] == kind]


def seconds_of(action) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def copy_seconds(size: int) -> float:
    source, target = bytearray(size), bytearray(size)
    source[:: 4096] = b"x" * len(range(0, size, 4096))
    target[:] = source  # touches its pages
    return seconds_of(lambda: memoryview(target).__setitem__(slice(None), source))


def dd_seconds(folder: pathlib.Path, size: int) -> float:
    file = folder / "dd"
    command = ["dd", "if=/dev/zero", f"of={file}", "bs=4M", f"count={size}", "iflag=count_bytes", "conv=fsync"]
    seconds = seconds_of(lambda: subprocess.run(command, check=True, stderr=subprocess.DEVNULL))
    file.unlink()
    return seconds


def one_round(caravan: pathlib.Path, work: pathlib.Path, folder: pathlib.Path) -> dict:
    states = folder / "states"
    lines = run(caravan, work, states, STEPS, MIDDLE * 2)
    written = {line["step"]: line for line in of_type(lines, "checkpoint") if line["outcome"] == "Written"}
    beside, last = written[MIDDLE * 2], written[STEPS]
    resumed = of_type(run(caravan, work, states, STEPS + 1, STEPS + 1), "checkpoint")[0]
    shutil.rmtree(states)
    size = last["bytes"]
    dd, copy = min(dd_seconds(folder, size), dd_seconds(folder, size)), copy_seconds(size)
    write = last["seconds"] - last["stallSeconds"]
    return {"bytes": size, "stepSeconds": statistics.median(line["seconds"] for line in of_type(lines, "step")[1:]),
            "stallSeconds": beside["stallSeconds"], "copySeconds": copy, "stallToCopy": beside["stallSeconds"] / copy,
            "besideTrainingSeconds": beside["seconds"], "writeSeconds": write, "ddSeconds": dd, "speedToDd": dd / write,
            "loadSeconds": resumed["seconds"]}


def rounded(figures: dict) -> dict:
    return {name: value if isinstance(value, int) else round(value, 3) for name, value in figures.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    caravan = given.programs.resolve() / "caravan"
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        work = pathlib.Path(folder).resolve()
        text = work / "text"
        text.write_bytes(bytes(range(32, 127)) * 4000)
        subprocess.run([caravan, "data", "tokenize", text, "--tokenizer", "byte", "--to", work / "tokens.bin"], check=True,
                       stdout=subprocess.DEVNULL)
        rounds = [rounded(one_round(caravan, work, work)) for _ in range(given.rounds)]
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    print(json.dumps({"parameters": 85_000_000, "goals": {"stallToCopy": 1, "speedToDd": 0.8}, "medians": rounded(medians),
                      "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
