"""Calls to the API server of a test, as the administrator whom its kubeconfig (in JSON) names, or as anybody."""

import http.client
import json
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict
    flow_schema: str  # UID of the one that the server put the call into

    def message(self) -> str:
        return self.body.get("message", "")


class ApiServer:
    def __init__(self, kubeconfig: Path):
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        files = kubeconfig.parent
        trust = ssl.create_default_context(cafile=files / cluster["certificate-authority"])
        trust.load_cert_chain(files / user["client-certificate"], files / user["client-key"])
        self._connection = http.client.HTTPSConnection(urllib.parse.urlsplit(cluster["server"]).netloc, context=trust)

    def call(self, method: str, path: str, body: str | None = None, media: str = "application/json",
             user: str = "") -> Answer:
        headers = {"Content-Type": media, "Accept": "application/json"}
        if user:
            headers["Impersonate-User"] = user
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        flow_schema = response.headers.get("X-Kubernetes-PF-FlowSchema-UID", "")
        text = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return Answer(response.status, json.loads(text) if is_json else {"message": text.decode()}, flow_schema)

    def post(self, path: str, body: dict, user: str = "") -> Answer:
        return self.call("POST", path, json.dumps(body), user=user)

    def close(self) -> None:
        self._connection.close()
