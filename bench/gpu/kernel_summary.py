"""Where the time of a step went on the device, from what libcaravan_kernel_times has written of a whole run.

kernel_summary.py FILE     prints the last whole step: from the end of one update of the weights to the end of the next.

Idle is the time from the end of that update on in which no kernel, copy or fill was under way.
"""

import collections
import json
import pathlib
import re
import sys

UPDATE = "adamw_kernel"
APART = 100  # works between two launches of the update, at least, where these are of two steps


def read(path: pathlib.Path) -> list[tuple[int, int, str]]:
    """Begin, end (ns) and name, in the order of their begins."""
    lines = (line.split(" ", 2) for line in path.read_text().splitlines())
    return sorted((int(begin), int(end), name) for begin, end, name in lines)


def short(name: str) -> str:
    """Without arguments, return type and where a function is declared."""
    name = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    name = re.sub(r"\(.*", "", name) if "<" not in name else _cut(name)
    return re.sub(r"^(\w+::)+", "", name)[:90]


def _cut(name: str) -> str:
    depth = 0
    for place, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return name[:place]
    return name


def last_step(works: list[tuple[int, int, str]]) -> tuple[int, list[tuple[int, int, str]]]:
    """The end of the update before, and what came behind it."""
    updates = [place for place, (_, _, name) in enumerate(works) if UPDATE in name]
    ends = [place for place, following in zip(updates, [*updates[1:], None]) if following is None or following - place > APART]
    if len(ends) < 2:
        raise ValueError(f"{len(ends)} whole steps are not enough: run three")
    return works[ends[-2]][1], works[ends[-2] + 1:ends[-1] + 1]


def busy(works: list[tuple[int, int, str]]) -> int:
    """Nanoseconds in which there was at least one."""
    total, until = 0, 0
    for begin, end, _ in works:
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def summary(path: pathlib.Path) -> dict:
    start, works = last_step(read(path))
    seconds: dict[str, float] = collections.defaultdict(float)
    times: collections.Counter = collections.Counter()
    for begin, end, name in works:
        seconds[short(name)] += (end - begin) / 1e9
        times[short(name)] += 1
    span = (max(end for _, end, _ in works) - start) / 1e9
    kernels = [{"kernel": name, "seconds": seconds[name], "times": times[name], "partOfStep": seconds[name] / span}
               for name in sorted(seconds, key=seconds.__getitem__, reverse=True)]
    return {"seconds": span, "idleSeconds": span - busy(works) / 1e9, "kernels": kernels}


if __name__ == "__main__":
    print(json.dumps(summary(pathlib.Path(sys.argv[1])), indent=1))
