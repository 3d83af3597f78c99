"""Many jobs that run: memory of leader and standby, and what happens when the leader is killed."""

import subprocess
import time

import bare_load
from api import wait_until
from bare_load import JOBS, PODS
from operators import Operator

PATIENCE_SECONDS = 7200
SETTLING_SECONDS = 20


def is_empty(api, selector):
    page = api.get(f"{PODS}?limit=1&fieldSelector={selector}")
    return page is not None and not page["items"]


def count(api, path):
    page = api.get(f"{path}?limit=1")
    return 0 if page is None else len(page["items"]) + page["metadata"].get("remainingItemCount", 0)


def make(api, kubeconfig, programs, bodies, pods, operators):
    """Until every pod runs and nobody has anything to do."""
    client = bare_load.BareClient(programs, kubeconfig, [[bare_load.creation(JOBS, body)] for body in bodies])
    client.send()
    client.close()
    wait_until("all pods", lambda: count(api, PODS) >= pods, seconds=PATIENCE_SECONDS, pause=5)
    wait_until("all pods run", lambda: is_empty(api, "status.phase=Pending"), seconds=PATIENCE_SECONDS, pause=5)
    for operator in operators:
        wait_until("an empty queue", operator.has_nothing_to_do, seconds=PATIENCE_SECONDS, pause=1)
    time.sleep(SETTLING_SECONDS)


def fail_over(api, leader, standby, probe):
    """The leader dies without a word, and a job is created in that moment."""
    before = standby.memory_mib()
    standby.forget_peak()
    leader.kill()
    killed = time.monotonic()
    status, answer = api.request("POST", JOBS, probe)
    assert status == 201, answer
    name = probe["metadata"]["name"]

    def seconds_until(what, ask):
        wait_until(what, ask, seconds=PATIENCE_SECONDS, pause=0.05)
        return round(time.monotonic() - killed, 2)

    leads = seconds_until("the standby leads", standby.leads)
    decided = seconds_until("the plan of the new job", lambda: api.get(f"{JOBS}/{name}").get("status", {}).get("plan"))
    done = seconds_until("an empty queue", standby.has_nothing_to_do)
    return {"standbyMiBBefore": before, "peakMiB": standby.peak_mib(), "leadsAfterSeconds": leads,
            "firstDecisionAfterSeconds": decided, "everyJobLookedAtAfterSeconds": done}


def measure(api, kubeconfig, programs, new_job, jobs, pods_of_job):
    operators = [Operator(programs, kubeconfig, port) for port in (18080, 18090)]
    kubelets = subprocess.Popen([programs / "operator_kubelets", kubeconfig])
    try:
        began = time.monotonic()
        idle = [operator.memory_mib() for operator in operators]
        bodies = [new_job(f"fleet-{number}", pods_of_job) for number in range(jobs)]
        make(api, kubeconfig, programs, bodies, jobs * pods_of_job, operators)
        took = time.monotonic() - began
        leader, standby = sorted(operators, key=lambda operator: not operator.leads())
        memory = {"leaderMiB": leader.memory_mib(), "leaderPeakMiB": leader.peak_mib(), "standbyMiB": standby.memory_mib(),
                  "standbyKibPerPod": round((standby.memory_mib() - min(idle)) * 1024 / (jobs * pods_of_job), 2)}
        return {"jobs": jobs, "pods": jobs * pods_of_job, "secondsUntilAllRan": round(took), "memory": memory,
                "failover": fail_over(api, leader, standby, new_job("probe", pods_of_job))}
    finally:
        for operator in operators:
            operator.kill()
        kubelets.terminate()
        kubelets.wait()
