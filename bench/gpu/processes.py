"""Full steps, each run in a process of its own so that memory is its alone: caravan-trainer, and PyTorch with transformers."""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
from typing import Callable

from cases import Run

SCRIPT = pathlib.Path(__file__).with_name("torch_steps.py")
WARM_UP = 2  # steps


class Failed(Exception):
    """A run that did not come to its end, with the reason."""


def end_all_of(process: subprocess.Popen) -> None:
    """It and what it started, in a session of its own, where it has not ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ended(command: list, seconds: float, environment: dict, stdout=subprocess.PIPE, stderr=subprocess.PIPE) -> subprocess.CompletedProcess:
    """As subprocess.run. Behind a time-out nothing that the command started works on."""
    process = subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, env=environment, start_new_session=True)
    try:
        told, said = process.communicate(timeout=max(seconds, 1))
    except BaseException:
        end_all_of(process)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, told, said)


def output_of(command: list, seconds: float, environment: dict | None = None) -> str:
    try:
        done = ended(command, seconds, os.environ | (environment or {}))
    except subprocess.TimeoutExpired as error:
        raise Failed(f"not done after {seconds:.0f} s") from error
    if done.returncode != 0:
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        whys = [each["failure"]["message"] for each in told if "failure" in each]
        raise Failed(whys[-1] if whys else f"exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def _figures(run: Run, seconds: list[float], losses: list[float], peak: int) -> dict:
    kept = seconds[WARM_UP:]
    step = statistics.mean(kept)
    return {"stepSeconds": step, "worstStepSeconds": max(kept), "tokensPerSecond": run.tokens / step,
            "modelFlopsPerSecond": run.flops() / step, "peakBytes": peak, "losses": losses}


def libraries(folder: pathlib.Path) -> str:
    """For LD_LIBRARY_PATH: a bundle's, LibTorch's of the Python that runs this, what that brought along, and what is named there
    already, such as the driver's."""
    import torch  # not where a bundle is prepared

    lib = pathlib.Path(torch.__file__).parent / "lib"
    nvidia = sorted(str(each) for each in lib.parent.parent.glob("nvidia/*/lib"))
    named = [each for each in os.environ.get("LD_LIBRARY_PATH", "").split(":") if each]
    return ":".join([str(folder / "programs/lib"), str(lib), *nvidia, *named])


def caravan(program: pathlib.Path, config: pathlib.Path, run: Run, seconds: float, environment: dict) -> dict:
    """config: of its only rank."""
    output = output_of([program, "--config", config], seconds, environment)
    reports = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    steps = [each["step"] for each in reports if "step" in each]
    finished = [each["finished"] for each in reports if "finished" in each]
    if len(steps) != run.steps or not finished:
        raise Failed(f"{len(steps)} of {run.steps} steps were reported")
    figures = _figures(run, [step["seconds"] for step in steps], [step["loss"] for step in steps],
                       int(finished[0]["peakBytes"]))
    kept = steps[WARM_UP:]
    names = sorted(set().union(*(step["phaseSeconds"] for step in kept)))
    phases = {name: statistics.mean(step["phaseSeconds"].get(name, 0) for step in kept) for name in names}
    return figures | {"phaseSeconds": phases, "peakTerms": finished[0].get("peakTerms", {}),
                      "reservedBytes": max(int(step.get("reservedBytes", 0)) for step in steps),
                      "hardwareFlopsPerSecond": float(kept[-1]["hardwareFlops"]) / figures["stepSeconds"]}


def pytorch(compiler: str | None, run: Run, tokens: pathlib.Path, device: str, seconds: float) -> dict:
    """compiler: of torch.compile; None: eager."""
    request = {"compiler": compiler, "device": device, "tokens": str(tokens), "config": run.model.config(run.sequence),
               "sequence": run.sequence, "microBatch": run.micro_batch, "accumulation": run.accumulation, "steps": run.steps}
    answer = json.loads(output_of([sys.executable, SCRIPT, json.dumps(request)], seconds).splitlines()[-1])
    return _figures(run, answer["seconds"], answer["losses"], answer["peakBytes"])


def attempted(work: Callable[[], dict]) -> dict:
    """What it returns, or {"failed": why}."""
    try:
        return work()
    except Failed as failure:
        return {"failed": str(failure)}
