"""The same as chaos.py on a cluster: what goes are pods, nodes and operators, and at times the job, which is made again.

Usage: cluster_chaos.py [--seconds 600] [--seed 1]     needs the cluster of tests/e2e/cluster, and its environment

A job of two pods writes checkpoints to a volume. Its loss is looked at each second, and each checkpoint has the sums of all
weights and states: both are those of `caravan run`. Restarts within ten minutes of each other are further and further
apart; a job that waits too long is deleted and made again, and goes on from its checkpoints. Ends with 1 when a loss or a
checkpoint differs in one bit, the job does not succeed, or a pod, a process or a folder under way is left behind.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import signal
import sys
import time
from collections.abc import Callable

from chaos import Chaos, arguments_of, under_way

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e/cluster"))
from cluster import (ENDED, FOLDER, NAMESPACE, ClusterTest, apply,  # noqa: E402
                     kubectl, lines_of_local_run, processes_of, small_job, wait_until)
from prometheus import Prometheus  # noqa: E402
from volume import share  # noqa: E402

NAME = "chaos"
STATES = FOLDER / NAME
MOST_SHORT_ATTEMPTS = 6  # in a row; the next pause has 16 s
PATIENCE_SECONDS = 1800  # for the steps that are left when the time is over
GOODPUT = 0.4  # that is expected, so that the steps last about as long as the faults
DIGITS = 16  # of a loss that an agent shows to Prometheus


def job_of(steps: int, states: str) -> dict:
    job = small_job(NAME, steps, failurePolicy={"maxRestarts": 1_000_000}, stallTimeoutSeconds=120,
                    checkpoint={"claimName": NAME, "path": states, "everySteps": 5, "keepLast": 1000})
    job["spec"]["training"]["globalBatchSequences"] = 64
    return job


def steps_in(seconds: float) -> int:
    """How many this machine makes when nothing happens."""
    measured = [line["seconds"] for line in lines_of_local_run(job_of(50, "measured"), NAME) if line["type"] == "step"]
    return int(seconds * len(measured) / sum(measured))


class Job:
    """It and its pods, and all that was ever seen of them."""

    def __init__(self, spec: dict, prometheus: Prometheus):
        ClusterTest.setUpClass()
        self.spec, self.prometheus, self.cluster = spec, prometheus, ClusterTest()
        self.times_made, self.restarts, self.losses, self.pods = 0, {}, set(), {}
        self.make()

    def make(self) -> None:
        apply(self.spec)
        self.times_made += 1
        self.look()

    def make_again(self) -> None:
        kubectl("delete", "ltj", NAME, "--namespace", NAMESPACE)
        self.make()

    def look(self) -> None:
        job = self.cluster.job(NAME)
        self.status = job.get("status", {})
        if loss := self.status.get("progress", {}).get("loss"):
            self.losses.add((self.status["progress"]["step"], float(loss)))
        if "restarts" in self.status:
            self.restarts[job["metadata"]["uid"]] = self.status["restarts"]
        present = self.cluster.children(NAME)
        self.pods.update({pod["metadata"]["uid"]: pod for pod in present})
        self.prometheus.scrape(present)

    def end(self) -> str:
        """Its last condition, once it has one."""
        return next((condition["type"] for condition in self.status.get("conditions", [])
                     if condition["type"] in ("Complete", "Failed") and condition["status"] == "True"), "")

    def processes(self, program: str) -> list[int]:
        return [pid for uid in self.pods for pid in processes_of(uid, program)]

    def delete_pod(self, node: int) -> None:
        pods = self.cluster.living_pods(NAME, node)
        if not pods:
            raise ProcessLookupError
        kubectl("delete", "pod", pods[0]["metadata"]["name"], "--namespace", NAMESPACE, "--wait=false",
                "--ignore-not-found")

    def drain(self) -> None:
        machine = self.cluster.api.items("api/v1/nodes")[0]["metadata"]["name"]
        kubectl("drain", machine, "--force", "--delete-emptydir-data", "--timeout=240s",
                f"--pod-selector=training.caravan.dev/job-name={NAME}")
        kubectl("uncordon", machine)

    def suspend(self) -> None:
        self.cluster.change(NAME, suspend=True)
        try:
            wait_until("no pods", self.has_no_pods_or_has_ended)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.status.get('conditions')}\n{self.words_of_pods()}") from error
        self.cluster.change(NAME, suspend=False)

    def words_of_pods(self) -> str:
        """What the job's and the operator's say last."""
        return "\n".join(f"{pod['metadata']['name']} {pod['metadata'].get('deletionTimestamp')} {pod['status']}\n" + kubectl(
            "logs", pod["metadata"]["name"], "--namespace", pod["metadata"]["namespace"], "--tail=30", check=False)
            for pod in self.cluster.children(NAME) + self.cluster.operators())

    def has_no_pods_or_has_ended(self) -> bool:
        """A job that came to its end in that moment keeps its pods."""
        self.look()
        return bool(self.end()) or not self.cluster.children(NAME)

    def ask_for_a_checkpoint(self) -> None:
        kubectl("annotate", "ltj", NAME, "--namespace", NAMESPACE, "--overwrite",
                f"training.caravan.dev/checkpoint={time.time()}")


def operators(job: Job) -> list[int]:
    return [pid for pod in job.cluster.operators() for pid in processes_of(pod["metadata"]["uid"], "caravan-operator")]


def faults_of(chaos: Chaos, job: Job) -> dict[str, Callable]:
    def kill(program: str) -> None:
        chaos.signal_one(job.processes(program), signal.SIGKILL)

    def damage_and_kill() -> None:
        chaos.damage(STATES / "states")
        kill("caravan-trainer")

    if job.status.get("shortAttempts", 0) >= MOST_SHORT_ATTEMPTS:
        return {"job deleted and made again": job.make_again}
    return {
        "rank killed": lambda: kill("caravan-trainer"),
        "agent killed": lambda: kill("caravan-agent"),
        "first pod deleted": lambda: job.delete_pod(0),
        "second pod deleted": lambda: job.delete_pod(1),
        "node drained": job.drain,
        "operator killed": lambda: chaos.signal_one(operators(job), signal.SIGKILL),
        "job suspended": job.suspend,
        "checkpoint asked for": job.ask_for_a_checkpoint,
        "checkpoint damaged, rank killed": damage_and_kill,
    }


def torment(chaos: Chaos, job: Job, seconds: float) -> None:
    """Until the job has ended."""
    begin = time.monotonic()
    act_at = begin
    while not job.end() and time.monotonic() < begin + seconds + PATIENCE_SECONDS:
        if act_at <= time.monotonic() < begin + seconds:
            chaos.act(faults_of(chaos, job))
            act_at = time.monotonic() + chaos.random.uniform(4, 16)
        time.sleep(1)
        job.look()


def losses_seen(prometheus: Prometheus) -> set[float]:
    series = prometheus.history(f'caravan_loss{{job="{NAME}"}}[1d]')
    return {shortened(loss) for _, losses in series for loss in losses}


def shortened(loss: float) -> float:
    return float(f"{loss:.{DIGITS}g}")


def step_seconds(prometheus: Prometheus) -> float:
    """Of a step on average, of those that were made again too: goodput counts each step once."""
    total, count = (sum(value for _, value in prometheus.query(
        f'max_over_time(caravan_step_duration_seconds_{part}{{job="{NAME}"}}[1d])')) for part in ("sum", "count"))
    return total / count


def sums_of(states: pathlib.Path) -> dict[int, dict]:
    """Of the files of each checkpoint, by its step."""
    manifests = [json.loads(path.read_text()) for path in states.glob("step-??????/manifest.json")]
    return {manifest["progress"]["step"]: {file["name"]: file["crc32c"] for file in manifest["files"]}
            for manifest in manifests}


def left_behind(job: Job) -> dict[str, list]:
    """By the job that ended, and then by the job that is deleted."""
    def left() -> dict[str, list]:
        return {"pods": [pod["metadata"]["name"] for pod in job.cluster.children(NAME)
                         if pod["status"]["phase"] not in ENDED],
                "processes": job.processes("caravan-trainer") + job.processes("caravan-agent"),
                "folders": under_way(STATES / "states")}
    with contextlib.suppress(AssertionError):
        wait_until("the end of all", lambda: not any(left().values()))
    found = left()
    kubectl("delete", "ltj", NAME, "--namespace", NAMESPACE)
    with contextlib.suppress(AssertionError):
        job.cluster.leaves_nothing(NAME)
    found["pods"] += [pod["metadata"]["name"] for pod in job.cluster.children(NAME)]
    return found


def differences(calm: list[dict], seen: set[float], job: Job) -> dict:
    """From the run to which nothing happened."""
    expected = {line["step"]: line["loss"] for line in calm if line["type"] == "step"}
    wrong = [(step, loss) for step, loss in sorted(job.losses) if expected[step] != loss]
    wrong += [(None, loss) for loss in seen - {shortened(loss) for loss in expected.values()}]
    calm_sums, sums = sums_of(STATES / "calm"), sums_of(STATES / "states")
    steps = sorted(set(calm_sums) & set(sums))
    return {"lossesCompared": len(job.losses) + len(seen), "checkpointsCompared": len(steps), "wrongLosses": wrong[:10],
            "wrongCheckpoints": [step for step in steps if sums[step] != calm_sums[step]]}


def main(given: argparse.Namespace) -> bool:
    for earlier in ("calm", "measured", "states"):
        shutil.rmtree(STATES / earlier, ignore_errors=True)
    share(NAME, NAMESPACE)
    steps = steps_in(GOODPUT * given.seconds)
    calm = lines_of_local_run(job_of(steps, "calm"), NAME)
    chaos = Chaos(given.seed)
    with Prometheus() as prometheus:
        begin = time.monotonic()
        job = Job(job_of(steps, "states"), prometheus)
        torment(chaos, job, given.seconds)
        wall = time.monotonic() - begin
        seen, goodput = losses_seen(prometheus), steps * step_seconds(prometheus) / wall
    last = job.status.get("progress", {}).get("step")
    told = {"seed": given.seed, "seconds": round(wall), "steps": steps, "lastStep": last, "timesMade": job.times_made,
            "restarts": sum(job.restarts.values()), "pods": len(job.pods), "faults": chaos.done,
            "goodput": round(goodput, 3), "end": job.end()}
    found, left = differences(calm, seen, job), left_behind(job)
    print(json.dumps({**told, **found, "leftBehind": left}, indent=2))
    is_right = not found["wrongLosses"] and not found["wrongCheckpoints"] and found["checkpointsCompared"] > 0
    return job.end() == "Complete" and last == steps and is_right and not any(left.values())


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    arguments.set_defaults(seconds=600)
    sys.exit(0 if main(arguments.parse_args()) else 1)
