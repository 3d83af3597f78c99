"""The job service's program as a child of ours, who may call it, and the program that calls it (service_load.cc)."""

import json
import pathlib
import re
import subprocess

from api import wait_until
from child import Child, page

CALLERS = 8  # each may have 16 calls waiting and 64 streams open
PROBES = "127.0.0.1:18390"
ACCOUNTS = "api/v1/namespaces/default/serviceaccounts"
RBAC = "apis/rbac.authorization.k8s.io/v1"
GROUP = {"apiGroup": "rbac.authorization.k8s.io"}
RULES = [{"apiGroups": ["training.caravan.dev"], "resources": ["llamatrainingjobs"], "verbs": ["get", "list", "watch", "create"]}]


def created(api, path, body):
    status, answer = api.request("POST", path, body)
    assert status == 201, answer
    return answer


def make_callers(api, folder):
    """Accounts that may read the jobs and estimate new ones; a token of each in FOLDER/tokens."""
    subjects = [{"kind": "ServiceAccount", "name": f"caller-{number}", "namespace": "default"} for number in range(CALLERS)]
    for subject in subjects:
        created(api, ACCOUNTS, {"metadata": {"name": subject["name"]}})
    created(api, f"{RBAC}/clusterroles", {"metadata": {"name": "callers"}, "rules": RULES})
    created(api, f"{RBAC}/clusterrolebindings", {"metadata": {"name": "callers"}, "subjects": subjects,
                                                 "roleRef": {**GROUP, "kind": "ClusterRole", "name": "callers"}})
    wanted = {"spec": {"audiences": ["caravan"], "expirationSeconds": 3600}}
    tokens = [created(api, f"{ACCOUNTS}/{subject['name']}/token", wanted)["status"]["token"] for subject in subjects]
    pathlib.Path(folder, "tokens").write_text("".join(f"{token}\n" for token in tokens))


class Service(Child):
    """With the certificate of the API server, which is for loopback, too."""

    def __init__(self, programs, kubeconfig):
        pki = kubeconfig.parent / "pki"
        self.authority, self.tokens = pki / "ca.crt", kubeconfig.parent / "tokens"
        log = kubeconfig.parent / "service.log"
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [programs / "caravan-service", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--probes", PROBES,
                 "--metrics", "127.0.0.1:0", "--tls-certificate", pki / "apiserver.crt", "--tls-key", pki / "apiserver.key",
                 "--requests-per-second", "1000000", "--burst", "1000000"], stdout=output, stderr=output)
        said = wait_until("the service's port", lambda: re.search(r'"port":"(\d+)"', log.read_text()), pause=0.05)
        self.address = f"127.0.0.1:{said.group(1)}"
        wait_until("all jobs", lambda: page(PROBES, "readyz"), pause=0.05)


class Load:
    """Ready to begin."""

    def __init__(self, programs, service, what, *numbers):
        self.process = subprocess.Popen(
            [programs / "service_load", service.address, service.authority, service.tokens, what, *map(str, numbers)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().strip()
        assert said == "ready", f"the load ended: {self.process.wait()}"

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def result(self):
        return json.loads(self.process.stdout.readline())

    def run(self):
        self.begin()
        return self.result()

    def close(self):
        self.process.communicate()
