"""The documents of a manifest that install.py printed, and where they go."""

import re
from dataclasses import dataclass

PLURALS = {"NetworkPolicy": "networkpolicies", "ValidatingAdmissionPolicy": "validatingadmissionpolicies"}


@dataclass(frozen=True)
class Document:
    text: str
    api_version: str
    kind: str
    name: str
    namespace: str  # empty: of the cluster

    def collection(self) -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        scope = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{root}{scope}/{PLURALS.get(self.kind, self.kind.lower() + 's')}"

    def path(self) -> str:
        return f"{self.collection()}/{self.name}"


def documents_of(manifest: str) -> list[Document]:
    return [_document(text) for text in re.split(r"^---\n", manifest, flags=re.MULTILINE)]


def _document(text: str) -> Document:
    def value(pattern: str) -> str:
        found = re.search(pattern, text, re.MULTILINE)
        return found[1] if found else ""

    return Document(
        text,
        api_version=value(r"^apiVersion: (\S+)"),
        kind=value(r"^kind: (\S+)"),
        name=value(r"^metadata:\n(?:  .*\n)*?  name: (\S+)"),
        namespace=value(r"^metadata:\n(?:  .*\n)*?  namespace: (\S+)"),
    )
