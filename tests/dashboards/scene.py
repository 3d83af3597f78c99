"""A real training on this machine, the recorded operator beside it, and a real Prometheus that scrapes both."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "dashboards"), str(REPOSITORY / "dashboards/renderer")]
import training  # noqa: E402
from local_prometheus import LocalPrometheus, free_port  # noqa: E402
from operator_replay import JOB, NAMESPACE, replay  # noqa: E402

OPERATOR_NAMESPACE = "caravan-system"
PROGRAMS = pathlib.Path(os.environ.get("CARAVAN_BIN", REPOSITORY / "build/release/bin"))
SCRAPE_SECONDS = 1
# Two ranks that do the same work, so that one may be slower than the other.
SPEC = {
    "model": {"preset": "llama-tiny"},
    "data": {"path": "train.bin", "validationPath": "validation.bin"},
    "training": {"steps": 100000, "sequenceLength": 64, "globalBatchSequences": 8, "precision": "FP32",
                 "optimizer": {"learningRate": "3e-3", "warmupSteps": 50}, "evaluation": {"everySteps": 10, "batches": 1}},
    "parallelism": {"tensor": 2, "pipeline": 1, "data": 1},
    "resources": {"devices": 2, "device": {"kind": "CPU"}},
    "checkpoint": {"path": "checkpoints", "everySeconds": 5},
}


def write_job(folder):
    """The King James Bible's words, and a job that trains on them in this folder."""
    text = folder / "text"
    text.write_bytes(subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, capture_output=True).stdout)
    subprocess.run([PROGRAMS / "caravan", "data", "tokenize", "--tokenizer", "byte", text, "--to", folder / "train.bin",
                    "--validation-fraction", "0.05", "--validation-to", folder / "validation.bin"], check=True, capture_output=True)
    spec = json.loads(json.dumps(SPEC))
    for holder, fields in (("data", ("path", "validationPath")), ("checkpoint", ("path",))):
        spec[holder] |= {field: str(folder / spec[holder][field]) for field in fields}
    path = folder / "job.yaml"
    path.write_text(json.dumps({"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": JOB},
                                "spec": spec}))
    return path


def wait_for_agents(process, port, log):
    end = time.monotonic() + 120
    while not training.ports_that_answer(port):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"no agent serves metrics: {log.read_text()}")
        time.sleep(0.2)


@contextlib.contextmanager
def scene():
    """The Prometheus. `Scene` lasts as long as the block."""
    # What the peak of this processor is does not matter here, and measuring it would disturb other tests: a made-up one.
    speed = {"teraflops": 0.1, "memory_gigabytes_per_second": 10}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="caravan-boards-")))
        port, log = free_port(), folder / "log"
        stream = stack.enter_context(open(log, "w"))
        operator = stack.enter_context(replay())
        process = stack.enter_context(training.training(PROGRAMS / "caravan", [str(write_job(folder))], port, speed, stdout=stream,
                                                        stderr=stream))
        prometheus = stack.enter_context(LocalPrometheus(SCRAPE_SECONDS))
        wait_for_agents(process, port, log)
        prometheus.scrape([{"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": NAMESPACE}},
                           {"targets": [f"127.0.0.1:{operator}"], "labels": {"namespace": OPERATOR_NAMESPACE}}])
        yield prometheus
        if process.poll() is not None:
            raise RuntimeError(f"the training ended meanwhile: {log.read_text()[-3000:]}")
