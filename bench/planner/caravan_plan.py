"""`caravan plan`, as its users call it."""

import json
import pathlib
import subprocess
import tempfile


def plan(caravan: pathlib.Path, job: dict, profile: dict | None, everything: bool) -> tuple[int, dict | str]:
    """Exit code, and the report or, where there is none, the message."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "job.json").write_text(json.dumps(job))
        command = [caravan, "plan", path / "job.json", "-o", "json"] + (["--all"] if everything else [])
        if profile is not None:
            (path / "profile.json").write_text(json.dumps(profile))
            command += ["--engine-profile", path / "profile.json"]
        done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr
