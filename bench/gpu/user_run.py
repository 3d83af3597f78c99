"""A job as users start it on a machine: `caravan run`, and what its agent tells Prometheus meanwhile."""

import json
import os
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.request

import groups
import jobs
import processes
from cases import LLAMA_1B, TINY, Suite

JOB = "user-run.json"
TRAINED = ["caravan_steps_total", "caravan_model_flops_total", "caravan_device_memory_reserved_bytes"]
MEASURED = ["caravan_device_peak_flops", "caravan_device_clock_hertz", "caravan_device_power_watts", "caravan_device_throttled"]


def job_of(suite: Suite) -> dict:
    on_gpu = suite.device["kind"] == "GPU"
    training = {"steps": 40, "sequenceLength": 4096, "globalBatchSequences": 8, "precision": "BF16"} if on_gpu else {
        "steps": 100, "sequenceLength": 64, "globalBatchSequences": 8, "precision": "FP32"}
    return jobs.job("user-run", {"model": {"preset": (LLAMA_1B if on_gpu else TINY).preset}, "data": {"path": "tokens.bin"},
                                 "training": training, "resources": {"devices": 1, "device": suite.device}})


def has(metrics: str, name: str) -> bool:
    return re.search(rf"^{name}[{{ ]", metrics, re.MULTILINE) is not None


def scraped(port: int) -> str:
    """Empty while nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, OSError):
        return ""


class UserRun:
    def __init__(self, bundle: pathlib.Path, environment: dict, logs: pathlib.Path) -> None:
        self._bundle, self._log = bundle, logs / "user-run.log"
        host_libraries = bundle / "programs/host-lib"
        self._environment = os.environ | environment | {
            "LD_LIBRARY_PATH": ":".join([environment.get("LD_LIBRARY_PATH", ""), str(host_libraries)])}

    def problem(self, seconds: float) -> str:
        """Why it is not as it should be; empty: it is."""
        job = json.loads((self._bundle / JOB).read_text())
        job["spec"]["data"]["path"] = str(self._bundle / "tokens.bin")
        file = self._log.with_suffix(".json")
        file.write_text(json.dumps(job))
        on_gpu = job["spec"]["resources"]["device"]["kind"] == "GPU"
        port = groups.free_port()
        command = [self._bundle / "programs/bin/caravan", "run", file, "-o", "text", "--metrics-port", str(port)]
        with self._log.open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=self._environment, start_new_session=True)
            try:
                metrics = self._watch(process, port, time.monotonic() + seconds)
            finally:
                processes.end_all_of(process)
        self._log.with_suffix(".metrics").write_text(metrics)
        if process.returncode != 0:
            return f"it ended with {process.returncode}: {self._log.read_text().strip()[-300:]}"
        missing = [name for name in TRAINED + (MEASURED if on_gpu else []) if not has(metrics, name)]
        return f"its metrics have no {', '.join(missing)}" if missing else ""

    @staticmethod
    def _watch(process: subprocess.Popen, port: int, end: float) -> str:
        """The last metrics of the run."""
        metrics = ""
        while process.poll() is None and time.monotonic() < end:
            metrics = scraped(port) or metrics
            time.sleep(0.2)
        return metrics
