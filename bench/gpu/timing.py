"""Seconds of work on a device, or on the processor where there is none: the median of many repetitions after a warm-up.

On a device each repetition stands between two events on its stream, so that what the host does meanwhile is not in it.
"""

import statistics
import time
from typing import Callable

import torch

WARM_UP = 3
MOST = 200


class Timer:
    def __init__(self, device: torch.device, seconds: float) -> None:
        self._device, self._seconds = device, seconds

    def seconds(self, work: Callable[[], object]) -> float:
        for _ in range(WARM_UP):
            work()
        self.wait()
        begin = time.perf_counter()
        work()
        self.wait()
        once = max(time.perf_counter() - begin, 1e-7)
        times = max(5, min(MOST, int(self._seconds / once)))
        return statistics.median(self._events(work, times) if self._device.type == "cuda" else self._clock(work, times))

    def wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def _events(self, work: Callable[[], object], times: int) -> list[float]:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(times + 1)]
        marks[0].record()
        for mark in marks[1:]:
            work()
            mark.record()
        self.wait()
        return [before.elapsed_time(after) / 1e3 for before, after in zip(marks, marks[1:])]

    @staticmethod
    def _clock(work: Callable[[], object], times: int) -> list[float]:
        seconds = []
        for _ in range(times):
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
        return seconds
