"""The planner's predictions for measured layouts, by engine profile, from one process that stays."""

import json
import pathlib
import subprocess
import tempfile


class Evaluator:
    """Cases are JobPlan objects; a profile is a dictionary with the keys of a profile file."""

    def __init__(self, program: pathlib.Path, cases: list[dict]) -> None:
        self._file = tempfile.NamedTemporaryFile("w", suffix=".jsonl")
        for case in cases:
            self._file.write(json.dumps(case) + "\n")
        self._file.flush()
        self._process = subprocess.Popen([program, self._file.name], text=True, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)

    def predict(self, profile: dict) -> dict:
        """{"peakBytes": [...], "stepSeconds": [...], "refusals": [...]}, in the order of the cases."""
        try:
            self._process.stdin.write(json.dumps(profile) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise SystemExit(f"planner_evaluate ended with exit code {self._process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._file.close()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, *_) -> None:
        self.close()
