"""Clocks, power, temperature and what throttles the device, as nvidia-smi tells them, while others work."""

import shutil
import subprocess
import threading

FIELDS = {"clocks.sm": "smMegahertz", "clocks.mem": "memoryMegahertz", "power.draw": "watts", "power.limit": "limitWatts",
          "temperature.gpu": "celsius", "clocks_event_reasons.active": "reasons"}


def read_line(line: str) -> dict:
    """Of `nvidia-smi --query-gpu=... --format=csv,noheader,nounits`. What a device does not tell is left out."""
    state = {}
    for name, text in zip(FIELDS.values(), (part.strip() for part in line.split(","))):
        try:
            state[name] = int(text, 16) if name == "reasons" else float(text)
        except ValueError:  # [N/A], [Not Supported]
            continue
    return state


def summary(states: list[dict]) -> dict:
    """Least, mean and most of each; of the reasons all that were active at some time."""
    found: dict = {"samples": len(states)}
    for name in FIELDS.values():
        values = [state[name] for state in states if name in state]
        if not values:
            continue
        if name == "reasons":
            found[name] = hex(_either(values))
        else:
            found[name] = {"least": min(values), "mean": sum(values) / len(values), "most": max(values)}
    return found


def _either(values: list[int]) -> int:
    together = 0
    for value in values:
        together |= value
    return together


class Watch:
    """A sample every half second, until it ends."""

    def __init__(self) -> None:
        self._states: list[dict] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._program = shutil.which("nvidia-smi")

    def __enter__(self) -> "Watch":
        if self._program:
            self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._end.set()
        if self._program:
            self._thread.join()

    def _run(self) -> None:
        command = [self._program, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits", "--id=0"]
        while not self._end.wait(0.5):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0 and done.stdout:
                self._states.append(read_line(done.stdout.splitlines()[0]))

    def summary(self) -> dict:
        return summary(self._states) if self._program else {"missing": "no nvidia-smi on this machine"}
