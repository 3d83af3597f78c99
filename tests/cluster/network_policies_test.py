import unittest
from typing import Any, Optional

from network_policies import Cluster, chain

Object = dict[str, Any]
NAMESPACES = [{"metadata": {"name": "jobs"}}, {"metadata": {"name": "metrics", "labels": {"team": "platform"}}}]
WORKERS = {"podSelector": {"matchLabels": {"job": "a"}}}


def pod(namespace: str, address: str, phase: str = "Running", **labels: str) -> Object:
    status = {"podIP": address, "phase": phase}
    return {"metadata": {"namespace": namespace, "labels": labels}, "spec": {}, "status": status}


def policy(*, ingress: Optional[list[Object]] = None, egress: Optional[list[Object]] = None) -> Object:
    rules = {key: value for key, value in {"ingress": ingress, "egress": egress}.items() if value is not None}
    types = {"policyTypes": [key.capitalize() for key in rules]}
    return {"metadata": {"namespace": "jobs"}, "spec": WORKERS | rules | types}


CLUSTER = Cluster(
    NAMESPACES,
    [pod("jobs", "10.0.0.1", job="a"), pod("jobs", "10.0.0.2", job="b"), pod("metrics", "10.0.0.3", job="a")],
)


class NetworkPolicies(unittest.TestCase):
    def test_pods_that_no_policy_selects_are_open(self) -> None:
        self.assertEqual(chain(CLUSTER, [], "ingress"), [])

    def test_a_policy_without_rules_closes_its_pods_in_its_direction_alone(self) -> None:
        self.assertEqual(chain(CLUSTER, [policy(ingress=[])], "ingress"), ["ip daddr 10.0.0.1 drop"])
        self.assertEqual(chain(CLUSTER, [policy(ingress=[])], "egress"), [])

    def test_a_rule_opens_each_port_to_each_peer(self) -> None:
        platform = {"namespaceSelector": {"matchLabels": {"team": "platform"}}}
        rule = {"to": [platform], "ports": [{"port": 53, "protocol": "UDP"}]}
        expected = ["ip saddr 10.0.0.1 ip daddr 10.0.0.3 udp dport 53 accept", "ip saddr 10.0.0.1 drop"]
        self.assertEqual(chain(CLUSTER, [policy(egress=[rule])], "egress"), expected)

    def test_a_rule_without_peers_opens_its_ports_to_all(self) -> None:
        expected = ["ip daddr 10.0.0.1 tcp dport 9400 accept", "ip daddr 10.0.0.1 drop"]
        self.assertEqual(chain(CLUSTER, [policy(ingress=[{"ports": [{"port": 9400}]}])], "ingress"), expected)

    def test_a_peer_without_pods_opens_nothing(self) -> None:
        nobody = {"from": [{"podSelector": {"matchLabels": {"job": "c"}}}]}
        self.assertEqual(chain(CLUSTER, [policy(ingress=[nobody])], "ingress"), ["ip daddr 10.0.0.1 drop"])

    def test_a_peer_without_a_namespace_is_in_the_policys_own(self) -> None:
        chained = chain(CLUSTER, [policy(ingress=[{"from": [WORKERS]}])], "ingress")
        self.assertEqual(chained, ["ip daddr 10.0.0.1 ip saddr 10.0.0.1 accept", "ip daddr 10.0.0.1 drop"])

    def test_a_block_of_addresses_needs_no_pods(self) -> None:
        rule = {"to": [{"ipBlock": {"cidr": "169.254.20.10/32"}}], "ports": [{"port": 53}]}
        expected = ["ip saddr 10.0.0.1 ip daddr 169.254.20.10/32 tcp dport 53 accept", "ip saddr 10.0.0.1 drop"]
        self.assertEqual(chain(CLUSTER, [policy(egress=[rule])], "egress"), expected)

    def test_a_pod_that_ended_has_no_address(self) -> None:
        ended = Cluster(NAMESPACES, [pod("jobs", "10.0.0.1", phase="Succeeded", job="a")])
        self.assertEqual(chain(ended, [policy(ingress=[])], "ingress"), [])

    def test_what_is_not_understood_is_refused(self) -> None:
        hole = {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/16"]}}]}
        for rule in [hole, {"ports": [{"port": "metrics"}]}, {"ports": [{"protocol": "UDP"}]}]:
            with self.assertRaisesRegex(ValueError, "not enforced here"):
                chain(CLUSTER, [policy(ingress=[rule])], "ingress")


if __name__ == "__main__":
    unittest.main()
