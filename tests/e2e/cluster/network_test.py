"""Where a worker pod gets on the cluster's network: to name servers, its own job and the operator, and nowhere else."""

import subprocess
import unittest

from cluster import NAMESPACE, ClusterTest, apply, kubectl, processes_of, small_job

NAME_SERVER, API_SERVER, KUBELET = 53, 6443, 10250
COORDINATOR, METRICS, PROBES, REPORTS = 7070, 8080, 8081, 9443


def reaches(pid, address, port):
    """Whether a connection from this process's network comes about; what a policy drops is never answered."""
    connect = ["timeout", "3", "bash", "-c", f": </dev/tcp/{address}/{port}"]
    return subprocess.run(["nsenter", "--target", str(pid), "--net", *connect], capture_output=True).returncode == 0


class Network(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        apply(small_job("network", 1000000))
        cls.addClassCleanup(kubectl, "delete", "ltj", "network", "--namespace", NAMESPACE)
        job = cls()
        job.wait_for_steps("network")
        first, second = job.pod("network", 0), job.pod("network", 1)
        cls.worker = processes_of(second["metadata"]["uid"], "caravan-agent")[0]
        cls.first, cls.node = first["status"]["podIP"], first["status"]["hostIP"]
        cls.running = cls.running_operators()
        cls.server = cls.api.get("api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]

    def test_a_worker_reaches_name_servers_its_peers_and_the_operator(self):
        self.assertTrue(reaches(self.worker, "169.254.20.10", NAME_SERVER))
        self.assertTrue(reaches(self.worker, self.first, COORDINATOR))
        self.assertTrue(any(reaches(self.worker, pod["status"]["podIP"], REPORTS) for pod in self.running))

    def test_a_worker_reaches_neither_the_api_server_nor_the_node_nor_the_rest_of_the_operator(self):
        closed = [(self.server, 443), (self.node, API_SERVER), (self.node, KUBELET)]
        closed += [(pod["status"]["podIP"], port) for pod in self.running for port in (METRICS, PROBES)]
        operator = processes_of(self.running[0]["metadata"]["uid"], "caravan-operator")[0]
        self.assertTrue(reaches(operator, self.server, 443), "nobody reaches the API server")
        for address, port in closed:
            self.assertFalse(reaches(self.worker, address, port), f"{address}:{port}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
