"""The API server as tests and benchmarks read it, with a kubeconfig's first user; much cheaper than kubectl for polling."""

import base64
import http.client
import json
import pathlib
import ssl
import tempfile
import time
import urllib.parse


def is_json(answer):
    return answer.headers.get_content_type() == "application/json"


class Api:
    """One connection, opened again when it broke."""

    def __init__(self, kubeconfig):
        self.folder = pathlib.Path(kubeconfig).parent
        config = json.loads(pathlib.Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = urllib.parse.urlsplit(cluster["server"])
        with tempfile.TemporaryDirectory() as scratch:
            self.tls = ssl.create_default_context(cafile=self._file(cluster, "certificate-authority", scratch))
            self.tls.load_cert_chain(self._file(user, "client-certificate", scratch),
                                     self._file(user, "client-key", scratch))
        self.connection = None

    def _file(self, holder, key, scratch):
        if f"{key}-data" not in holder:
            return self.folder / holder[key]
        path = pathlib.Path(scratch, key)
        path.write_bytes(base64.b64decode(holder[f"{key}-data"]))
        return path

    def request(self, method, path, body=None, content_type="application/json"):
        """(status, object), or the text of an answer that is none, as for a path that is not served. Raises OSError or
        HTTPException when there is no answer."""
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.server.netloc, context=self.tls, timeout=30)
        try:
            self.connection.request(method, f"/{path}", body=None if body is None else json.dumps(body),
                                    headers={"Content-Type": content_type})
            answer = self.connection.getresponse()
            body = answer.read()
            return answer.status, json.loads(body) if is_json(answer) else body.decode()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise

    def get(self, path):
        """The object or list; None when there is none, or the server does not answer just now."""
        is_kept = self.connection is not None  # and may have been closed by the server, which says nothing of it
        for _ in range(2 if is_kept else 1):
            try:
                status, found = self.request("GET", path)
            except (OSError, http.client.HTTPException):
                continue
            return found if status == 200 else None
        return None

    def items(self, path):
        return (self.get(path) or {"items": []})["items"]

    def allows(self, user, verb, namespace, subresource=""):
        """Whether the server lets them do that to jobs: it goes by a copy of roles, a moment behind what was written."""
        attributes = {"group": "training.caravan.dev", "resource": "llamatrainingjobs", "subresource": subresource,
                      "verb": verb, "namespace": namespace}
        review = {"spec": {"user": user, "resourceAttributes": attributes}}
        return self.request("POST", "apis/authorization.k8s.io/v1/subjectaccessreviews", review)[1]["status"]["allowed"]

    def wait_for_definitions(self):
        """All kinds that were defined are served. `kubectl wait` fails where one has no conditions yet."""
        def is_established(definition):
            conditions = definition["status"].get("conditions") or []
            return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
        path = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        wait_until("all kinds are served", lambda: (found := self.items(path)) and all(map(is_established, found)))


PATIENCE_SECONDS = 240  # what is waited for comes in seconds; a busy machine gets this long before a test fails


def wait_until(what, ask, seconds=PATIENCE_SECONDS, pause=0.2):
    """The first answer that is true; an AssertionError naming `what` when none comes."""
    end = time.monotonic() + seconds
    while not (answer := ask()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(pause)
    return answer
