#!/usr/bin/env python3
"""Enforces network policies on the one node of a test cluster.

    network_policies.py KUBECONFIG

Every half second it reads namespaces, pods and policies, and replaces one nftables table. It knows selectors by labels
(matchLabels), blocks of addresses and ports by number; a policy with anything else is refused in the log, and then no
rule changes. What the node itself sends (probes) always passes; what pods send to it (API server, DNS) is theirs to be
allowed. A new pod is open for that half second. Runs until it is killed; while the API server does not answer, the last
rules hold. KUBECONFIG is in JSON, as cluster.sh writes it.
"""

import http.client
import json
import ssl
import subprocess
import sys
import time
from typing import Any, Iterable, Optional, Sequence
from urllib.parse import urlsplit

Object = dict[str, Any]
SECONDS_BETWEEN_READS = 0.5
NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/pods"
POLICIES = "/apis/networking.k8s.io/v1/networkpolicies"
FINISHED = {"Succeeded", "Failed"}
# Of a direction: the end of a packet that the policy's pod is at, the other end, and the key of the peers.
ENDS = {"ingress": ("daddr", "saddr", "from"), "egress": ("saddr", "daddr", "to")}


def known(part: Object, *keys: str) -> Object:
    """The part itself, when this program knows all its keys."""
    unknown = set(part) - set(keys)
    if unknown:
        raise ValueError(f"a policy has {', '.join(sorted(unknown))}, which is not enforced here")
    return part


def is_selected(selector: Object, labels: dict[str, str]) -> bool:
    wanted = known(selector, "matchLabels").get("matchLabels", {})
    return wanted.items() <= labels.items()


def labels_of(thing: Object) -> dict[str, str]:
    return thing["metadata"].get("labels", {})


def has_address(pod: Object) -> bool:
    """One of its own, that no other pod may have: those that ended keep theirs in the status alone."""
    status = pod["status"]
    return "podIP" in status and status.get("phase") not in FINISHED and not pod["spec"].get("hostNetwork")


class Cluster:
    def __init__(self, namespaces: Iterable[Object], pods: Iterable[Object]):
        self.namespaces = {each["metadata"]["name"]: labels_of(each) for each in namespaces}
        self.pods = [pod for pod in pods if has_address(pod)]

    def addresses(self, peer: Object, own_namespace: str) -> list[str]:
        """The block, or those of the pods that a peer means; without a selector of namespaces, in the policy's own."""
        known(peer, "podSelector", "namespaceSelector", "ipBlock")
        if "ipBlock" in peer:
            return [known(peer["ipBlock"], "cidr")["cidr"]]
        found = []
        for pod in self.pods:
            namespace = pod["metadata"]["namespace"]
            of_namespace = self.namespaces.get(namespace, {})
            in_scope = (
                is_selected(peer["namespaceSelector"], of_namespace)
                if "namespaceSelector" in peer
                else namespace == own_namespace
            )
            if in_scope and is_selected(peer.get("podSelector", {}), labels_of(pod)):
                found.append(pod["status"]["podIP"])
        return sorted(found)


def port_match(port: Object) -> str:
    known(port, "protocol", "port")
    number = port.get("port")
    if not isinstance(number, int):
        raise ValueError(f"a policy has the port '{number}', which is not enforced here: it is no number")
    return f"{port.get('protocol', 'TCP').lower()} dport {number}"


def matches(cluster: Cluster, rule: Object, key: str, other_end: str, namespace: str) -> list[str]:
    """What passes by a rule of a policy: each of the peers with each of the ports; all, where none are named."""
    known(rule, key, "ports")
    addresses = [each for peer in rule.get(key, []) for each in cluster.addresses(peer, namespace)]
    peers = [f"ip {other_end} {each}" for each in addresses] if rule.get(key) else [""]
    ports = [port_match(port) for port in rule.get("ports", [])] or [""]
    return [f"{peer} {port}".strip() for peer in peers for port in ports]


def chain(cluster: Cluster, policies: Iterable[Object], direction: str) -> list[str]:
    """Of pods that a policy selects, what none accepts is dropped; others stay open."""
    own_end, other_end, key = ENDS[direction]
    accepted, dropped = [], set()
    for policy in policies:
        namespace, spec = policy["metadata"]["namespace"], policy["spec"]
        if direction.capitalize() not in spec["policyTypes"]:
            continue
        for own in cluster.addresses({"podSelector": spec.get("podSelector", {})}, namespace):
            dropped.add(f"ip {own_end} {own} drop")
            for rule in spec.get(direction, []):
                for match in matches(cluster, rule, key, other_end, namespace):
                    accepted.append(" ".join(["ip", own_end, own, match, "accept"]).replace("  ", " "))
    return accepted + sorted(dropped)


def table(cluster: Cluster, policies: Sequence[Object]) -> str:
    """A packet between pods must pass both chains, its sender's and its receiver's; one to the node its sender's."""
    lines = ["table ip policies", "delete table ip policies", "table ip policies {"]
    for hook, priority, direction in [("forward", 0, "egress"), ("forward", 1, "ingress"), ("input", 0, "egress")]:
        lines += [f"chain {hook}_{direction} {{", f"type filter hook {hook} priority {priority}; policy accept;"]
        lines += ["ct state established,related accept", *chain(cluster, policies, direction), "}"]
    return "\n".join([*lines, "}", ""])


class Server:
    def __init__(self, kubeconfig: str):
        with open(kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        context.load_cert_chain(user["client-certificate"], user["client-key"])
        self.connection = http.client.HTTPSConnection(urlsplit(cluster["server"]).netloc, context=context, timeout=10)

    def items(self, path: str) -> list[Object]:
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise OSError(f"GET {path}: {answer.status} {body.decode()}")
        return json.loads(body)["items"]

    def rules(self) -> str:
        cluster = Cluster(self.items(NAMESPACES), self.items(PODS))
        return table(cluster, self.items(POLICIES))


def apply(rules: str) -> None:
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)


def main() -> None:
    server = Server(sys.argv[1])
    applied: Optional[str] = None
    while True:
        try:
            rules = server.rules()
            if rules != applied:
                apply(rules)
            applied = rules
        except (OSError, ValueError, http.client.HTTPException, subprocess.CalledProcessError) as error:
            server.connection.close()
            print(f"network_policies.py: {error}", file=sys.stderr, flush=True)
        time.sleep(SECONDS_BETWEEN_READS)


if __name__ == "__main__":
    main()
