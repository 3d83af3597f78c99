#!/usr/bin/python3 -B
"""Boards of a running training on a page of this machine: what `./dev monitor` runs.

    monitor.py [--page PORT] [--attach PORT | --cluster | JOB.yaml OPTION-OF-CARAVAN-RUN...]

Without any of them: the jobs of the cluster of ./dev cluster up, or without one a training of examples/quickstart.yaml. Ctrl-C
ends all of it.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "dashboards/renderer"), str(REPOSITORY / "tests/e2e/cluster")]
import serve  # noqa: E402
from local_prometheus import LocalPrometheus, free_port  # noqa: E402
from training import measured, ports_that_answer, ranks_of, training  # noqa: E402

CARAVAN = REPOSITORY / "build/release/bin/caravan"
SCRAPE_SECONDS = 1
MINUTES = 10  # that the page shows
NO_PEAK = "no peak of this processor is known: see docs/user/monitoring.md"


def say(text):
    print(f"\033[1m==>\033[0m {text}", file=sys.stderr, flush=True)


class LocalTargets:
    """The agents of a `caravan run` on this machine."""

    def __init__(self, port):
        self.port = port

    def targets(self):
        return [{"targets": [f"127.0.0.1:{port}"]} for port in ports_that_answer(self.port)]


class ClusterTargets:
    """Operator and workers of the cluster that ./dev cluster up made."""

    def __init__(self):
        os.environ["CARAVAN_CLUSTER"] = str(REPOSITORY / "build/cluster")
        os.environ.setdefault("CARAVAN_BIN", str(CARAVAN.parent))
        import cluster
        import prometheus
        self.api = cluster.Api(cluster.FOLDER / "kubeconfig")
        self.operator_namespace, self.workers = cluster.OPERATOR_NAMESPACE, prometheus.targets_of
        self.prefix, self.address = [cluster.SCRIPT, "sh", cluster.FOLDER], prometheus.node_address()

    def targets(self):
        pods = self.api.items("api/v1/pods")
        running = [pod for pod in pods if pod["status"].get("phase") == "Running" and pod["status"].get("podIP")]
        workers = [pod for pod in running if "training.caravan.dev/job-name" in pod["metadata"].get("labels", {})]
        operators = [pod for pod in running if pod["metadata"]["namespace"] == self.operator_namespace]
        return [*self.workers(workers), *({"targets": [f"{pod['status']['podIP']}:8080"], "labels": {"pod": pod["metadata"]["name"]}}
                                          for pod in operators)]


def follow(prometheus, source, stop):
    """Tells Prometheus of what comes and goes, until told to stop."""
    known = None
    while not stop.wait(SCRAPE_SECONDS):
        try:
            targets = source.targets()
        except OSError as error:  # for a moment, as while an API server starts anew
            print(f"who is to be scraped is not known now: {error}", file=sys.stderr)
            continue
        if targets != known:
            prometheus.scrape(targets)
            known = targets


def show(source, note, page_port, until, **where):
    """Prometheus and the page, while `until` runs."""
    bundle = pathlib.Path(subprocess.run([REPOSITORY / "dashboards/renderer/renderer.sh", "build"], check=True, stdout=subprocess.PIPE,
                                         text=True).stdout.strip())
    settings = {"minutes": MINUTES, "refresh_seconds": 2, "scrape_seconds": SCRAPE_SECONDS, "note": note}
    stop = threading.Event()
    with LocalPrometheus(SCRAPE_SECONDS, **where) as prometheus, serve.server(page_port, bundle, prometheus.address, settings) as page:
        threads = [threading.Thread(target=page.serve_forever), threading.Thread(target=follow, args=(prometheus, source, stop))]
        for thread in threads:
            thread.start()
        say(f"boards: http://127.0.0.1:{page.server_port}/   Prometheus: http://{prometheus.address}/   Ctrl-C ends both")
        try:
            until()
        finally:
            stop.set()
            page.shutdown()
            for thread in threads:
                thread.join()


def wait_for_interrupt():
    try:
        signal.pause()
    except KeyboardInterrupt:
        pass


def peak(arguments):
    """What is measured of this processor, unless the user's catalogue has its peak, and what to say of it."""
    if any(word.startswith("--device-catalogue") for word in arguments):
        return None, "peak of the processor: as --device-catalogue says"
    say("measuring how fast this processor multiplies matrices")
    speed = measured(os.environ.get("CARAVAN_TORCH_PYTHON"))
    return speed, f"peak of the processor: {speed['teraflops'] * 1000:,.0f} GFLOP/s, measured with FP32 matrix products" if speed else NO_PEAK


def train(arguments, page_port):
    speed, note = peak(arguments)
    try:
        if speed:  # whose part each rank has
            ranks_of(CARAVAN, arguments)
    except ValueError as error:  # what is wrong with the job, before anything is started
        sys.exit(str(error))
    port = free_port()

    def until():
        with training(CARAVAN, arguments, port, speed) as process:
            try:
                process.wait()
                say("the training has ended; the boards stay until Ctrl-C")
                signal.pause()
            except KeyboardInterrupt:
                pass  # the training ends after the step that runs
    show(LocalTargets(port), note, page_port, until, has_operator=False)


def quickstart(checkpoints):
    return [str(REPOSITORY / "examples/quickstart.yaml"), "--volume", f"corpus={REPOSITORY / 'build/quickstart'}",
            "--set", "spec.training.steps=20000", "--set", f"spec.checkpoint.path={checkpoints}", "--set", "spec.checkpoint.everySeconds=60"]


def main():
    parser = argparse.ArgumentParser(prog="./dev monitor", allow_abbrev=False, add_help=True,
                                     usage="%(prog)s [--page PORT] [--attach PORT | --cluster | JOB.yaml OPTION-OF-CARAVAN-RUN...]")
    parser.add_argument("--page", type=int, default=9300, metavar="PORT", help="of the page; default: 9300")
    parser.add_argument("--attach", type=int, metavar="PORT", help="of a `caravan run --metrics-port PORT` that runs already")
    parser.add_argument("--cluster", action="store_true", help="the jobs of the cluster of ./dev cluster up")
    options, job = parser.parse_known_args()
    if options.attach:
        show(LocalTargets(options.attach), "", options.page, wait_for_interrupt, has_operator=False)
    elif options.cluster or (not job and (REPOSITORY / "build/cluster/up").exists()):
        source = ClusterTargets()
        show(source, "", options.page, wait_for_interrupt, prefix=source.prefix, address=source.address)
    elif job:
        if job[0].startswith("-"):
            parser.error(f"JOB.yaml comes before {job[0]}")
        train(job, options.page)
    else:
        with tempfile.TemporaryDirectory(prefix="caravan-monitor-") as checkpoints:
            train(quickstart(checkpoints), options.page)


if __name__ == "__main__":
    main()
