"""What large FP32 matrix products reach on all cores of this machine, and how fast its memory is copied. Needs PyTorch.

Prints JSON: {"teraflops": 0.21, "memory_gigabytes_per_second": 12.3}
"""

import json
import time

import torch

SIZE = 512  # of square matrices: large enough to be nearly as fast as larger ones, and over before others take the core away
SECONDS = 3.0


def fastest(work, seconds):
    """Seconds of the fastest of as many turns as fit."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    a, b, c = (torch.randn(SIZE, SIZE) for _ in range(3))
    product = fastest(lambda: torch.mm(a, b, out=c), SECONDS)
    source, target = torch.zeros(1 << 25), torch.zeros(1 << 25)
    copy = fastest(lambda: target.copy_(source), SECONDS / 2)
    print(json.dumps({"teraflops": 2 * SIZE**3 / product / 1e12, "memory_gigabytes_per_second": 2 * 4 * source.numel() / copy / 1e9}))


if __name__ == "__main__":
    main()
