"""A Prometheus of Debian on this machine with our rules, for as long as its `with` block lasts."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import boards

PATIENCE_SECONDS = 60


def free_port():
    """One that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(scrape_seconds, targets):
    """`targets`: the file that says what is scraped, see LocalPrometheus.scrape. Read again whenever it changes."""
    return {"global": {"scrape_interval": f"{scrape_seconds}s", "evaluation_interval": f"{scrape_seconds}s"},
            "rule_files": [str(targets.parent / "*.rules.yaml")],
            "scrape_configs": [{"job_name": "caravan", "honor_labels": True,
                                "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "5s"}]}]}


def write_rules(folder, has_operator):
    """Ours, but that each group is evaluated as often as things are scraped, and that nobody misses an operator where none is."""
    for path in (boards.RULES, boards.OPERATOR_RULES) if has_operator else (boards.RULES,):
        (folder / path.name).write_text(re.sub(r"^  interval: .*\n", "", path.read_text(), flags=re.MULTILINE))


class LocalPrometheus:
    def __init__(self, scrape_seconds=1, has_operator=True, prefix=(), address="127.0.0.1"):
        """`prefix`: a command that runs it elsewhere, such as in the namespaces of a cluster; its address there."""
        self.scrape_seconds, self.has_operator, self.prefix = scrape_seconds, has_operator, list(prefix)
        self.address = f"{address}:{free_port()}"

    def __enter__(self):
        if not shutil.which("prometheus"):
            raise FileNotFoundError("prometheus is not installed: ./dev setup")
        self.folder = tempfile.TemporaryDirectory(prefix="caravan-prometheus-")
        folder = pathlib.Path(self.folder.name)
        self.targets = folder / "targets.json"
        self.scrape([])
        write_rules(folder, self.has_operator)
        (folder / "prometheus.yml").write_text(json.dumps(configuration(self.scrape_seconds, self.targets)))
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen(
                [*self.prefix, "setpriv", "--pdeathsig", "KILL", "prometheus", f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.address}"], stdout=log, stderr=log,
                start_new_session=True)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def _wait(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=10).close()
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > end:
                    log = pathlib.Path(self.folder.name, "log").read_text()
                    raise RuntimeError(f"Prometheus does not answer: {error}\n{log[-2000:]}") from None
            time.sleep(0.1)

    def scrape(self, targets):
        """From now on, these: [{"targets": ["127.0.0.1:9400"], "labels": {...}}]. A file that is renamed is never read half written."""
        scratch = self.targets.with_suffix(".new")
        scratch.write_text(json.dumps(targets))
        scratch.rename(self.targets)

    def ask(self, path, **parameters):
        """The answer's data; what Prometheus refuses is a ValueError with its words."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=120) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{parameters}: {error.read().decode()}") from None

    def query(self, expression):
        """Instant vector: a list of (labels, value)."""
        return [(sample["metric"], float(sample["value"][1])) for sample in self.ask("query", query=expression)["result"]
                if isinstance(sample, dict)]
