"""The operator's program as a child of ours, and what its metrics tell of it."""

import re
import subprocess

from api import wait_until
from child import Child, page


class Operator(Child):
    def __init__(self, programs, kubeconfig, port):
        """Probes are served at the port, metrics at the next one."""
        self.probes, self.metrics = (f"127.0.0.1:{port + offset}" for offset in (0, 1))
        self.process = subprocess.Popen(
            [programs / "caravan-operator", "--kubeconfig", kubeconfig, "--lease-namespace", "default", "--worker-image",
             "worker:bench", "--reports-listen", "127.0.0.1:0", "--probes", self.probes, "--metrics", self.metrics,
             "--log-level", "warning"])
        wait_until("full caches", lambda: page(self.probes, "readyz"))

    def value(self, name):
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", page(self.metrics, "metrics"), re.MULTILINE)
        return float(found.group(1)) if found else None

    def leads(self):
        return self.value("leader_election_master_status") == 1

    def has_nothing_to_do(self):
        return self.value("workqueue_depth") == 0

    def histogram(self, name):
        """Upper bound in seconds -> how many took at most that."""
        pattern = rf'^{name}_bucket{{.*le="([^"]+)"}} (\S+)$'
        return {float(bound): float(count) for bound, count in re.findall(pattern, page(self.metrics, "metrics"), re.MULTILINE)}

    def reconciles(self):
        return {"time": self.histogram("controller_runtime_reconcile_time_seconds"),
                "processor": self.histogram("caravan_reconcile_cpu_seconds")}
