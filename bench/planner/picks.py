"""How far the planner's pick is from the best measured layout of a sweep.

`caravan plan --all` lists layouts in order of preference. The first one is the pick; where the sweep did not measure it, the first
one that it measured is judged in its place.
"""

import collections
import dataclasses
import pathlib

from caravan_plan import plan
from hagemann import Row
from measurements import layout_label


@dataclasses.dataclass(frozen=True)
class Pick:
    sweep: str
    pick: str
    label: str  # of the one that is judged
    rank: int  # its place in the list: 1 is the pick itself
    best: str
    share_of_best: float  # of the best measured MFU; 0 when the pick ran out of memory
    ran_out_of_memory: bool


def key(candidate: dict) -> tuple:
    return (candidate["tensor"], candidate["pipeline"], candidate["microBatchSize"],
            candidate["activationCheckpointing"] == "Always", candidate["sequenceParallel"])


def row_key(row: Row) -> tuple:
    run = row.run
    return (run.tensor, run.pipeline, run.micro_batch_size, run.checkpointing, run.sequence_parallel)


def label(candidate: dict) -> str:
    return layout_label(candidate["tensor"], candidate["pipeline"], candidate["data"], candidate["microBatchSize"],
                        candidate["virtualStages"], candidate["sequenceParallel"],
                        candidate["activationCheckpointing"] == "Always")


def pick_of(caravan: pathlib.Path, sweep: str, data: list[Row], profile: dict) -> Pick:
    measured = {row_key(row): row for row in data}
    code, report = plan(caravan, data[0].run.job(free=True), profile, everything=True)
    if code != 0:
        raise SystemExit(f"{sweep}: caravan plan ended with exit code {code}: {report}")
    fitting = [candidate for candidate in report["candidates"] if candidate["verdict"] in ("Chosen", "Slower")]
    rank, taken = next((place, measured[key(candidate)]) for place, candidate in enumerate(fitting, start=1)
                       if key(candidate) in measured)
    best = max(data, key=lambda row: row.mfu)
    return Pick(sweep, label(fitting[0]), taken.run.label(), rank, best.run.label(), taken.mfu / best.mfu, not taken.fits)


def sweeps(data: list[Row]) -> dict[str, list[Row]]:
    grouped = collections.defaultdict(list)
    for row in data:
        grouped[row.sweep].append(row)
    return dict(grouped)
