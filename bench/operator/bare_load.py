"""What the API server takes at most: the requests that the operator sends for one job, again for many more jobs, from a
client in C++ (bare_client.cc) that neither watches nor decides. Every request is made ready before the clock runs.
"""

import json
import pathlib
import subprocess
import tempfile
import typing

from api import Api

JOBS = "apis/training.caravan.dev/v1alpha1/namespaces/default/llamatrainingjobs"
EVENTS = "apis/events.k8s.io/v1/namespaces/default/events"
PODS = "api/v1/namespaces/default/pods"
# In the order of the operator.
CHILDREN = ["api/v1/namespaces/default/secrets", "api/v1/namespaces/default/serviceaccounts",
            "apis/networking.k8s.io/v1/namespaces/default/networkpolicies", "api/v1/namespaces/default/services",
            "api/v1/namespaces/default/configmaps", PODS]
KEPT_METADATA = ("name", "labels", "ownerReferences")
AT_ONCE = 32  # as the operator


class Request(typing.NamedTuple):
    method: str
    path: str
    content_type: str
    body: str

    def of_job(self, old: str, new: str) -> "Request":
        return self._replace(path=self.path.replace(old, new), body=self.body.replace(old, new))


def creation(path: str, item: dict) -> Request:
    """Of an object like that one, as its maker sent it."""
    sent = {key: value for key, value in item.items() if key != "status"}
    sent["metadata"] = {key: item["metadata"][key] for key in KEPT_METADATA if key in item["metadata"]}
    return Request("POST", path, "application/json", json.dumps(sent))


def belongs_to(item: dict, job: str) -> bool:
    return item["metadata"].get("ownerReferences", [{}])[0].get("name") == job


def requests_for(api: Api, body: dict) -> list[Request]:
    """What was sent for the job of that body, from its creation on."""
    name = body["metadata"]["name"]
    status = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": name},
              "status": api.get(f"{JOBS}/{name}")["status"]}
    requests = [creation(JOBS, body),
                Request("PATCH", f"{JOBS}/{name}/status?fieldManager=bench&force=true", "application/apply-patch+yaml",
                        json.dumps(status))]
    for path in CHILDREN:
        requests += [creation(path, item) for item in api.items(path) if belongs_to(item, name)]
    return requests + [creation(EVENTS, event) for event in api.items(EVENTS) if event["regarding"]["name"] == name]


def only_pods(requests: list[Request]) -> list[Request]:
    return [request for request in requests if request.path == PODS]


def copies(requests: list[Request], old: str, new: str, count: int) -> list[list[Request]]:
    """One list for each of that many jobs."""
    return [[request.of_job(old, f"{new}-{number}") for request in requests] for number in range(count)]


def as_json(request: Request) -> dict:
    return {"method": request.method, "path": request.path, "contentType": request.content_type, "body": request.body}


class BareClient:
    """Sends several jobs at once, the requests of each in order."""

    def __init__(self, programs: pathlib.Path, kubeconfig: pathlib.Path, jobs: list[list[Request]]):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.writelines(json.dumps([as_json(request) for request in job]) + "\n" for job in jobs)
            file.flush()
            self.process = subprocess.Popen([programs / "operator_bare_client", kubeconfig, file.name, str(AT_ONCE)],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._expect("ready")

    def _expect(self, word: str) -> None:
        said = self.process.stdout.readline().strip()
        assert said == word, f"the bare client ended: {self.process.wait()}"

    def send(self) -> None:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self._expect("done")

    def close(self) -> None:
        self.process.communicate()
