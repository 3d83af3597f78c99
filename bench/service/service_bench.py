"""What the job service takes, beside the API server's own answers about the same jobs in the same run.

Usage: service_bench.py PROGRAMS [--runs 3] [--jobs 1000] [--seconds 10] [--rate 2000] [--watchers 500] [--changes 40]

PROGRAMS: folder of caravan-service. Prints one JSON object, each figure as median, least and most of the runs. The jobs have
the status that the operator gave them, which has ended by then. Callers are 32 at once, of 8 accounts: GetJob again and again
(closed) and at a rate whether there are answers or not (open), and the same GETs of the API server by a bare client in C++.
Then watchers of WatchJobs, who all hear of every change: how long from before the change is sent to the API server until a
watcher has read of it. Then EstimateJob of 1,000 devices, one call after another. Everything shares the processors of this
machine, so each figure tells who used them; what is used by a call is told of the service and of who calls it apart.
"""

import argparse
import json
import pathlib
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(REPOSITORY / "tests/cluster"), str(REPOSITORY / "bench/operator")]
import processors  # noqa: E402
from api import wait_until  # noqa: E402
from bare_load import JOBS, AT_ONCE, BareClient, Request  # noqa: E402
from figures import p50_and_p99, spread  # noqa: E402
from operator_bench import create, job, on_a_new_server  # noqa: E402
from operators import Operator  # noqa: E402
from services import CALLERS, Load, Service, make_callers  # noqa: E402

PAUSE_BETWEEN_CHANGES = 0.25  # seconds; longer than all watchers need to read of one
GETS_OF_API_SERVER = 3000  # it answers some hundreds a second
ESTIMATES = 100
DEVICES_OF_ESTIMATE = 1000
GOALS = {"getJobsPerSecond": 2000, "p99Milliseconds": 20, "watchers": 500, "memoryMiB": 64, "estimatesSeconds": 1}


def make_jobs(api, given, kubeconfig):
    operator = Operator(given.programs, kubeconfig, 18380)
    try:
        for number in range(given.jobs):
            create(api, job(f"bench-{number}", 1))
        wait_until("the status of all jobs", lambda: all(one.get("status", {}).get("plan") for one in api.items(JOBS)), pause=2)
        wait_until("an empty queue", operator.has_nothing_to_do)
    finally:
        operator.stop()


def per_call(figures, calls, programs):
    """Microseconds of processor."""
    used = figures["processorSeconds"]
    return {name: round(1e6 * used[name] / max(calls, 1)) for name in programs}


def measured(pids, load):
    """What the load tells, and who used the processors meanwhile."""
    pids = {**pids, "client": load.process.pid}
    before = processors.read(pids)
    told = load.run()
    used = processors.used(before, processors.read(pids))
    load.close()
    return {**told, **used, "processorMicrosecondsPerCall": per_call(used, told["count"], ("service", "client"))}


def get_from_api_server(kubeconfig, given, pids):
    """Of the same jobs, and as many at once."""
    calls = GETS_OF_API_SERVER
    asked = [Request("GET", f"{JOBS}/bench-{number % given.jobs}", "application/json", "") for number in range(calls)]
    client = BareClient(given.programs, kubeconfig, [asked[start::AT_ONCE] for start in range(AT_ONCE)])
    pids = {**pids, "client": client.process.pid}
    before = processors.read(pids)
    client.send()
    after = processors.read(pids)
    client.close()
    used = processors.used(before, after)
    return {"count": calls, "callsPerSecond": round(calls / (after.moment - before.moment)), **used,
            "processorMicrosecondsPerCall": per_call(used, calls, ("apiServer", "client"))}


def change_jobs(api, given):
    """How long the API server takes for each."""
    times = []
    for number in range(given.changes):
        began = time.monotonic_ns()
        status, answer = api.request("PATCH", f"{JOBS}/bench-{number % given.jobs}",
                                     {"metadata": {"annotations": {"changed": str(began)}}}, "application/merge-patch+json")
        assert status == 200, answer
        times.append((time.monotonic_ns() - began) / 1e9)
        time.sleep(PAUSE_BETWEEN_CHANGES)
    return p50_and_p99(times)


def watch(api, service, given, pids):
    began = time.monotonic()
    load = Load(given.programs, service, "watch", given.watchers, given.changes)
    opened = round(time.monotonic() - began, 1)
    open_mib = service.memory_mib()
    pids = {**pids, "client": load.process.pid}
    before = processors.read(pids)
    load.begin()
    changes = change_jobs(api, given)
    told = load.result()
    used = processors.used(before, processors.read(pids))
    load.close()
    assert told["count"] == told["expected"] and told["open"] == given.watchers, told
    return {"secondsUntilAllWatch": opened, "memoryMiB": open_mib, "writeOfApiServer": changes, "delay": told, **used,
            "processorMicrosecondsPerMessage": per_call(used, told["count"], ("service", "client"))}


def measure(api, kubeconfig, given):
    pids = {name: int((kubeconfig.parent / file).read_text())
            for name, file in {"apiServer": "apiserver.pid", "etcd": "etcd.pid"}.items()}
    make_jobs(api, given, kubeconfig)
    make_callers(api, kubeconfig.parent)
    service = Service(given.programs, kubeconfig)
    pids["service"] = service.process.pid
    try:
        filled = service.memory_mib()
        closed = measured(pids, Load(given.programs, service, "get", given.jobs, AT_ONCE, 0, given.seconds))
        opened = measured(pids, Load(given.programs, service, "get", given.jobs, AT_ONCE, given.rate, given.seconds))
        of_api_server = get_from_api_server(kubeconfig, given, pids)
        after_calls = service.peak_mib()
        estimates = measured(pids, Load(given.programs, service, "estimate", ESTIMATES, DEVICES_OF_ESTIMATE))
        watchers = watch(api, service, given, pids)
        memory = {"filledMiB": filled, "afterCallsPeakMiB": after_calls, "peakMiB": service.peak_mib()}
    finally:
        service.stop()
    return {"getJobClosed": closed, "getJobOpen": opened, "getOfApiServer": of_api_server,
            "timesFasterThanApiServer": round(closed["callsPerSecond"] / of_api_server["callsPerSecond"], 2),
            "estimateJob": estimates, "watchJobs": watchers, "memory": memory}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--jobs", type=int, default=1000)
    arguments.add_argument("--seconds", type=int, default=10)
    arguments.add_argument("--rate", type=int, default=2000)
    arguments.add_argument("--watchers", type=int, default=500)
    arguments.add_argument("--changes", type=int, default=40)
    arguments.add_argument("--folder", help="on the disk that etcd is to write to; usually that of temporary files")
    given = arguments.parse_args()
    load = {"jobs": given.jobs, "callers": CALLERS, "callsAtOnce": AT_ONCE, "openCallsPerSecond": given.rate,
            "watchers": given.watchers, "devicesOfEstimate": DEVICES_OF_ESTIMATE}
    result = {"runs": given.runs, "goals": GOALS, "load": load,
              **spread([on_a_new_server(measure, given) for _ in range(given.runs)])}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
