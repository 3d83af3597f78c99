"""A program as a child of ours, and what its pages and the kernel tell of it."""

import pathlib
import re
import urllib.request


def page(address, name):
    """Empty where there is none."""
    try:
        with urllib.request.urlopen(f"http://{address}/{name}", timeout=30) as answer:
            return answer.read().decode()
    except OSError:
        return ""


class Child:
    process = None  # whoever inherits this starts it

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
