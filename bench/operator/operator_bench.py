"""How fast the operator makes pods, against a real API server without nodes.

Usage: operator_bench.py PROGRAMS [--pods 2000] [--jobs 250]     PROGRAMS: folder of caravan-operator

Prints one JSON object: pods made per second for one large job and for many jobs of 8 pods, what the API server takes of
the same requests from a client that only sends them (bareLoad), time from the creation of a job to the plan in its
status, quantiles of the time of a reconcile and of its processor time, resident memory. Programs share the processors of
this machine, so each figure tells who used them.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/cluster"))
import bare_load  # noqa: E402
import processors  # noqa: E402
from api import Api, wait_until  # noqa: E402
from bare_load import JOBS, PODS  # noqa: E402

DEFINITION = REPOSITORY / "deploy/crds/llamatrainingjobs.training.caravan.dev.yaml"
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS_OF_SMALL_JOB = 8
DEVICES_PER_POD = 8
PROBES, METRICS = 18081, 18080  # ports
TOUCHES = 4
CALM_PAUSE_SECONDS = 0.02  # longer than the API server is busy with a change


def job(name, pods):
    devices = pods * DEVICES_PER_POD
    return {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": name},
            "spec": {"model": {"preset": "llama3-8b"}, "data": {"claimName": "corpus", "path": "train"},
                     "training": {"steps": 1000, "sequenceLength": 8192, "globalBatchSequences": 2 * devices},
                     "resources": {"devices": devices, "devicesPerNode": DEVICES_PER_POD,
                                   "device": {"product": "H100-80GB"}}}}


class Operator:
    """The program as a child of ours, leader from its first second."""

    def __init__(self, program, kubeconfig):
        self.process = subprocess.Popen(
            [program, "--kubeconfig", kubeconfig, "--lease-namespace", "default", "--worker-image", "worker:bench",
             "--reports-listen", "127.0.0.1:0", "--probes", f"127.0.0.1:{PROBES}", "--metrics", f"127.0.0.1:{METRICS}",
             "--log-level", "warning"])
        wait_until("full caches", lambda: self.read(PROBES, "readyz"))
        wait_until("the operator leads", lambda: self.value("leader_election_master_status") == 1)

    @staticmethod
    def read(port, page):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def value(self, name):
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", self.read(METRICS, "metrics"), re.MULTILINE)
        return float(found.group(1)) if found else None

    def histogram(self, name):
        """Upper bound in seconds -> how many reconciles took at most that."""
        pattern = rf'^{name}_bucket{{.*le="([^"]+)"}} (\S+)$'
        return {float(bound): float(count) for bound, count in re.findall(pattern, self.read(METRICS, "metrics"), re.MULTILINE)}

    def reconciles(self):
        return {"time": self.histogram("controller_runtime_reconcile_time_seconds"),
                "processor": self.histogram("caravan_reconcile_cpu_seconds")}

    def memory_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024, 1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


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


def count_pods(api):
    page = api.get(f"{PODS}?limit=1&resourceVersion=")
    return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)


def create(api, body):
    status, answer = api.request("POST", JOBS, body)
    assert status == 201, answer


def time_to_plan(api, name):
    """Milliseconds from the creation of a job to the plan in its status."""
    start = time.monotonic()
    create(api, job(name, 1))
    wait_until("the plan", lambda: api.get(f"{JOBS}/{name}").get("status", {}).get("plan"), pause=0.002)
    return 1000 * (time.monotonic() - start)


def pods_per_second(pods, pids, work):
    before = processors.read(pids)
    work()
    after = processors.read(pids)
    seconds = after.moment - before.moment
    return {"pods": pods, "seconds": round(seconds, 2), "podsPerSecond": round(pods / seconds),
            **processors.used(before, after)}


def make_pods(api, operator, pids, jobs):
    there, reconciles = count_pods(api), operator.reconciles()
    pods = sum(body["spec"]["resources"]["devices"] // DEVICES_PER_POD for body in jobs)

    def work():
        for body in jobs:
            create(api, body)
        wait_until("all pods", lambda: count_pods(api) >= there + pods, seconds=600, pause=0.05)

    return {**pods_per_second(pods, pids, work), "reconcile": quantiles(reconciles, operator.reconciles())}


def touch(api, operator, names, pause):
    """Reconciles that find nothing to do, since only an annotation has changed."""
    wait_until("an empty queue", lambda: operator.value("workqueue_depth") == 0)
    before = operator.reconciles()
    for number in range(TOUCHES):
        for name in names:
            api.request("PATCH", f"{JOBS}/{name}", {"metadata": {"annotations": {"touched": f"{number}-{pause}"}}},
                        "application/merge-patch+json")
            time.sleep(pause)
    wait_until("an empty queue", lambda: operator.value("workqueue_depth") == 0)
    return quantiles(before, operator.reconciles())


def measure(api, operator, pids, pods, jobs):
    idle = operator.memory_mib()
    plans = sorted(time_to_plan(api, f"plan-{number}") for number in range(20))
    large = make_pods(api, operator, pids, [job("large", pods)])
    names = [f"small-{number}" for number in range(jobs)]
    many = make_pods(api, operator, pids, [job(name, PODS_OF_SMALL_JOB) for name in names])
    nothing_to_do = {"oneAtATime": touch(api, operator, names, CALM_PAUSE_SECONDS),
                     "withoutPause": touch(api, operator, names, 0)}
    return {"memoryIdleMiB": idle, "memoryAtEndMiB": operator.memory_mib(),
            "createToPlanMilliseconds": {"median": round(plans[len(plans) // 2], 1), "worst": round(plans[-1], 1)},
            "oneLargeJob": large, "manySmallJobs": many, "reconcileWithNothingToDo": nothing_to_do}


def measure_bare_load(api, kubeconfig, pids, pods, jobs):
    """For the pods of the large job alone, and for everything that the small jobs consist of."""
    requests = bare_load.requests_for(api, job("small-0", PODS_OF_SMALL_JOB))
    single = bare_load.copies(bare_load.only_pods(requests), "small-0", "pods", pods // PODS_OF_SMALL_JOB)
    whole = bare_load.copies(requests, "small-0", "bare", jobs)
    pids = {**pids, "client": os.getpid()}
    return {name: pods_per_second(sum(len(bare_load.only_pods(one)) for one in load), pids,
                                  lambda load=load: bare_load.send(kubeconfig, load))
            for name, load in {"podsAlone": single, "manySmallJobs": whole}.items()}


def with_shares(result, bare):
    for name, bound in {"oneLargeJob": "podsAlone", "manySmallJobs": "manySmallJobs"}.items():
        share = result[name]["podsPerSecond"] / bare[bound]["podsPerSecond"]
        result[name]["shareOfBareLoad"] = round(share, 2)
    return {**result, "bareLoad": bare}


def make_lease(api):
    """As an installation brings it: one that is missing is waited for before anybody leads."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "caravan-operator"}}
    status, answer = api.request("POST", "apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
    assert status == 201, answer


def wait_out_the_first_creation(api):
    """The API server itself holds up what is created in the first two seconds of a definition, for two more."""
    create(api, job("first", 1))
    api.request("DELETE", f"{JOBS}/first")


def run(kubeconfig, given):
    api = Api(kubeconfig)
    wait_until("the definition is served", lambda: api.get(JOBS))
    wait_out_the_first_creation(api)
    make_lease(api)
    pids = {name: int((kubeconfig.parent / file).read_text())
            for name, file in {"apiServer": "apiserver.pid", "etcd": "etcd.pid"}.items()}
    operator = Operator(given.programs / "caravan-operator", kubeconfig)
    try:
        result = measure(api, operator, {**pids, "operator": operator.process.pid}, given.pods, given.jobs)
    finally:
        operator.stop()
    return with_shares(result, measure_bare_load(api, kubeconfig, pids, given.pods, given.jobs))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--pods", type=int, default=2000)
    arguments.add_argument("--jobs", type=int, default=250)
    given = arguments.parse_args()
    script = REPOSITORY / "tests/cluster/api.sh"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([script, "up", folder], check=True)
        try:
            kubeconfig = pathlib.Path(folder, "kubeconfig")
            subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "apply", "--server-side", "-f", DEFINITION],
                           check=True, stdout=sys.stderr)
            print(json.dumps(run(kubeconfig, given), indent=2))
        finally:
            subprocess.run([script, "down", folder], check=True)


if __name__ == "__main__":
    main()
