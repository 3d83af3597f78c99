"""What operator and job service may do, and the operator reach, is what they needed for all that the other tests did, and no
more."""

import subprocess
import sys
import tempfile
import unittest

from cluster import DAY, FOLDER, OPERATOR_NAMESPACE, ClusterTest, apply, kubectl, processes_of, wait_until

KINDS = "clusterroles,clusterrolebindings,roles,rolebindings"
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2)
except TimeoutError:
    sys.exit("no answer")
except ConnectionRefusedError:
    pass
"""


def reaches(pid, address, port):
    """From the network of that process; a port that nobody listens on is reached, too."""
    command = ["nsenter", "-t", str(pid), "-n", sys.executable, "-c", CONNECT, address, str(port)]
    return subprocess.run(command, capture_output=True).returncode == 0


class Rights(ClusterTest):
    def test_the_operator_reaches_the_api_server_and_no_pod(self):
        apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "target", "namespace": "default"},
               "spec": {"containers": [{"name": "pause", "image": "caravan.local/pause:1"}]}})
        target = "api/v1/namespaces/default/pods/target"
        address = wait_until("its address", lambda: self.api.get(target)["status"].get("podIP"))
        for pod in self.running_operators():
            pid = processes_of(pod["metadata"]["uid"], "caravan-operator")[0]
            self.assertTrue(reaches(pid, self.api.server.hostname, self.api.server.port))
            self.assertFalse(reaches(pid, address, 8080))
        kubectl("delete", "pod", "target", "--namespace", "default", "--grace-period=1")

    @staticmethod
    def complaints(account):
        with tempfile.NamedTemporaryFile("w") as rights:
            rights.write(kubectl("get", KINDS, "--all-namespaces", "-o", "json"))
            rights.flush()
            run = subprocess.run([sys.executable, "rbac_usage.py", FOLDER / "audit.log", rights.name,
                                  f"{OPERATOR_NAMESPACE}/{account}"], capture_output=True, text=True)
        return (run.stdout + run.stderr).splitlines() if run.returncode != 0 else []

    def expect_right(self, account):
        """Only all tests together need every right."""
        found = self.complaints(account)
        self.assertEqual([], [line for line in found if DAY == "all" or not line.startswith("granted and never used")])

    def test_no_right_was_missing_and_in_soak_every_one_was_used(self):
        self.expect_right("caravan-operator")

    def test_the_job_service_neither(self):
        if not kubectl("get", "serviceaccount", "caravan-service", "--namespace", OPERATOR_NAMESPACE, check=False):
            self.skipTest("no test has installed it")
        self.expect_right("caravan-service")


if __name__ == "__main__":
    unittest.main(verbosity=2)
