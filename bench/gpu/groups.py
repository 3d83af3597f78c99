"""Whether groups of ranks are right on a machine: layouts of small models against one rank, with all ranks on the first device, and
with one on each where there are as many.

NCCL refuses two ranks of a host on one device, so there each rank says that its host is another one; they meet over the loopback
interface. That is slow, and right or wrong as it would be elsewhere. Then what becomes of the others when a rank stops, and
when it is killed.

Folders of a bundle: groups/NAME/rank-N.json.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import jobs

REFERENCE = "one rank"
STEPS, LONG = 3, 10_000
AT_ONCE = 4  # layouts
MICRO_BATCHES = 8  # of a step
TIMEOUT = 10  # seconds of a collective
HEARD_WITHIN = TIMEOUT + 30  # seconds; what a stopped rank's partner may take to end, of which ten are for others to answer
TOLERANCE = {"FP32": 2e-5, "BF16": 2e-2}  # of losses and gradient norms


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    schedule: str = "1F1B"
    precision: str = "FP32"
    steps: int = STEPS
    model: str = "mini"
    sequence: int = 64
    micro_batch: int = 1

    @property
    def ranks(self) -> int:
        return self.tensor * self.pipeline * self.data

    def reference(self) -> "Layout":
        return dataclasses.replace(self, name=f"{REFERENCE}, {self.precision}, {self.model}", tensor=1, pipeline=1, data=1, schedule="1F1B")

    @property
    def folder(self) -> str:
        return self.name.replace(", ", "-").replace(" ", "-")


WIDE = {"hiddenSize": 1024, "layers": 4, "heads": 8, "ffnSize": 2048, "vocabSize": 256}
MODELS = {"mini": {"preset": "llama-mini"}, "wide": {"architecture": WIDE}}


@dataclasses.dataclass(frozen=True)
class Placed:
    """A layout, with all ranks on the first device or one on each."""

    layout: Layout
    spread: bool = False

    @property
    def name(self) -> str:
        return f"{self.layout.name}, a device each" if self.spread else self.layout.name

    def local_rank(self, rank: int) -> int:
        return rank if self.spread else 0

    def environment(self, rank: int) -> dict:
        return {} if self.spread else {"NCCL_HOSTID": f"rank-{rank}"}


LAYOUTS = [Layout("tensor 2", tensor=2), Layout("data 2", data=2), Layout("pipeline 2", pipeline=2),
           Layout("pipeline 2, VZB", pipeline=2, schedule="VZB"), Layout("pipeline 2, Seq1F1B", pipeline=2, schedule="Seq1F1B"),
           Layout("tensor 2, pipeline 2", tensor=2, pipeline=2), Layout("data 2, pipeline 2", data=2, pipeline=2),
           Layout("tensor 2, data 2, BF16", tensor=2, data=2, precision="BF16")]
# Messages between stages of 72 MiB, and a pipeline whose last stage sends to the first.
OF_SEVERAL_DEVICES = [Layout("pipeline 2, VZB, large", pipeline=2, schedule="VZB", model="wide", sequence=512, micro_batch=36),
                      Layout("tensor 2, pipeline 4, Interleaved", tensor=2, pipeline=4, schedule="Interleaved")]
LOST = {Layout("stopped", tensor=2, steps=LONG): signal.SIGSTOP, Layout("killed", tensor=2, steps=LONG): signal.SIGKILL}


def all_of_them(on_gpu: bool) -> list[Layout]:
    compared = LAYOUTS + OF_SEVERAL_DEVICES if on_gpu else LAYOUTS
    return list(dict.fromkeys([*(layout.reference() for layout in compared), *compared, *LOST]))


def devices_here() -> int:
    """Those that CUDA_VISIBLE_DEVICES leaves, as ranks see them."""
    import torch  # not where a bundle is prepared

    return torch.cuda.device_count()


def compared_on(devices: int) -> list[Placed]:
    return [Placed(layout) for layout in LAYOUTS] + spread_over(devices, LAYOUTS + OF_SEVERAL_DEVICES)


def lost_on(devices: int) -> list[Placed]:
    return [Placed(layout) for layout in LOST] + spread_over(devices, LOST)


def spread_over(devices: int, layouts) -> list[Placed]:
    return [Placed(layout, spread=True) for layout in layouts if layout.ranks <= devices]


def job_of(layout: Layout, device: dict, tokens: str) -> dict:
    training = {"steps": layout.steps, "sequenceLength": layout.sequence, "globalBatchSequences": MICRO_BATCHES * layout.micro_batch,
                "precision": layout.precision}
    parallelism = {"mode": "Manual", "tensor": layout.tensor, "pipeline": layout.pipeline, "data": layout.data,
                   "microBatchSize": layout.micro_batch, "schedule": layout.schedule}
    resources = {"devices": layout.ranks, "devicesPerNode": layout.ranks, "device": device}
    return jobs.job("groups", {"model": MODELS[layout.model], "data": {"path": tokens}, "training": training,
                               "parallelism": parallelism, "resources": resources})


def rank_config(job: dict, plan: dict, rank: int, ranks: int) -> dict:
    return jobs.rank_config(job, plan, ranks) | {"rank": rank, "masterAddress": "127.0.0.1", "networkInterface": "lo",
                                                 "threads": 1, "collectiveTimeoutSeconds": TIMEOUT}


class Ranks:
    """Processes of a layout, and what each of them has reported."""

    def __init__(self, placed: Placed, folder: pathlib.Path, tokens: pathlib.Path, program: pathlib.Path, environment: dict,
                 log: pathlib.Path) -> None:
        self.reports: list[list[dict]] = [[] for _ in range(placed.layout.ranks)]
        self._placed = placed
        self._folder, self._tokens, self._program, self._environment = folder, tokens, program, environment
        self._log_path = log
        self._processes: list[subprocess.Popen] = []
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> "Ranks":
        self._log = self._log_path.open("w")
        try:
            port = free_port()
            for rank in range(len(self.reports)):
                self._start(rank, port)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, rank: int, port: int) -> None:
        config = json.loads((self._folder / f"rank-{rank}.json").read_text())
        config |= {"masterPort": port, "localRank": self._placed.local_rank(rank)}
        config["spec"]["data"]["path"] = str(self._tokens)
        told = self._log_path.with_suffix(f".rank-{rank}.json")
        told.write_text(json.dumps(config))
        process = subprocess.Popen([self._program, "--config", told], stdout=subprocess.PIPE, stderr=self._log, text=True,
                                   env=self._environment | self._placed.environment(rank))
        self._processes.append(process)
        reader = threading.Thread(target=self._read, args=(process, rank), daemon=True)
        reader.start()
        self._readers.append(reader)

    def __exit__(self, *_) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for reader in self._readers:
            reader.join()
        self._log.close()

    def _read(self, process: subprocess.Popen, rank: int) -> None:
        with process.stdout as lines:
            for line in lines:
                if line.startswith("{"):
                    self.reports[rank].append(json.loads(line))

    def wait(self, end: float) -> str:
        """Empty when all have ended well."""
        for rank, process in enumerate(self._processes):
            try:
                process.wait(max(end - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                return f"rank {rank} has not ended: {self._last(rank)}"
        for reader in self._readers:
            reader.join()
        codes = [process.returncode for process in self._processes]
        bad = [rank for rank, code in enumerate(codes) if code != 0]
        # Whoever only misses another one says Communication.
        bad.sort(key=lambda rank: self.failure(rank).startswith("Communication"))
        return f"rank {bad[0]} ended with {codes[bad[0]]}: {self.failure(bad[0]) or self._last(bad[0])}" if bad else ""

    def _last(self, rank: int) -> str:
        return str(self.reports[rank][-1])[:300] if self.reports[rank] else "it has reported nothing"

    def all_train(self, end: float) -> bool:
        while time.monotonic() < end:
            if all(any("step" in each for each in reports) for reports in self.reports):
                return True
            if any(process.poll() is not None for process in self._processes):
                return False
            time.sleep(0.05)
        return False

    def signal(self, rank: int, number: int) -> None:
        self._processes[rank].send_signal(number)

    def ends(self, rank: int, seconds: float) -> bool:
        try:
            self._processes[rank].wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._readers[rank].join()
        return True

    def failure(self, rank: int) -> str:
        failures = [each["failure"] for each in self.reports[rank] if "failure" in each]
        return f"{failures[-1]['reason']}: {failures[-1]['message']}" if failures else ""

    def losses(self) -> list[float]:
        return [float(each["step"]["loss"]) for reports in self.reports for each in reports
                if each.get("step", {}).get("loss") is not None][:STEPS]

    def norms(self) -> list[float]:
        return [float(each["step"]["gradientNorm"]) for each in self.reports[0] if "step" in each]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Checks:
    def __init__(self, bundle: pathlib.Path, program: pathlib.Path, environment: dict, logs: pathlib.Path, end: float) -> None:
        self._bundle, self._program, self._logs, self._end = bundle, program, logs, end
        self._environment = os.environ | environment

    def _start(self, placed: Placed) -> Ranks:
        folder = placed.layout.folder
        log = self._logs / f"group-{folder}{'-spread' if placed.spread else ''}.log"
        return Ranks(placed, self._bundle / "groups" / folder, self._bundle / "tokens.bin", self._program, self._environment, log)

    def trained(self, placed: Placed) -> tuple[str, list[float], list[float]]:
        with self._start(placed) as ranks:
            said = ranks.wait(self._end)
            return said, ranks.losses(), ranks.norms()

    def equals_one_rank(self, placed: Placed, reference: tuple[str, list[float], list[float]]) -> str:
        """Empty: it does."""
        said, losses, norms = self.trained(placed)
        if reference[0] or said:
            return said or f"one rank: {reference[0]}"
        counts = [len(each) for each in (losses, norms, *reference[1:])]
        if counts != 4 * [STEPS]:
            return f"{counts} losses and norms were reported, of it and of one rank, instead of {STEPS} each"
        worst = max(abs(own / one - 1) for own, one in zip(losses + norms, reference[1] + reference[2]))
        return "" if worst < TOLERANCE[placed.layout.precision] else f"{worst:.1e} away from one rank: {losses}, {reference[1]}"

    def others_hear(self, placed: Placed) -> tuple[str, float]:
        """Why not, and after how many seconds the other rank had ended."""
        with self._start(placed) as ranks:
            if not ranks.all_train(self._end):
                return f"no step was made: {ranks.failure(0) or ranks.failure(1)}", 0
            ranks.signal(1, LOST[placed.layout])
            begin = time.monotonic()
            if not ranks.ends(0, HEARD_WITHIN):
                return f"the other rank still waits after {HEARD_WITHIN} s", 0
            heard, seconds = ranks.failure(0), time.monotonic() - begin
        return "" if heard.startswith("Communication: ") else f"the other rank says {heard!r}", seconds


def check_all(checks: Checks, devices: int, say) -> int:
    """How many are wrong; say: called with a line for each."""
    compared = compared_on(devices)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        references = {layout: pool.submit(checks.trained, Placed(layout)) for layout in {each.layout.reference() for each in compared}}

        def equals(placed: Placed) -> str:
            return checks.equals_one_rank(placed, references[placed.layout.reference()].result())

        lost = [(placed, pool.submit(checks.others_hear, placed)) for placed in lost_on(devices)]
        equal = [(placed, pool.submit(equals, placed)) for placed in compared]
        wrong = 0
        for placed, result in equal:
            wrong += result.result() != ""
            say(f"group, {placed.name}: {result.result() or 'as one rank'}")
        for placed, result in lost:
            said, seconds = result.result()
            wrong += said != ""
            say(f"group, a rank is {placed.name}: {said or f'the other one ends after {seconds:.1f} s'}")
    return wrong
