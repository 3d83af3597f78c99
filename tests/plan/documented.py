#!/usr/bin/env python3
"""Holds what the documentation shows of `caravan plan` and `caravan schedule` against the program.

    documented.py CARAVAN check    says where they differ
    documented.py CARAVAN write    writes what the program says into the pages

"…" stands for lines that are left out. Unless it is the end alone, the author chooses them, and `write` gives him all to choose from
where what is shown is no longer what the program says.
`$ cat FILE` shows a file that the commands behind it read.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "docs/user" / name for name in ("plan.md", "parallelism.md", "schedules.md")]
PICTURE = REPOSITORY / "docs/user/plan.svg", "caravan plan examples/llama3-70b.yaml -o svg"


class Examples:
    """A folder with the examples, in which commands of the documentation run."""

    def __init__(self, caravan, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "examples").symlink_to(REPOSITORY / "examples")
        self.environment = {**os.environ, "COLUMNS": "100", "PATH": f"{pathlib.Path(caravan).resolve().parent}:{os.environ['PATH']}"}

    def output_of(self, command):
        done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    def shown(self, command, before):
        """What stands behind the command, of which `before` stood there."""
        if command.startswith("cat "):
            (self.folder / command.removeprefix("cat ")).write_text(before)
        if not re.match(r"caravan (plan|schedule) (?!--from)", command) or not before:
            return before
        whole = self.output_of(command)
        if "…\n" not in before:
            return whole
        *shown, rest = before.split("…\n")
        if all(part in whole for part in [*shown, rest]):
            return before
        if rest or len(shown) > 1:
            return "…\n" + whole
        return "".join(whole.splitlines(keepends=True)[:shown[0].count("\n")]) + "…\n"

    def of_page(self, text):
        """The page as the program has it."""
        def of_block(block):
            parts = re.split(r"^\$ (.*)\n", block.group(2), flags=re.MULTILINE)
            whole = parts[0] + "".join(f"$ {command}\n{self.shown(command, before)}" for command, before in zip(parts[1::2], parts[2::2]))
            return f"{block.group(1)}{whole}```"
        return re.sub(r"(^```\w*\n)(.*?)^```", of_block, text, flags=re.MULTILINE | re.DOTALL)


def main(caravan, verb):
    stale = False
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples(caravan, folder)
        wanted = {page: examples.of_page(page.read_text()) for page in PAGES} | {PICTURE[0]: examples.output_of(PICTURE[1])}
    for path, text in wanted.items():
        before = path.read_text()
        if verb == "write":
            path.write_text(text)
        elif before != text:
            stale = True
            print(f"{path.relative_to(REPOSITORY)} is not what the program says")
            if path.suffix == ".md":
                print(*difflib.unified_diff(before.splitlines(), text.splitlines(), lineterm="", n=1), sep="\n")
    if stale:
        print("write them anew: tests/plan/documented.py build/release/bin/caravan write")
    return 1 if stale else 0


if __name__ == "__main__":
    if sys.argv[2:] not in (["check"], ["write"]):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
