"""A real Prometheus on the node of the cluster, whose packets pass every network policy. Debian's cannot ask an API
server, so tests tell it which pods there are."""

import json
import pathlib
import subprocess
import tempfile
import urllib.parse
import urllib.request

from cluster import FOLDER, SCRIPT, wait_until

METRICS_PORT = 9400


def targets_of(pods):
    """What service discovery and a PodMonitor's relabelling make of them."""
    return [{"targets": [f"{pod['status']['podIP']}:{METRICS_PORT}"],
             "labels": {"job": pod["metadata"]["labels"]["training.caravan.dev/job-name"],
                        "namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"]}}
            for pod in pods if pod["status"].get("podIP")]


def node_address():
    return f"{(FOLDER / 'network').read_text().strip()}.255.2"


class Prometheus:
    """Lives as long as its `with` block."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        self.targets = folder / "targets.json"
        self.scrape([])
        (folder / "prometheus.yml").write_text(json.dumps({"scrape_configs": [
            {"job_name": "caravan", "scrape_interval": "1s", "file_sd_configs": [{"files": [str(self.targets)]}]}]}))
        self.address = f"{node_address()}:9090"
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(
                [SCRIPT, "sh", FOLDER, "setpriv", "--pdeathsig", "KILL", "prometheus",
                 f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address={self.address}"], stdout=log, stderr=log)
        try:
            wait_until("Prometheus answers", self.is_ready, seconds=60)
        except AssertionError as error:
            raise AssertionError(f"{error}: {(folder / 'log').read_text()}") from None
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def is_ready(self):
        try:
            return self.query("vector(1)")
        except OSError:
            return False

    def scrape(self, pods):
        """From now on, these. A file that is renamed is never read half written."""
        scratch = self.targets.with_suffix(".new")
        scratch.write_text(json.dumps(targets_of(pods)))
        scratch.rename(self.targets)

    def query(self, expression):
        """Instant vector: a list of (labels, value)."""
        return [(sample["metric"], float(sample["value"][1])) for sample in self._result(expression)]

    def history(self, expression):
        """Range vector: a list of (labels, values)."""
        return [(sample["metric"], [float(value) for _, value in sample["values"]]) for sample in self._result(expression)]

    def _result(self, expression):
        url = f"http://{self.address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]["result"]
