"""Layouts that others published: each must be legal and predicted to fit, by the profile of our own trainer."""

import dataclasses
import pathlib
import re

from caravan_plan import plan
from measurements import Model, Run, gpt, rows

LLAMAS = {"LLAMA3_8B": Model(32, 4096, 32, 14336, 128256), "LLAMA3_70B": Model(80, 8192, 64, 28672, 128256),
          "LLAMA3.1_405B": Model(126, 16384, 128, 53248, 128256)}
# Dash et al., arXiv 2312.12705: a node has eight halves of MI250X with 64 GB each.
FRONTIER = {"GPT-175B": Run(gpt(96, 12288, 96), 1024, "MI250X", 2048, 640, 4, 16, 1, False, False, 1),
            "GPT-1T": Run(gpt(128, 25600, 128), 2048, "MI250X", 2048, 1600, 8, 64, 1, False, False, 1)}


@dataclasses.dataclass(frozen=True)
class Verdict:
    source: str
    model: str
    layout: str
    exit_code: int
    note: str


def _sc21(folder: pathlib.Path) -> list[tuple[str, str, Run]]:
    """Narayanan et al., SC21 table 1 (arXiv 2104.04473): activation checkpointing everywhere."""
    found = []
    for row in rows(folder, "published_layouts.csv"):
        shape = re.search(r"L(\d+) h(\d+) a(\d+)", row["model"])
        if "SC21" not in row["source"] or not shape:
            continue
        run = Run(gpt(*map(int, shape.groups())), int(row["gpus"]), "A100-80GB", int(row["seq_len"]), int(row["gbs"]),
                  int(row["tp"]), int(row["pp"]), int(row["mbs"]), True, False, 1)
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


def _bridge(folder: pathlib.Path) -> list[tuple[str, str, Run]]:
    """NVIDIA's own layouts for pre-training Llama on DGX H100, those without context parallelism or FSDP."""
    found = {}
    for row in rows(folder, "nvidia_megatron_bridge.csv"):
        if row["system"] != "DGX-H100" or row["model"] not in LLAMAS or not row["task"].startswith("Pre-Training"):
            continue
        if row["cp"] != "1" or row["fsdp"] not in ("", "0"):
            continue
        run = Run(LLAMAS[row["model"]], int(row["gpus"]), "H100-80GB", int(row["seq_len"]), int(row["gbs"]), int(row["tp"]),
                  int(row["pp"]), int(row["mbs"]), False, True, 1)
        found[run] = ("Megatron Bridge", row["model"], run)
    return list(found.values())


def _frontier() -> list[tuple[str, str, Run]]:
    return [("Frontier", model, run) for model, run in FRONTIER.items()]


def verdicts(caravan: pathlib.Path, folder: pathlib.Path) -> list[Verdict]:
    found = []
    for source, model, run in _llama(folder) + _sc21(folder) + _bridge(folder) + _frontier():
        code, report = plan(caravan, run.job(free=False), None, everything=False)
        note = report["plan"]["reason"] if code == 0 else str(report).strip()
        found.append(Verdict(source, model, run.label(), code, note))
    return found


def refuses_tensor_beyond_a_node(caravan: pathlib.Path) -> bool:
    wide = dataclasses.replace(FRONTIER["GPT-175B"], tensor=16, pipeline=4)
    code, report = plan(caravan, wide.job(free=False), None, everything=False)
    return code == 2 and "tensor" in str(report)
