"""All measurements of a bundle, in the order in which they matter, until the time is over.

What a measurement costs is not known beforehand: each part begins only while there is time for it, and what was left out is
named in the result.
"""

import json
import pathlib
import platform
import tempfile
import time

import bundle
import device_state
import kernel_summary
import primitives
import processes
import torch
from cases import Suite
from timing import Timer

STEPS_NEED, COMPILE_NEEDS = 20, 90  # seconds, at least, to begin a part or a run


class Session:
    def __init__(self, suite: Suite, folder: pathlib.Path, minutes: float) -> None:
        self._suite, self._folder = suite, folder
        self._end = time.monotonic() + 60 * minutes
        self._device = torch.device("cuda", 0) if suite.device["kind"] == "GPU" else torch.device("cpu")
        self._bundle = bundle.read(folder)
        self._libraries = processes.libraries(folder)
        self.result: dict = {"leftOut": [], "runs": [{"name": run.name} for run in suite.runs],
                             "predictions": self._bundle["predictions"]}

    def measure(self) -> None:
        self.result["machine"] = self._machine()
        with device_state.Watch() as watch:
            for part in (self._ceilings, self._attention, self._kernels, self._headlines, self._profile, self._eager,
                         self._rungs, self._compiled, self._products, self._sweep):
                self._say(part.__name__.strip("_"))
                part()
        self.result["deviceState"] = watch.summary()

    def _left(self) -> float:
        return self._end - time.monotonic()

    def _has_time(self, what: str, seconds: float) -> bool:
        if self._left() >= seconds:
            return True
        self.result["leftOut"].append(what)
        return False

    def _say(self, text: str) -> None:
        print(f"{text}, {self._left():.0f} s left", flush=True)

    def _machine(self) -> dict:
        found = {"kernel": platform.release(), "python": platform.python_version(), "torch": torch.__version__}
        if self._device.type != "cuda":
            return found | {"device": "processor"}
        properties = torch.cuda.get_device_properties(self._device)
        return found | {"device": properties.name, "memoryBytes": properties.total_memory, "cuda": torch.version.cuda,
                        "cudnn": torch.backends.cudnn.version(), "multiprocessors": properties.multi_processor_count}

    def _timer(self) -> Timer:
        return Timer(self._device, self._suite.seconds)

    def _free(self) -> None:
        """What this process has of the device's memory, for those that it starts."""
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _ceilings(self) -> None:
        self.result["ceilings"] = {
            "copyGigabytesPerSecond": primitives.copy_gigabytes_per_second(self._suite, self._device, self._timer()),
            "squareTeraflops": primitives.square_teraflops(self._suite, self._device, self._timer())}

    def _attention(self) -> None:
        if self._has_time("attention", STEPS_NEED):
            self.result["attention"] = primitives.attention(self._suite, self._device, self._timer())

    def _products(self) -> None:
        if self._has_time("products", STEPS_NEED):
            self.result["products"] = primitives.products(self._suite, self._device, self._timer())

    def _kernels(self) -> None:
        """Ours, by the program that starts them with nothing around, and what PyTorch has for the same work."""
        name = "gpu_kernels" if self._device.type == "cuda" else "gpu_kernels_emulated"
        if not self._has_time("kernels", STEPS_NEED):
            return
        command = [self._folder / "programs/bin" / name, *map(str, self._suite.kernel_sizes), str(self._suite.seconds)]
        self._free()
        told = processes.attempted(lambda: {"kernels": json.loads(
            processes.output_of(command, self._left(), {"LD_LIBRARY_PATH": self._libraries}))})
        self.result["kernels"] = told.get("kernels", told)
        if self._has_time("PyTorch's kernels", STEPS_NEED):
            self.result["pytorchKernels"] = primitives.kernels(self._suite, self._device, self._timer())

    def _headlines(self) -> None:
        for number in range(self._suite.headlines):
            self._caravan(number)

    def _eager(self) -> None:
        for number in range(self._suite.contestant_runs):
            self._pytorch(number, "eager", None, STEPS_NEED)

    def _compiled(self) -> None:
        """The smallest first: 8B was not compiled after 90 s on an H200's machine."""
        for number in reversed(range(self._suite.contestant_runs)):
            self._pytorch(number, "compile", self._suite.compiler, COMPILE_NEEDS)

    def _sweep(self) -> None:
        for number in range(self._suite.headlines, len(self._suite.runs)):
            self._caravan(number)

    def _caravan(self, number: int) -> None:
        run, config = self._suite.runs[number], self._folder / f"rank-{number}.json"
        entry = self.result["runs"][number]
        if not config.exists():
            entry["caravan"] = {"refused": self._bundle["predictions"][number]["refused"]}
        elif self._has_time(f"Caravan: {run.name}", STEPS_NEED):
            entry["caravan"] = self._trained(number, {})
            self._say(f"Caravan: {run.name}: {brief(entry['caravan'])}")

    def _trained(self, number: int, environment: dict) -> dict:
        config = self._folder / f"rank-{number}.json"
        bundle.settle(config, self._folder / "tokens.bin")
        self._free()
        return processes.attempted(lambda: processes.caravan(
            self._folder / "programs/bin/caravan-trainer", config, self._suite.runs[number], self._left(),
            {"LD_LIBRARY_PATH": self._libraries} | environment))

    def _ended(self) -> list[int]:
        return [number for number, entry in enumerate(self.result["runs"]) if "stepSeconds" in entry.get("caravan", {})]

    def _profile(self) -> None:
        """Of the first run that came to its end: what the device did in its last step, kernel by kernel."""
        ended = self._ended()
        if self._device.type != "cuda" or not ended or not self._has_time("profile", STEPS_NEED):
            return
        with tempfile.TemporaryDirectory() as name:
            times = pathlib.Path(name) / "times"
            figures = self._trained(ended[0], {"CUDA_INJECTION64_PATH": str(self._folder / "programs/lib/libcaravan_kernel_times.so"),
                                               "CARAVAN_KERNEL_TIMES": str(times)})
            self.result["profile"] = {"number": ended[0]} | self._summary(times, figures)

    @staticmethod
    def _summary(times: pathlib.Path, figures: dict) -> dict:
        if "failed" in figures or not times.exists():
            return {"failed": figures.get("failed", "the run has written no times")}
        try:
            return kernel_summary.summary(times)
        except ValueError as error:
            return {"failed": str(error)}

    def _rungs(self) -> None:
        """Of the first run that came to its end."""
        ended = self._ended()
        for rung in self._suite.rungs if ended else []:
            if self._has_time(f"rung: {rung.changed}", STEPS_NEED):
                figures = self._trained(ended[0], rung.environment)
                self.result.setdefault("rungs", []).append({"number": ended[0], "changed": rung.changed} | figures)
                self._say(f"rung: {rung.changed}: {brief(figures)}")

    def _pytorch(self, number: int, label: str, compiler: str | None, needs: float) -> None:
        run = self._suite.runs[number]
        if not self._has_time(f"PyTorch {label}: {run.name}", needs):
            return
        self._free()
        entry = self.result["runs"][number]
        entry[label] = processes.attempted(
            lambda: processes.pytorch(compiler, run, self._folder / "tokens.bin", str(self._device), self._left()))
        self._say(f"PyTorch {label}: {run.name}: {brief(entry[label])}")


def brief(figures: dict) -> str:
    if "failed" in figures:
        return f"failed: {figures['failed']}"
    return f"{figures['stepSeconds']:.3f} s a step, {figures['tokensPerSecond']:.0f} tokens/s"


def measure(suite: Suite, folder: pathlib.Path, minutes: float, output: pathlib.Path) -> None:
    """Into measured.json in `output`, at the end or when something fails."""
    session = Session(suite, folder.resolve(), minutes)
    try:
        session.measure()
    finally:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=output, suffix=".part", delete=False) as file:
            json.dump(session.result, file, indent=2)
        pathlib.Path(file.name).replace(output / "measured.json")
