"""Who used how much processor time on this machine, from /proc."""

import os
import pathlib
import time
import typing

TICKS = os.sysconf("SC_CLK_TCK")


class Reading(typing.NamedTuple):
    moment: float
    machine: float  # seconds in which a processor was busy
    programs: dict[str, float]  # the same of each named process


def read(pids: dict[str, int]) -> Reading:
    return Reading(time.monotonic(), seconds_of_the_machine(), {name: seconds_of(pid) for name, pid in pids.items()})


def seconds_of(pid: int) -> float:
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / TICKS


def seconds_of_the_machine() -> float:
    user, nice, system, _, _, interrupt, soft = map(int, pathlib.Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + interrupt + soft) / TICKS


def used(before: Reading, after: Reading) -> dict:
    """Seconds by program, and how many processors whoever else is on this machine kept busy."""
    by_name = {name: after.programs[name] - before.programs[name] for name in after.programs}
    others = after.machine - before.machine - sum(by_name.values())
    return {"processorSeconds": {name: round(seconds, 2) for name, seconds in by_name.items()},
            "processorsBusyWithOthers": round(max(others, 0) / (after.moment - before.moment), 2)}
