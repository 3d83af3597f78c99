"""What jobs that wait in the queues of a real Kueue cost the operator, beside as many that are suspended.

Usage: queues_bench.py PROGRAMS [--jobs 10000] [--probes 5]

PROGRAMS: folder of caravan-operator. Needs root: each kind of jobs has a new cluster of one node, with an etcd that
writes to the disk. Prints one JSON object with, for both: how long it took until every job had its first decision (its
quota or its place in the queue; that it is suspended) and what of the processors that took; calls of the API server for
each job and in a minute in which nothing happens; memory of leader and standby; how soon a job that comes behind all
others has its plan and its first decision; what happens when the leader is killed. In queues, also the calls when the
job that has the quota of its queue is deleted and the next one gets it. Programs share the processors of this machine,
Kueue's are among them, and its limit on its own calls is raised.
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
FOLDER = pathlib.Path(tempfile.gettempdir(), f"caravan-queues-{os.getpid()}")
sys.path += [str(REPOSITORY / folder) for folder in ("tests/cluster", "tests/e2e/cluster", "bench/operator")]
os.environ.update(CARAVAN_CLUSTER=str(FOLDER), CARAVAN_BIN=sys.argv[1] if sys.argv[1:] else "")
import bare_load  # noqa: E402
import fleet  # noqa: E402
import processors  # noqa: E402
from audit import Audit  # noqa: E402
from bare_load import JOBS  # noqa: E402
from cluster import Api, kubectl, script, wait_until  # noqa: E402
from figures import p50_and_p99  # noqa: E402
from operator_bench import DEFINITION, ETCD_FLAGS, create, job  # noqa: E402
from operators import Operator  # noqa: E402
from waiting import LATER, QUEUE_LABEL, QUEUES, InQueues, Suspended  # noqa: E402

CALM_SECONDS = 60
QUIET_SECONDS = 20
PAGE = 500
PODS_OF_JOB = 1


def all_jobs(api):
    path, after = f"{JOBS}?limit={PAGE}", ""
    while after is not None:
        page = api.get(path + after)
        yield from page["items"]
        token = page["metadata"].get("continue")
        after = f"&continue={token}" if token else None


def body_of(kind, name, number):
    return kind.dress(job(name, PODS_OF_JOB), number)


def await_calm(operators):
    for operator in operators:
        wait_until("an empty queue", operator.has_nothing_to_do, seconds=fleet.PATIENCE_SECONDS, pause=1)


def for_each(calls, count):
    return {name: round(number / count, 3) for name, number in sorted(calls.items()) if number >= count / 1000}


def fill(api, kind, given, operators, kubeconfig, audit):
    """Until every job has its first decision."""
    pids = {name: int(operator.process.pid) for name, operator in zip(("leader", "standby"), operators)}
    audit.since_last()
    before = processors.read(pids)
    loads = [[bare_load.creation(JOBS, body_of(kind, f"waiting-{number}", number))] for number in range(given.jobs)]
    client = bare_load.BareClient(given.programs, kubeconfig, loads)
    client.send()
    client.close()
    created = time.monotonic() - before.moment
    wait_until("first decisions", lambda: all(map(kind.is_decided, all_jobs(api))), fleet.PATIENCE_SECONDS, pause=10)
    after = processors.read(pids)
    await_calm(operators)
    return {"secondsUntilCreated": round(created), "secondsUntilAllDecided": round(after.moment - before.moment),
            **processors.used(before, after), "callsForEachJob": for_each(audit.since_last(), given.jobs)}


def await_end_of(user):
    """Kueue tries each job once, which goes on long after each has its place."""
    audit = Audit(FOLDER / "audit.log", user)
    audit.since_last()

    def is_idle():
        time.sleep(QUIET_SECONDS)
        return not audit.since_last()["patch workloads/status"]
    wait_until(f"{user} has looked at every job", is_idle, fleet.PATIENCE_SECONDS, pause=0)


def calm(kind, audit, operators):
    if kind.other:
        await_end_of(kind.other)
        await_calm(operators)
    pids = {"leader": operators[0].process.pid}
    time.sleep(CALM_SECONDS)  # in which those at the front hear their places once more
    audit.since_last()
    before = processors.read(pids)
    time.sleep(CALM_SECONDS)
    used = processors.used(before, processors.read(pids))
    return {**used, "calls": dict(sorted(audit.since_last().items()))}


def probe(api, kind, given):
    """Jobs that come one after another behind all others."""
    planned, decided = [], []
    for number in range(given.probes):
        body = body_of(kind, f"{LATER}{number}", number)
        path = f"{JOBS}/{body['metadata']['name']}"
        start = time.monotonic()
        create(api, body)
        wait_until("the plan", lambda: api.get(path).get("status", {}).get("plan"), pause=0.005)
        planned.append(time.monotonic() - start)
        wait_until("the first decision", lambda: kind.is_decided(api.get(path)), seconds=600, pause=0.005)
        decided.append(time.monotonic() - start)
    return {"toPlan": p50_and_p99(planned), "toFirstDecision": p50_and_p99(decided)}


def take_turns(api, operators, audit):
    """In each queue the job that has the quota is deleted, and the next one gets it."""
    def running():
        found = [(one["metadata"]["labels"][QUEUE_LABEL], one["metadata"]["name"]) for one in all_jobs(api)
                 if one["status"].get("gang", {}).get("admitted")]
        return found if len(found) == QUEUES else None

    first = wait_until("a job of each queue has its quota", running, seconds=600, pause=2)
    audit.since_last()
    for _, name in first:
        api.request("DELETE", f"{JOBS}/{name}")
    wait_until("others have it", lambda: (now := running()) and not set(now) & set(first), seconds=600, pause=2)
    time.sleep(CALM_SECONDS)  # places change behind them
    await_calm(operators)
    return {"turns": QUEUES, "callsForEachTurn": for_each(audit.since_last(), QUEUES)}


def kubeconfig_of_the_user():
    """Whose calls are in the audit log; may do everything."""
    kubectl("create", "clusterrolebinding", "bench", "--clusterrole=cluster-admin", "--user=user")
    config = json.loads((FOLDER / "kubeconfig").read_text())
    path = FOLDER / "user.kubeconfig"
    path.write_text(json.dumps({**config, "current-context": "user"}))
    return path


def connect():
    """Anew after each pause: the server closes what is idle."""
    return Api(FOLDER / "kubeconfig")


def leader_first(operators):
    wait_until("one leads", lambda: any(operator.leads() for operator in operators))
    return sorted(operators, key=lambda operator: not operator.leads())


def measure(kind, given):
    kind.prepare()
    audit = Audit(FOLDER / "audit.log", "user")
    kubeconfig = kubeconfig_of_the_user()
    operators = [Operator(given.programs, kubeconfig, port) for port in (18080, 18090)]
    try:
        operators = leader, standby = leader_first(operators)
        result = {"jobs": given.jobs, "idleMiB": leader.memory_mib(),
                  "loadOfTheMachine": round(os.getloadavg()[1], 1),
                  "filled": fill(connect(), kind, given, operators, FOLDER / "kubeconfig", audit)}
        result["aMinuteOfCalm"] = calm(kind, audit, operators)
        result["memory"] = {"leaderMiB": leader.memory_mib(), "leaderPeakMiB": leader.peak_mib(),
                            "standbyMiB": standby.memory_mib()}
        result["jobsBehindAllOthers"] = probe(connect(), kind, given)
        if isinstance(kind, InQueues):
            result["turns"] = take_turns(connect(), operators, audit)
        result["failover"] = fleet.fail_over(connect(), leader, standby, body_of(kind, f"{LATER}last", 0))
        return result
    finally:
        for operator in operators:
            operator.kill()


def on_a_new_cluster(kind, given):
    os.environ["ETCD_FLAGS"] = ETCD_FLAGS
    try:
        script("up", DEFINITION)
        result = measure(kind, given)
        print(json.dumps(result), file=sys.stderr, flush=True)  # the other kind takes as long again
        return result
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")
    finally:
        script("down", check=False)


def ratios(queued, plain):
    """Of what waiting in a queue costs to what being suspended does, and of first decisions beside so many."""
    parts = {"leaderMiB": ("memory", "leaderMiB"), "standbyMiB": ("memory", "standbyMiB"),
             "failoverPeakMiB": ("failover", "peakMiB"),
             "toPlanP50": ("jobsBehindAllOthers", "toPlan", "p50Milliseconds"),
             "leaderProcessorSeconds": ("filled", "processorSeconds", "leader"),
             "firstDecisionOfANewLeader": ("failover", "firstDecisionAfterSeconds")}

    def at(figures, path):
        for key in path:
            figures = figures[key]
        return figures
    return {name: round(at(queued, path) / at(plain, path), 2) for name, path in parts.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("programs", type=pathlib.Path)
    arguments.add_argument("--jobs", type=int, default=10_000)
    arguments.add_argument("--probes", type=int, default=5)
    given = arguments.parse_args()
    queued = on_a_new_cluster(InQueues(), given)
    plain = on_a_new_cluster(Suspended(), given)
    result = {"inQueues": queued, "suspended": plain, "inQueuesToSuspended": ratios(queued, plain)}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
