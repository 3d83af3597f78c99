#!/usr/bin/env python3
"""Copies into the chart what it shows of other folders, since Helm reads nothing outside of a chart.

    files.py          copies
    files.py --check  exit code 1 when a copy is missing, stale or left over
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1]
FILES = HERE / "caravan/files"
COPIES = {  # folder of the chart: what is copied there
    "crds": "deploy/crds/*.yaml",
    "dashboards": "dashboards/*.json",
    "rules": "dashboards/rules/*.rules.yaml",
}


def wanted() -> dict[Path, bytes]:
    return {FILES / folder / source.name: source.read_bytes()
            for folder, pattern in COPIES.items() for source in sorted(SOURCES.glob(pattern))}


def found() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(FILES.rglob("*")) if path.is_file()}


def copy() -> None:
    shutil.rmtree(FILES, ignore_errors=True)
    for path, content in wanted().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def differences() -> list[str]:
    ours, theirs = wanted(), found()
    return [str(path.relative_to(SOURCES)) for path in sorted(ours | theirs) if ours.get(path) != theirs.get(path)]


def main() -> int:
    if "--check" not in sys.argv:
        copy()
        return 0
    for path in differences():
        print(f"{path} is not what it is copied from; run: ninja -C build/release install_manifests")
    return 1 if differences() else 0


if __name__ == "__main__":
    sys.exit(main())
