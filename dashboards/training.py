"""A `caravan run` whose metrics are served, on a processor whose peak was measured, if PyTorch is there to measure it."""

import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import tempfile

MEASURE = pathlib.Path(__file__).with_name("measure_processor.py")
PRODUCT = "this-processor"
NODES = 16  # at most, whose ports follow each other


def measured(python):
    """See measure_processor.py; None when that Python is not there or has no PyTorch."""
    if python is None or not pathlib.Path(python).exists():
        return None
    done = subprocess.run([python, "-B", MEASURE], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def catalogue(speed, ranks):
    """A file of --device-catalogue (JSON is YAML) in which a rank has its part of the machine. The links between ranks are its memory."""
    gigabytes = f"{speed['memory_gigabytes_per_second'] / ranks:.3f}"
    teraflops = f"{speed['teraflops'] / ranks:.6f}"
    return json.dumps({"devices": [{"name": PRODUCT, "memory": "1Ti", "peakTeraflops": teraflops, "matrixTeraflops": teraflops,
                                    "memoryGigabytesPerSecond": gigabytes, "nodeGigabytesPerSecond": gigabytes,
                                    "networkGigabytesPerSecond": gigabytes}]})


def ports_that_answer(first):
    """Of the agents of a run with --metrics-port `first`."""
    answering = []
    for port in range(first, first + NODES):
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                break
        answering.append(port)
    return answering


def sets_of(arguments):
    """The options --set of a command line, in either form."""
    words = iter(arguments)
    return [word if word != "--set" else f"--set={next(words, '')}" for word in words if word == "--set" or word.startswith("--set=")]


def ranks_of(caravan, arguments):
    """How many ranks a job has, as its plan says. Without a plan, a ValueError with the reason."""
    sets = sets_of(arguments)
    done = subprocess.run([caravan, "plan", arguments[0], *sets, "-o", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip() or done.stdout.strip())
    return json.loads(done.stdout)["plan"]["devices"]


@contextlib.contextmanager
def training(caravan, arguments, port, speed=None, **streams):
    """The process of `caravan run ARGUMENTS`, its metrics from `port` on; told to end, as by Ctrl-C, when the block does."""
    with tempfile.TemporaryDirectory(prefix="caravan-monitor-") as folder:
        command = [caravan, "run", *arguments, "--metrics-port", str(port)]
        if speed:
            path = pathlib.Path(folder, "catalogue.yaml")
            path.write_text(catalogue(speed, ranks_of(caravan, arguments)))
            command += ["--device-catalogue", path, "--set", f"spec.resources.device.product={PRODUCT}"]
        # A session of its own: a Ctrl-C of the terminal reaches it once, through us.
        process = subprocess.Popen(["setpriv", "--pdeathsig", "INT", *command], start_new_session=True, **streams)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()  # its children end with it
                process.wait()
