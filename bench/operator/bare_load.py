"""What the API server takes at most: the requests that the operator sends for one job, again for many more jobs, from a
client that neither watches nor decides. Every request is made ready before the clock runs.
"""

import concurrent.futures
import http.client
import json
import pathlib
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
AT_ONCE = 16


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
    requests = [Request("POST", JOBS, "application/json", json.dumps(body)),
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


def send(kubeconfig: pathlib.Path, jobs: list[list[Request]]) -> None:
    """Several jobs at once, the requests of each in order."""
    api = Api(kubeconfig)

    def work(share: list[list[Request]]) -> None:
        connection = http.client.HTTPSConnection(api.server.netloc, context=api.tls, timeout=30)
        for request in (request for job in share for request in job):
            connection.request(request.method, f"/{request.path}", request.body, {"Content-Type": request.content_type})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status in (200, 201), (request.path, text)
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(work, (jobs[first::AT_ONCE] for first in range(AT_ONCE))))
