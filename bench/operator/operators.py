"""The operator's program as a child of ours, and what its metrics and the kernel tell of it."""

import pathlib
import re
import subprocess
import urllib.request

from api import wait_until


class Operator:
    def __init__(self, programs, kubeconfig, port):
        """Probes are served at the port, metrics at the next one."""
        self.probes, self.metrics = (f"127.0.0.1:{port + offset}" for offset in (0, 1))
        self.process = subprocess.Popen(
            [programs / "caravan-operator", "--kubeconfig", kubeconfig, "--lease-namespace", "default", "--worker-image",
             "worker:bench", "--reports-listen", "127.0.0.1:0", "--probes", self.probes, "--metrics", self.metrics,
             "--log-level", "warning"])
        wait_until("full caches", lambda: self.read(self.probes, "readyz"))

    @staticmethod
    def read(address, page):
        try:
            with urllib.request.urlopen(f"http://{address}/{page}", timeout=30) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    def value(self, name):
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", self.read(self.metrics, "metrics"), re.MULTILINE)
        return float(found.group(1)) if found else None

    def leads(self):
        return self.value("leader_election_master_status") == 1

    def has_nothing_to_do(self):
        return self.value("workqueue_depth") == 0

    def histogram(self, name):
        """Upper bound in seconds -> how many took at most that."""
        pattern = rf'^{name}_bucket{{.*le="([^"]+)"}} (\S+)$'
        return {float(bound): float(count) for bound, count in re.findall(pattern, self.read(self.metrics, "metrics"), re.MULTILINE)}

    def reconciles(self):
        return {"time": self.histogram("controller_runtime_reconcile_time_seconds"),
                "processor": self.histogram("caravan_reconcile_cpu_seconds")}

    def _status(self, field):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(re.search(rf"{field}:\s+(\d+)", status).group(1)) / 1024, 1)

    def memory_mib(self):
        return self._status("VmRSS")

    def peak_mib(self):
        """Since forget_peak()."""
        return self._status("VmHWM")

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()
