#!/usr/bin/env python3
"""Holds the rights of a service account against what it did with them.

    rbac_usage.py AUDIT.log RIGHTS.json NAMESPACE/ACCOUNT

AUDIT.log is an API server's, of at least the level Metadata. RIGHTS.json is what a cluster answers to
`kubectl get clusterroles,clusterrolebindings,roles,rolebindings --all-namespaces -o json`: the rights are those that
bindings to the account give. Exit code 1, with a line for each, when a right was never used or a request had none.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator, Sequence

# An admission plugin asks for it, of who makes children that hold up the deletion of their owner; there is no request.
ASKED_BY_ADMISSION = {("training.caravan.dev", "llamatrainingjobs/finalizers", "update")}
# Only where a name is taken, by another's object or by a call whose answer was lost, or by what an operator with other
# settings has made.
ASKED_AFTER_A_CONFLICT = {("kueue.x-k8s.io", "workloads", "get"), ("networking.k8s.io", "networkpolicies", "patch")} | {
    (group, "podgroups", verb) for group in ("scheduling.volcano.sh", "scheduling.x-k8s.io") for verb in ("get", "patch")}
# Systems that place gangs, which a cluster may be without: then nothing is asked of them but whether they are there.
OPTIONAL_GROUPS = {"kueue.x-k8s.io", "visibility.kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io"}
# What a pod's priority is worth in a queue; nobody asks where there is no Kueue.
ASKED_BESIDE_KUEUE = {("scheduling.k8s.io", "priorityclasses", verb) for verb in ("list", "watch")}


@dataclass(frozen=True, order=True)
class Action:
    group: str
    resource: str  # with its subresource: pods/status
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f" ({self.group})" if self.group else "")


@dataclass(frozen=True, order=True)
class Right:
    action: Action
    namespace: str  # empty: everywhere
    names: tuple[str, ...]  # empty: any

    def covers(self, request: "Request") -> bool:
        return (
            self.action == request.action
            and self.namespace in ("", request.namespace)
            and (not self.names or request.name in self.names)
        )

    def __str__(self) -> str:
        named = f" named {', '.join(self.names)}" if self.names else ""
        return f"{self.action}{named}" + (f" in {self.namespace}" if self.namespace else "")


@dataclass(frozen=True, order=True)
class Request:
    action: Action
    namespace: str
    name: str
    refused: bool

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.action}{where}" + (", which was refused" if self.refused else "")


def rights_of(account: str, objects: Sequence[dict]) -> set[Right]:
    """account: NAMESPACE/NAME."""
    rules = {_key(role): role.get("rules") or () for role in objects if role["kind"] in ("Role", "ClusterRole")}
    rights: set[Right] = set()
    for binding in objects:
        if account in _accounts(binding):
            namespace = binding["metadata"].get("namespace", "")
            role = binding["roleRef"]
            owner = namespace if role["kind"] == "Role" else ""
            for rule in rules[role["kind"], owner, role["name"]]:
                rights |= set(_rights_of_rule(rule, namespace))
    return rights


def _key(role: dict) -> tuple[str, str, str]:
    return role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]


def _accounts(binding: dict) -> set[str]:
    subjects = binding.get("subjects") or ()
    return {f"{subject['namespace']}/{subject['name']}" for subject in subjects if subject["kind"] == "ServiceAccount"}


def _rights_of_rule(rule: dict, namespace: str) -> Iterator[Right]:
    names = tuple(sorted(rule.get("resourceNames", ())))
    for group in rule.get("apiGroups", ()):
        for resource in rule.get("resources", ()):
            for verb in rule["verbs"]:
                yield Right(Action(group, resource, verb), namespace, names)


def requests_of(account: str, log: Iterable[str]) -> set[Request]:
    user = "system:serviceaccount:" + account.replace("/", ":")
    events = (json.loads(line) for line in log)
    own = (event for event in events if event["user"].get("username") == user and "objectRef" in event)
    return {_request(event) for event in own if not _finds_no_system(event)}


def _finds_no_system(event: dict) -> bool:
    """It asked whether an optional system is there."""
    return event["objectRef"].get("apiGroup") in OPTIONAL_GROUPS and event.get("responseStatus", {}).get("code") == 404


def _request(event: dict) -> Request:
    target = event["objectRef"]
    resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
    return Request(
        action=Action(target.get("apiGroup", ""), resource, event["verb"]),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        refused=event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid",
    )


def complaints(rights: set[Right], requests: set[Request]) -> list[str]:
    unused = [right for right in sorted(rights) if not any(right.covers(request) for request in requests)]
    without = [request for request in sorted(requests) if not any(right.covers(request) for right in rights)]
    absent = OPTIONAL_GROUPS - {request.action.group for request in requests}
    unused = [right for right in unused if right.action.group not in absent]
    asked_otherwise = {Action(*action) for action in ASKED_BY_ADMISSION | ASKED_AFTER_A_CONFLICT}
    if "kueue.x-k8s.io" in absent:
        asked_otherwise |= {Action(*action) for action in ASKED_BESIDE_KUEUE}
    return [f"granted and never used: {right}" for right in unused if right.action not in asked_otherwise] + [
        f"used and not granted: {text}" for text in sorted({str(request) for request in without})
    ]


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    log, rights_file, account = arguments
    rights = rights_of(account, json.loads(Path(rights_file).read_text())["items"])
    with open(log, encoding="utf-8") as lines:
        requests = requests_of(account, lines)
    found = complaints(rights, requests)
    if not rights:
        found.append(f"no binding gives a right to {account}")
    print("\n".join(found) or f"{account} used each of its {len(rights)} rights, and nothing else")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
