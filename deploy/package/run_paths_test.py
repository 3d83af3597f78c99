"""Where the programs and libraries of a build look for their libraries: never in the folder that a program is started in, where
anybody may have put some. An empty part of a run path, or a relative one, stands for that.

Environment: FOLDERS of a build with programs and libraries, separated by colons.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

FOLDERS = [Path(folder) for folder in os.environ["FOLDERS"].split(":")]


def run_paths(file: Path) -> list[str]:
    told = subprocess.run(["readelf", "--wide", "--dynamic", file], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", told)


class RunPaths(unittest.TestCase):
    def test_are_the_same_wherever_a_program_is_started(self) -> None:
        files = [path for folder in FOLDERS for path in sorted(folder.iterdir()) if path.is_file()]
        found = [(file, path) for file in files for path in run_paths(file)]
        self.assertTrue(found, f"nothing in {FOLDERS} has a run path")
        for file, path in found:
            for folder in path.split(":"):
                self.assertRegex(folder, r"^(/|\$ORIGIN\b)", f"{file}: '{path}'")


if __name__ == "__main__":
    unittest.main()
