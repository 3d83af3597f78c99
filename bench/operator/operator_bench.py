"""How fast the operator makes pods, and what many jobs cost, against a real API server without nodes, whose etcd writes to
the disk as it does in production.

Usage: operator_bench.py PROGRAMS [--runs 5] [--pods 2000] [--jobs 250] [--fleet-runs 1] [--fleet-jobs 10000]

PROGRAMS: folder of caravan-operator. Prints one JSON object, each figure as median, least and most of the runs: pods made
per second for one large job and for many jobs of 8 pods, beside what the API server takes of the same requests from a bare
client in C++ (bareLoad); p50 and p99 of the time from the creation of a small and a large job to its plan and to its last
pod; quantiles of the time of a reconcile and of its processor time. Then the fleet: all its pods run, with statuses as a
kubelet writes them; resident memory of leader and standby, and the failover when the leader is killed: its peak of memory,
since all is listed anew, and how soon a job that was created in that moment has its plan. Programs share the processors of
this machine, so each figure tells who used them.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/cluster"))
import bare_load  # noqa: E402
import fleet  # noqa: E402
import processors  # noqa: E402
from api import Api, wait_until  # noqa: E402
from bare_load import JOBS, PODS  # noqa: E402
from operators import Operator  # noqa: E402
from figures import p50_and_p99, spread  # noqa: E402

DEFINITION = REPOSITORY / "deploy/helm/caravan/files/crds/llamatrainingjobs.training.caravan.dev.yaml"
PODS_OF_SMALL_JOB = 8
DEVICES_PER_POD = 8
TOUCHES = 4
CALM_PAUSE_SECONDS = 0.02  # longer than the API server is busy with a change
SMALL_JOBS_TIMED = 100
LARGE_JOBS_TIMED = 5
ETCD_FLAGS = "--quota-backend-bytes=8589934592"  # fsync stays on


def job(name, pods):
    devices = pods * DEVICES_PER_POD
    return {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": name},
            "spec": {"model": {"preset": "llama3-8b"}, "data": {"claimName": "corpus", "path": "train"},
                     "training": {"steps": 1000, "sequenceLength": 8192, "globalBatchSequences": 2 * devices},
                     "resources": {"devices": devices, "devicesPerNode": DEVICES_PER_POD,
                                   "device": {"product": "H100-80GB"}}}}


def quantile(before, after, share):
    """Seconds, interpolated within its bucket as Prometheus does."""
    counts = {bound: after[bound] - before.get(bound, 0) for bound in sorted(after)}
    wanted = share * max(counts.values())
    low, below = 0.0, 0.0
    for bound, count in counts.items():
        if count >= wanted:
            return low if bound == float("inf") else low + (bound - low) * (wanted - below) / max(count - below, 1)
        low, below = bound, count
    return low


def quantiles(before, after):
    figures = {"count": int(max(after["time"].values()) - max(before["time"].values()))}
    for kind, prefix in {"time": "p", "processor": "processorP"}.items():
        for percent in (50, 99):
            value = quantile(before[kind], after[kind], percent / 100)
            figures[f"{prefix}{percent}Milliseconds"] = round(1000 * value, 3)
    return figures


def create(api, body):
    status, answer = api.request("POST", JOBS, body)
    assert status == 201, answer


def timed(api, body, pods):
    """Seconds from the creation of a job to the plan in its status, and to its last pod."""
    name, there = body["metadata"]["name"], fleet.count(api, PODS)
    start = time.monotonic()
    create(api, body)
    wait_until("the plan", lambda: api.get(f"{JOBS}/{name}").get("status", {}).get("plan"), pause=0.002)
    planned = time.monotonic() - start
    wait_until("its pods", lambda: fleet.count(api, PODS) >= there + pods, pause=0.002)
    return planned, time.monotonic() - start


def one_after_another(api, prefix, pods, count):
    times = [timed(api, job(f"{prefix}-{number}", pods), pods) for number in range(count)]
    return {"pods": pods, "toPlan": p50_and_p99([plan for plan, _ in times]),
            "toLastPod": p50_and_p99([last for _, last in times])}


def pods_per_second(pods, pids, work):
    before = processors.read(pids)
    work()
    after = processors.read(pids)
    seconds = after.moment - before.moment
    return {"pods": pods, "seconds": round(seconds, 2), "podsPerSecond": round(pods / seconds),
            **processors.used(before, after)}


def make_pods(api, operator, pids, jobs):
    there, reconciles = fleet.count(api, PODS), operator.reconciles()
    pods = sum(body["spec"]["resources"]["devices"] // DEVICES_PER_POD for body in jobs)

    def work():
        for body in jobs:
            create(api, body)
        wait_until("all pods", lambda: fleet.count(api, PODS) >= there + pods, seconds=600, pause=0.05)

    return {**pods_per_second(pods, pids, work), "reconcile": quantiles(reconciles, operator.reconciles())}


def touch(api, operator, names, pause):
    """Reconciles that find nothing to do, since only an annotation has changed."""
    wait_until("an empty queue", operator.has_nothing_to_do)
    before = operator.reconciles()
    for number in range(TOUCHES):
        for name in names:
            api.request("PATCH", f"{JOBS}/{name}", {"metadata": {"annotations": {"touched": f"{number}-{pause}"}}},
                        "application/merge-patch+json")
            time.sleep(pause)
    wait_until("an empty queue", operator.has_nothing_to_do)
    return quantiles(before, operator.reconciles())


def measure(api, operator, pids, pods, jobs):
    idle = operator.memory_mib()
    small = one_after_another(api, "timed-small", PODS_OF_SMALL_JOB, SMALL_JOBS_TIMED)
    large = make_pods(api, operator, pids, [job("large", pods)])
    names = [f"small-{number}" for number in range(jobs)]
    many = make_pods(api, operator, pids, [job(name, PODS_OF_SMALL_JOB) for name in names])
    nothing_to_do = {"oneAtATime": touch(api, operator, names, CALM_PAUSE_SECONDS),
                     "withoutPause": touch(api, operator, names, 0)}
    return {"memoryIdleMiB": idle, "smallJobs": small,
            "largeJobs": one_after_another(api, "timed-large", pods, LARGE_JOBS_TIMED),
            "oneLargeJob": large, "manySmallJobs": many, "reconcileWithNothingToDo": nothing_to_do}


def measure_bare_load(api, kubeconfig, given, pids):
    """For the pods of the large job alone, and for everything that the small jobs consist of."""
    requests = bare_load.requests_for(api, job("small-0", PODS_OF_SMALL_JOB))
    loads = {"podsAlone": bare_load.copies(bare_load.only_pods(requests), "small-0", "pods",
                                           given.pods // PODS_OF_SMALL_JOB),
             "manySmallJobs": bare_load.copies(requests, "small-0", "bare", given.jobs)}
    figures = {}
    for name, load in loads.items():
        client = bare_load.BareClient(given.programs, kubeconfig, load)
        pods = sum(len(bare_load.only_pods(one)) for one in load)
        figures[name] = pods_per_second(pods, {**pids, "client": client.process.pid}, client.send)
        client.close()
    return figures


def with_shares(result, bare):
    for name, bound in {"oneLargeJob": "podsAlone", "manySmallJobs": "manySmallJobs"}.items():
        share = result[name]["podsPerSecond"] / bare[bound]["podsPerSecond"]
        result[name]["shareOfBareLoad"] = round(share, 2)
    return {**result, "bareLoad": bare}


def measure_one_leader(api, kubeconfig, given):
    pids = {name: int((kubeconfig.parent / file).read_text())
            for name, file in {"apiServer": "apiserver.pid", "etcd": "etcd.pid"}.items()}
    operator = Operator(given.programs, kubeconfig, 18080)
    try:
        wait_until("the operator leads", operator.leads)
        result = measure(api, operator, {**pids, "operator": operator.process.pid}, given.pods, given.jobs)
    finally:
        operator.stop()
    return with_shares(result, measure_bare_load(api, kubeconfig, given, pids))


def measure_fleet(api, kubeconfig, given):
    return fleet.measure(api, kubeconfig, given.programs, job, given.fleet_jobs, PODS_OF_SMALL_JOB)


def wait_out_the_first_creation(api):
    """The API server itself holds up what is created in the first two seconds of a definition, for two more."""
    create(api, job("first", 1))
    api.request("DELETE", f"{JOBS}/first")


def on_a_new_server(work, given):
    script = REPOSITORY / "tests/cluster/api.sh"
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        subprocess.run([script, "up", folder], check=True, env={**os.environ, "ETCD_FLAGS": ETCD_FLAGS})
        try:
            kubeconfig = pathlib.Path(folder, "kubeconfig")
            subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "apply", "--server-side", "-f", DEFINITION],
                           check=True, stdout=sys.stderr)
            api = Api(kubeconfig)
            wait_until("the definition is served", lambda: api.get(JOBS))
            wait_out_the_first_creation(api)
            return work(api, kubeconfig, given)
        finally:
            subprocess.run([script, "down", folder], check=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--pods", type=int, default=2000)
    arguments.add_argument("--jobs", type=int, default=250)
    arguments.add_argument("--fleet-runs", type=int, default=1)
    arguments.add_argument("--fleet-jobs", type=int, default=10_000)
    arguments.add_argument("--folder", help="on the disk that etcd is to write to; usually that of temporary files")
    given = arguments.parse_args()
    parts = {"oneLeader": (given.runs, measure_one_leader), "fleet": (given.fleet_runs, measure_fleet)}
    result = {name: {"runs": runs, **spread([on_a_new_server(work, given) for _ in range(runs)])}
              for name, (runs, work) in parts.items() if runs > 0}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
