#!/usr/bin/python3 -B
"""Records what a real operator shows on /metrics, for operator_replay.py.

Needs the test cluster (tests/e2e/cluster/fixture.py up and install, with CARAVAN_CLUSTER and CARAVAN_BIN in the environment).
A job trains with checkpoints and loses a rank on the way; another one ends; a third finds no machine.
"""

import gzip
import json
import pathlib
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tests/e2e/cluster"))
from cluster import NAMESPACE, OPERATOR_NAMESPACE, ClusterTest, apply, kill, kubectl, script, small_job, wait_until  # noqa: E402
from operator_replay import JOB, RECORDING  # noqa: E402
from volume import share  # noqa: E402

SECONDS = 120
RANK_DIES_AFTER = 40
CLAIM = "boards"


def jobs():
    layout = {"tensor": 2, "pipeline": 2, "data": 1}
    llama = small_job(JOB, 100000, parallelism=layout, checkpoint={"claimName": CLAIM, "path": JOB, "everySeconds": 10})
    return llama, small_job("ended", 40), small_job("waits", 40, worker={"nodeSelector": {"no-node-has": "this"}})


def leader_text(addresses):
    texts = [script("sh", "curl", "--silent", "--max-time", "5", f"http://{address}:8080/metrics", check=False) for address in addresses]
    return next((text for text in texts if 'leader_election_master_status{name="llamatrainingjob"} 1' in text), "")


def operator_addresses(api):
    return [pod["status"]["podIP"] for pod in api.items(f"api/v1/namespaces/{OPERATOR_NAMESPACE}/pods")
            if pod["status"].get("podIP") and pod["status"]["phase"] == "Running"]


def main():
    ClusterTest.setUpClass()
    test = ClusterTest()
    share(CLAIM, NAMESPACE)
    apply(*jobs())
    wait_until("a checkpoint is written", lambda: test.status(JOB).get("lastCheckpoint"), seconds=180)
    addresses, scrapes, killed, start = operator_addresses(test.api), [], False, time.monotonic()
    while (elapsed := time.monotonic() - start) < SECONDS:
        if text := leader_text(addresses):
            scrapes.append([round(elapsed, 2), text])
        if not killed and elapsed > RANK_DIES_AFTER:
            kill(next(pod for pod in test.children(JOB) if pod["status"]["phase"] == "Running"), "caravan-trainer")
            killed = True
        time.sleep(0.9)
    scrapes = [[round(seconds - scrapes[0][0], 2), text] for seconds, text in scrapes]
    RECORDING.write_bytes(gzip.compress(json.dumps(scrapes).encode(), compresslevel=9, mtime=0))
    print(f"{len(scrapes)} scrapes, {RECORDING.stat().st_size} bytes: {RECORDING}")
    kubectl("delete", "ltj", "--all", "--namespace", NAMESPACE)


if __name__ == "__main__":
    main()
