"""Installs what install.py prints on the API server of a test; as a program, on the one that KUBECONFIG names."""

import os
import time
from pathlib import Path
from typing import Callable

import install
from api_server import APPLY, ApiServer
from manifest_text import Document, documents_of

CONFLICT = 409
PATIENCE_SECONDS = 60


def apply(server: ApiServer, document: Document) -> dict:
    """As kubectl does it with --validate=strict. Another test may apply the same object at the same time."""
    path = f"{document.path()}?fieldManager=test&force=true&fieldValidation=Strict"
    answer = server.call("PATCH", path, document.text, APPLY)
    while answer.status == CONFLICT:
        answer = server.call("PATCH", path, document.text, APPLY)
    if answer.status not in (200, 201):
        raise AssertionError(f"{document.kind} {document.name}: {answer.message()}")
    return answer.body


def apply_all(server: ApiServer, *arguments: str) -> list[dict]:
    return [apply(server, document) for document in documents_of(install.manifest(*arguments))]


def wait_until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.1)


if __name__ == "__main__":
    apply_all(ApiServer(Path(os.environ["KUBECONFIG"])))
