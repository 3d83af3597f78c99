"""Llama 13B to 65B on A100-80GB (Hagemann et al., arXiv 2311.05610): fits of memory and time, and picks.

The memory fit uses every run with FlashAttention: a run that ended stands below the limit, one that ran out
of memory above it. The time fit uses the runs of the fastest kernels, FlashAttention-2 with fused RMSNorm.
"""

import dataclasses
import pathlib

import numpy

from evaluator import Evaluator
from least_squares import Fit, Prior, fit
from measurements import Model, Run, rows

MODELS = {"llama-13B": Model(40, 5120, 40, 13824, 128000), "llama-30B": Model(60, 6656, 52, 17920, 128000),
          "llama-65B": Model(80, 8192, 64, 22016, 128000)}
GIB = 2**30
LIMIT_BYTES = 81050 * 2**20  # what CUDA reports of an A100-80GB

# What the engine is known to do; what is fitted comes on top. 12 and 8 bytes are Korthikanti's count (arXiv
# 2205.05198, table 2) for a gated feed-forward layer with FlashAttention.
ENGINE = {"name": "hagemann", "stageSplit": "Even", "maxVirtualStages": 1, "maxZeroStage": 1, "gradientBytes": 2, "masterBytes": 4,
          "momentBytes": 8, "gpuCommunicationGroup": "0", "gpuContext": "1536Mi", "memoryMargin": "0.005", "memoryError": "0.0005",
          "layerHiddenBytes": "12", "layerFfnBytes": "8", "logitsSharded": False, "attentionEfficiency": "0.5",
          "layerMemoryPasses": "3", "layerOverheadSeconds": "3e-5", "collectiveLatencySeconds": "5e-5",
          "networkBandwidthFraction": "0.5", "dataOverlap": "0", "splitTransfers": True, "overruleGain": "0.05"}

MEMORY_PRIORS = {"replicated": Prior(8, 0.4), "replicated_unfused": Prior(24, 0.3), "logits": Prior(16, 0.3),
                 "gathered": Prior(4, 1.0)}
TIME_PRIORS = {"efficiency": Prior(0.9, 0.15), "half_size": Prior(4e5, 1.0), "node_bandwidth": Prior(0.4, 0.5)}
SOFTNESS = 0.015  # width of the step between fitting and not, as a part of the limit
TIME_NOISE = 0.05
# Fitted peaks stand in the middle between runs that ended and runs that did not; the shipped profile is on the safe side by
# this part of what comes and goes, and by its margin, so that there is hardly an error left to be afraid of. Without the fused RMSNorm, whose fp32 copies leave holes, peaks vary more.
SHIPPED_HOLES = {"": 0.02, "_unfused": 0.04}


@dataclasses.dataclass(frozen=True)
class Row:
    run: Run
    sweep: str
    kernel: str
    fused: bool
    fits: bool
    step_seconds: float
    mfu: float


def read(folder: pathlib.Path) -> list[Row]:
    """Runs with FlashAttention that ended or ran out of memory."""
    return [_row(row) for row in rows(folder, "hagemann_calibration.csv")
            if row["attn_kernel"].startswith("flash") and row["status"] in ("ok", "oom")]


def _row(row: dict) -> Row:
    run = Run(MODELS[row["model"]], int(row["gpus"]), "A100-80GB", int(row["seq_len"]), int(row["gbs"]), int(row["tp"]),
              int(row["pp"]), int(row["mbs"]), row["act_ckpt"] == "1", row["seq_parallel"] == "1", zero_stage=1)
    sweep = f"{row['model']} {int(row['seq_len']) // 1024}k on {row['gpus']}"
    return Row(run, sweep, row["attn_kernel"], row["rms_kernel"] == "1", row["status"] == "ok",
               float(row["step_time_s"] or 0), float(row["mfu"] or 0))


def profile(memory: dict[str, float], time: dict[str, float], fused: bool = True, shipped: bool = True) -> dict:
    kind = "" if fused else "_unfused"
    return ENGINE | {"layerReplicatedBytes": f"{memory['replicated' + kind]:.8g}",
                     "logitsBytes": f"{memory['logits']:.8g}", "gatheredLogitsBytes": f"{memory['gathered']:.8g}",
                     "gpuFragmentation": str(SHIPPED_HOLES[kind] if shipped else 0),
                     "gemmEfficiency": f"{time['efficiency']:.8g}", "gemmHalfSize": f"{time['half_size']:.8g}",
                     "nodeBandwidthFraction": f"{time['node_bandwidth']:.8g}"}


def prior_values(priors: dict[str, Prior]) -> dict[str, float]:
    return {name: prior.value for name, prior in priors.items()}


