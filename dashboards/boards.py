#!/usr/bin/python3 -B
"""Writes the boards, fleet.json, job.json and operator.json, into the chart, from what source/ says about them.

    boards.py write    writes them anew
    boards.py check    says which of them is not what source/ makes

A board that was changed in Grafana is best changed here too: a few lines, beside the panels that look like it.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
CHART_FILES = FOLDER.parent / "deploy/helm/caravan/files"  # Helm reads nothing outside of a chart
RULES = CHART_FILES / "rules/caravan.rules.yaml"
OPERATOR_RULES = CHART_FILES / "rules/caravan.operator.rules.yaml"
sys.path.append(str(FOLDER / "source"))
import fleet_board  # noqa: E402
import job_board  # noqa: E402
import operator_board  # noqa: E402

BOARDS = {"fleet": fleet_board, "job": job_board, "operator": operator_board}


def path_of(name):
    return CHART_FILES / f"dashboards/{name}.json"


def text_of(name):
    return json.dumps(BOARDS[name].build(), indent=1, ensure_ascii=False) + "\n"


def main(verb):
    stale = []
    for name in BOARDS:
        path = path_of(name)
        if verb == "write":
            path.write_text(text_of(name))
        elif not path.exists() or path.read_text() != text_of(name):
            stale.append(path.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what dashboards/source says; write them anew with dashboards/boards.py write")


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit(__doc__)
    main(sys.argv[1])
