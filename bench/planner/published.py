"""Layouts that others published: each must be legal and predicted to fit, as it was run, by the profile of our own trainer
if that ran as many virtual stages.
"""

import dataclasses
import pathlib
import re

from caravan_plan import plan
from evaluator import Evaluator
from measurements import Model, Run, gpt, rows

LLAMAS = {"LLAMA3_8B": Model(32, 4096, 32, 14336, 128256, kv_heads=8),
          "LLAMA3_70B": Model(80, 8192, 64, 28672, 128256, kv_heads=8),
          "LLAMA3.1_405B": Model(126, 16384, 128, 53248, 128256, kv_heads=8)}
# Dash et al., arXiv 2312.12705: a node has eight halves of MI250X with 64 GB each. What we have of it does not say whether
# activations were checkpointed; 1T needs it.
FRONTIER = {"GPT-175B": Run(gpt(96, 12288, 96), 1024, "MI250X", 2048, 640, 4, 16, 1, False, False, 1),
            "GPT-1T": Run(gpt(128, 25600, 128), 2048, "MI250X", 2048, 1600, 8, 64, 1, True, False, 1)}


@dataclasses.dataclass(frozen=True)
class Verdict:
    source: str
    model: str
    layout: str
    refusal: str  # empty: legal, and fits


def _sc21(folder: pathlib.Path) -> list[tuple[str, str, Run]]:
    """Narayanan et al., SC21 table 1 (arXiv 2104.04473): activation checkpointing everywhere."""
    found = []
    for row in rows(folder, "published_layouts.csv"):
        shape = re.search(r"L(\d+) h(\d+) a(\d+)", row["model"])
        if "SC21" not in row["source"] or not shape:
            continue
        run = Run(gpt(*map(int, shape.groups())), int(row["gpus"]), "A100-80GB", int(row["seq_len"]), int(row["gbs"]),
                  int(row["tp"]), int(row["pp"]), int(row["mbs"]), True, False, 1, virtual_stages(row["vp"]))
        found.append(("SC21, table 1", row["model"].split(" ")[0], run))
    return found


def _llama(folder: pathlib.Path) -> list[tuple[str, str, Run]]:
    """Llama 3 405B without context parallelism (arXiv 2407.21783, table 4): 16 million tokens a step."""
    found = []
    for row in rows(folder, "published_layouts.csv"):
        if "Herd" in row["source"] and row["cp"] == "1":
            length = int(row["seq_len"])
            run = Run(LLAMAS["LLAMA3.1_405B"], int(row["gpus"]), "H100-80GB", length, 2**24 // length, int(row["tp"]),
                      int(row["pp"]), 1, False, True, 1)
            found.append(("Llama 3, table 4", row["model"], run))
    return found


def virtual_stages(cell: str) -> int:
    return int(cell) if cell.isdigit() else 1


def _bridge(folder: pathlib.Path) -> list[tuple[str, str, Run]]:
    """NVIDIA's own layouts for pre-training Llama on DGX H100, those without context parallelism or FSDP."""
    found = {}
    for row in rows(folder, "nvidia_megatron_bridge.csv"):
        if row["system"] != "DGX-H100" or row["model"] not in LLAMAS or not row["task"].startswith("Pre-Training"):
            continue
        if row["cp"] != "1" or row["fsdp"] not in ("", "0"):
            continue
        run = Run(LLAMAS[row["model"]], int(row["gpus"]), "H100-80GB", int(row["seq_len"]), int(row["gbs"]), int(row["tp"]),
                  int(row["pp"]), int(row["mbs"]), False, int(row["tp"]) > 1, 1, virtual_stages(row["vp"]))
        found[run] = ("Megatron Bridge", row["model"], run)
    return list(found.values())


def _frontier() -> list[tuple[str, str, Run]]:
    return [("Frontier", model, run) for model, run in FRONTIER.items()]


def own_profile() -> dict:
    lines = (pathlib.Path(__file__).parents[2] / "planner/profiles/caravan.yaml").read_text().splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {key: int(value) if value.isdigit() else value.strip('"') for key, value in pairs}


def verdicts(program: pathlib.Path, folder: pathlib.Path) -> list[Verdict]:
    published = _llama(folder) + _sc21(folder) + _bridge(folder) + _frontier()
    with Evaluator(program, [run.case() for _, _, run in published]) as evaluator:
        refusals = evaluator.predict(own_profile() | {"maxVirtualStages": 64})["refusals"]
    return [Verdict(source, model, run.label(), refusal)
            for (source, model, run), refusal in zip(published, refusals)]


def refuses_tensor_beyond_a_node(caravan: pathlib.Path) -> bool:
    wide = dataclasses.replace(FRONTIER["GPT-175B"], tensor=16, pipeline=4)
    code, report = plan(caravan, wide.job(free=False), None, everything=False)
    return code == 2 and "tensor" in str(report)