class Peaks:
    """Predicted peaks of all rows, each with the coefficients of its own RMSNorm kernel."""

    def __init__(self, program: pathlib.Path, data: list[Row]) -> None:
        self._fused = numpy.array([row.fused for row in data])
        self._evaluator = Evaluator(program, [row.run.case() for row in data])

    def predict(self, memory: dict[str, float], shipped: bool = False) -> numpy.ndarray:
        time = prior_values(TIME_PRIORS)
        both = [numpy.array(self._evaluator.predict(profile(memory, time, fused, shipped))["peakBytes"], dtype=float)
                for fused in (True, False)]
        return numpy.where(self._fused, both[0], both[1])

    def close(self) -> None:
        self._evaluator.close()


def fit_memory(program: pathlib.Path, data: list[Row]) -> Fit:
    peaks = Peaks(program, data)
    sign = numpy.array([1.0 if row.fits else -1.0 for row in data])

    def residuals(values: dict[str, float]) -> numpy.ndarray:
        distance = sign * (1 - peaks.predict(values) / LIMIT_BYTES) / SOFTNESS
        return numpy.sqrt(2 * numpy.logaddexp(0, -distance))  # deviance of a logistic regression

    found = fit(MEMORY_PRIORS, residuals, noise=1.0)
    peaks.close()
    return found


def fastest(data: list[Row]) -> list[Row]:
    return [row for row in data if row.kernel == "flash2" and row.fused]


def fit_time(program: pathlib.Path, data: list[Row], memory: dict[str, float]) -> Fit:
    measured = [row for row in fastest(data) if row.fits]
    seconds = numpy.array([row.step_seconds for row in measured])
    with Evaluator(program, [row.run.case() for row in measured]) as evaluator:
        def residuals(values: dict[str, float]) -> numpy.ndarray:
            predicted = evaluator.predict(profile(memory, values))["stepSeconds"]
            return numpy.log(numpy.array(predicted) / seconds)

        return fit(TIME_PRIORS, residuals, noise=TIME_NOISE)


def classify(program: pathlib.Path, data: list[Row], memory: dict[str, float], shipped: bool) -> dict:
    """With fitted peaks against all of the memory, or as the shipped profile judges."""
    peaks = Peaks(program, data)
    usable = LIMIT_BYTES * (1 - float(ENGINE["memoryMargin"]) if shipped else 1)
    says_fits = peaks.predict(memory, shipped) <= usable
    peaks.close()
    fits = numpy.array([row.fits for row in data])
    return {"rows": len(data), "right": float(numpy.mean(says_fits == fits)), "outOfMemory": int(numpy.sum(~fits)),
            "wronglySaidToFit": int(numpy.sum(says_fits & ~fits))}


def time_errors(program: pathlib.Path, data: list[Row], memory: dict[str, float], time: dict[str, float]) -> list[float]:
    """Absolute relative errors of the predicted step times of the fastest kernels' runs."""
    measured = [row for row in fastest(data) if row.fits]
    with Evaluator(program, [row.run.case() for row in measured]) as evaluator:
        predicted = evaluator.predict(profile(memory, time))["stepSeconds"]
    return [abs(one / row.step_seconds - 1) for one, row in zip(predicted, measured)]


def doublings(program: pathlib.Path, data: list[Row], constants: dict, time: dict[str, float]) -> dict[str, list[tuple[float, float]]]:
    """Measured and predicted change of a step's time, as a part of it, when micro-batches become twice as large and nothing
    else changes, by pipeline size and kernel."""
    ended = [row for row in data if row.fits]
    with Evaluator(program, [row.run.case() for row in ended]) as evaluator:
        predicted = evaluator.predict(profile(constants, time))["stepSeconds"]
    seconds = {(dataclasses.replace(row.run, micro_batch_size=1), row.kernel, row.fused, row.run.micro_batch_size):
               (row.step_seconds, one) for row, one in zip(ended, predicted)}
    found: dict[str, list[tuple[float, float]]] = {}
    for (run, kernel, fused, size), before in seconds.items():
        if after := seconds.get((run, kernel, fused, 2 * size)):
            changes = tuple(late / early - 1 for early, late in zip(before, after))
            found.setdefault(f"PP{run.pipeline}, {kernel}", []).append(changes)
    return dict(sorted(found.items()))


def limits(program: pathlib.Path, data: list[Row], memory: dict[str, float]) -> dict[str, tuple[float, float]]:
    """By size of the micro-batch: the largest predicted fill of the card with which a run ended, and the least with which one
    ran out of memory."""
    peaks = Peaks(program, data)
    fills = peaks.predict(memory) / LIMIT_BYTES
    peaks.close()
    kinds = {"one sequence": lambda size: size == 1, "several sequences": lambda size: size > 1}
    return {name: (max(fill for row, fill in zip(data, fills) if row.fits and of_kind(row.run.micro_batch_size)),
                   min(fill for row, fill in zip(data, fills) if not row.fits and of_kind(row.run.micro_batch_size)))
            for name, of_kind in kinds.items()}
