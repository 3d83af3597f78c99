"""How far the planner's pick is from the best measured layout of a sweep.

`caravan plan --all` lists layouts in order of preference; the first one that the sweep measured is the pick.
"""

import collections
import dataclasses
import pathlib

from caravan_plan import plan
from hagemann import Row


@dataclasses.dataclass(frozen=True)
class Pick:
    sweep: str
    label: str
    best: str
    share_of_best: float  # of the best measured MFU; 0 when the pick ran out of memory
    ran_out_of_memory: bool


def key(candidate: dict) -> tuple:
    return (candidate["tensor"], candidate["pipeline"], candidate["microBatchSize"],
            candidate["activationCheckpointing"] == "Always", candidate["sequenceParallel"])


def row_key(row: Row) -> tuple:
    run = row.run
    return (run.tensor, run.pipeline, run.micro_batch_size, run.checkpointing, run.sequence_parallel)


def pick_of(caravan: pathlib.Path, sweep: str, data: list[Row], profile: dict) -> Pick:
    measured = {row_key(row): row for row in data}
    code, report = plan(caravan, data[0].run.job(free=True), profile, everything=True)
    if code != 0:
        raise SystemExit(f"{sweep}: caravan plan ended with exit code {code}: {report}")
    taken = next(measured[key(candidate)] for candidate in report["candidates"]
                 if candidate["verdict"] in ("Chosen", "Slower") and key(candidate) in measured)
    best = max(data, key=lambda row: row.mfu)
    return Pick(sweep, taken.run.label(), best.run.label(), taken.mfu / best.mfu, not taken.fits)


def sweeps(data: list[Row]) -> dict[str, list[Row]]:
    grouped = collections.defaultdict(list)
    for row in data:
        grouped[row.sweep].append(row)
    return dict(grouped)
