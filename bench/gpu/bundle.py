"""What travels to a machine that has a GPU and nothing of ours: programs, tokens, and of each run what its rank is told.

A folder of `programs/` (caravan, its agent and trainer in bin/, the trainer's libraries in lib/, what the first two ask of a
system in host-lib/, the kernels' benchmark, tests/), `tokens.bin`, `rank-N.json`, `groups/`, `user-run.json` and `bundle.json`. What
`caravan plan` predicts is made here and travels along.
"""

import array
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

import groups
import jobs
import user_run
from cases import Run, Suite

TESTS = ("cuda_device_test", "gpu_test")
BY_USERS = ("caravan", "caravan-agent")
OF_EVERY_SYSTEM = re.compile(r"(ld-linux|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\b[-.]")
LIBRARIES = ("libcaravan_cuda.so", "libcaravan_device_cuda.so", "libcaravan_kernel_times.so")


def job_of(run: Run, suite: Suite, tokens: str) -> dict:
    training = {"steps": run.steps, "sequenceLength": run.sequence, "globalBatchSequences": run.sequences,
                "precision": suite.precision, "optimizer": {"stateType": run.states, "learningRate": "1e-4", "schedule": "Constant"}}
    parallelism = {"mode": "Manual", "tensor": 1, "pipeline": 1, "data": 1, "microBatchSize": run.micro_batch}
    return jobs.job("gpu-bench", {"model": {"preset": run.model.preset}, "data": {"path": tokens}, "training": training,
                                  "parallelism": parallelism, "resources": {"devices": 1, "device": suite.device}})


def plan(caravan: pathlib.Path, job: dict, *options: str) -> dict:
    """The plan, or {"refused": why}."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(job, file)
        file.flush()
        done = subprocess.run([caravan, "plan", file.name, "-o", "json", *options], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)["plan"]
    if done.stdout:  # a report without a plan: nothing fits
        reasons = [candidate["reason"] for candidate in json.loads(done.stdout)["candidates"] if candidate.get("reason")]
        return {"refused": reasons[0] if reasons else "does not fit"}
    return {"refused": done.stderr.strip()}


def write_tokens(path: pathlib.Path, count: int) -> None:
    """In llm.c's format: tokens that every vocabulary used here has, some far more often than others."""
    often = [1 / (rank + 1) for rank in range(256)]
    tokens = random.Random(1).choices(range(256), weights=often, k=count)
    header = array.array("i", [20240520, 1, count] + [0] * 253)
    path.write_bytes(header.tobytes() + array.array("H", tokens).tobytes())


def prepare(programs: pathlib.Path, suite: Suite, folder: pathlib.Path) -> None:
    """programs: the folder of a build with caravan and planner_evaluate. Those that travel are of the build for GPUs beside
    it where the suite is for one."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "programs/bin").mkdir(parents=True)
    (folder / "programs/lib").mkdir()
    (folder / "programs/tests").mkdir()
    on_gpu = suite.device["kind"] == "GPU"
    build = programs.parent.parent / "cuda" if on_gpu else programs.parent
    for name in ("caravan-trainer", "gpu_kernels" if on_gpu else "gpu_kernels_emulated"):
        shutil.copy(build / "bin" / name, folder / "programs/bin")
    for name in LIBRARIES if on_gpu else ():
        shutil.copy(build / "lib" / name, folder / "programs/lib")
    for name in TESTS if on_gpu else ():
        shutil.copy(build / "tests" / name, folder / "programs/tests")
    copy_programs_of_users(programs, folder / "programs")
    (folder / user_run.JOB).write_text(json.dumps(user_run.job_of(suite)))
    write_tokens(folder / "tokens.bin", max(run.sequences * run.sequence for run in suite.runs) + 1)
    predictions = []
    for number, run in enumerate(suite.runs):
        job = job_of(run, suite, "tokens.bin")
        planned = plan(programs / "caravan", job)
        predictions.append(planned)
        if "refused" not in planned:
            (folder / f"rank-{number}.json").write_text(json.dumps(jobs.rank_config(job, planned)))
    prepare_groups(programs, suite, folder)
    (folder / "bundle.json").write_text(json.dumps({"suite": suite.name, "predictions": predictions}))


def copy_programs_of_users(programs: pathlib.Path, to: pathlib.Path) -> None:
    """With the libraries that another system may have in other versions."""
    (to / "host-lib").mkdir()
    for name in BY_USERS:
        subprocess.run(["strip", "-o", to / "bin" / name, programs / name], check=True)
        needed = subprocess.run(["ldd", programs / name], capture_output=True, text=True, check=True).stdout
        for library, path in re.findall(r"^\s*(\S+) => (\S+)", needed, re.MULTILINE):
            if not OF_EVERY_SYSTEM.match(library):
                shutil.copy(path, to / "host-lib" / library)


def prepare_groups(programs: pathlib.Path, suite: Suite, folder: pathlib.Path) -> None:
    for layout in groups.all_of_them(on_gpu=suite.device["kind"] == "GPU"):
        job = groups.job_of(layout, suite.device, "tokens.bin")
        planned = plan(programs / "caravan", job)
        if "refused" in planned:
            raise RuntimeError(f"{layout.name}: {planned['refused']}")
        place = folder / "groups" / layout.folder
        place.mkdir(parents=True)
        for rank in range(layout.ranks):
            (place / f"rank-{rank}.json").write_text(json.dumps(groups.rank_config(job, planned, rank, layout.ranks)))


def settle(config: pathlib.Path, tokens: pathlib.Path) -> None:
    """The trainer reads the file that its configuration names, wherever the bundle has come to lie, and has all cores."""
    told = json.loads(config.read_text()) | {"threads": os.cpu_count()}
    told["spec"]["data"]["path"] = str(tokens)
    config.write_text(json.dumps(told))


def read(folder: pathlib.Path) -> dict:
    return json.loads((folder / "bundle.json").read_text())
