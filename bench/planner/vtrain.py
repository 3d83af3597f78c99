"""Megatron-DeepSpeed on 64 to 512 A100 (VIA-Research/vTrain): step times, each model size held out in turn."""

import pathlib

import numpy

from evaluator import Evaluator
from least_squares import Prior, fit
from measurements import Run, gpt, rows

# Activation checkpointing, 1F1B, gradients summed after the last backward, no FlashAttention: 34 bytes a hidden
# element and 5 a score are Korthikanti's count for a GPT layer (arXiv 2205.05198, table 2).
ENGINE = {"name": "megatron-deepspeed", "gradientBytes": 4, "masterBytes": 4, "momentBytes": 8, "gpuContext": "2Gi",
          "gpuCommunicationGroup": "0", "gpuFragmentation": "0", "memoryMargin": "0", "layerReplicatedBytes": "10",
          "layerHiddenBytes": "12", "layerFfnBytes": "4.5", "layerScoreBytes": "5", "logitsBytes": "10", "attentionEfficiency": "0.5",
          "layerMemoryPasses": "3", "layerOverheadSeconds": "3e-5", "collectiveLatencySeconds": "5e-5",
          "dataOverlap": "0", "splitTransfers": True, "overruleGain": "0.05"}
PRIORS = {"efficiency": Prior(0.9, 0.15), "half_size": Prior(4e5, 1.0), "node_bandwidth": Prior(0.4, 0.5),
          "network_bandwidth": Prior(0.5, 0.5)}
NOISE = 0.1


def profile(values: dict[str, float]) -> dict:
    return ENGINE | {"gemmEfficiency": f"{values['efficiency']:.8g}", "gemmHalfSize": f"{values['half_size']:.8g}",
                     "nodeBandwidthFraction": f"{values['node_bandwidth']:.8g}",
                     "networkBandwidthFraction": f"{values['network_bandwidth']:.8g}"}


def read(folder: pathlib.Path) -> list[dict]:
    return [row for row in rows(folder, "vtrain_a100_ground_truth.csv") if row["set"] == "multi"]


def _run(row: dict) -> Run:
    number = {name: int(row[name]) for name in ("layers", "hidden", "heads", "gpus", "seq_len", "gbs", "tp", "pp", "mbs")}
    return Run(gpt(number["layers"], number["hidden"], number["heads"]), number["gpus"], "A100-80GB", number["seq_len"],
               number["gbs"], number["tp"], number["pp"], number["mbs"], checkpointing=True, sequence_parallel=False,
               zero_stage=0)


def _log_errors(evaluator: Evaluator, values: dict[str, float], seconds: numpy.ndarray) -> numpy.ndarray:
    return numpy.log(numpy.array(evaluator.predict(profile(values))["stepSeconds"]) / seconds)


def held_out_errors(program: pathlib.Path, data: list[dict]) -> dict[str, list[float]]:
    """Absolute relative errors of each model size, predicted with constants fitted to the others."""
    errors = {}
    with Evaluator(program, [_run(row).case() for row in data]) as evaluator:
        seconds = numpy.array([float(row["iter_time_ms"]) / 1000 for row in data])
        sizes = numpy.array([row["params_b"] for row in data])
        for size in sorted(set(sizes), key=float):
            others = sizes != size
            found = fit(PRIORS, lambda values: _log_errors(evaluator, values, seconds)[others], NOISE)
            ratio = numpy.exp(_log_errors(evaluator, found.values, seconds)[~others])
            errors[str(size)] = [abs(float(one) - 1) for one in ratio]
    return errors
