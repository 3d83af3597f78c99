"""Prints the curves of a folder as TensorBoard's own reader has them: {tag: {step: value}}, in the order of the steps.

read_events.py FOLDER
"""

import json
import sys

from tensorboard.backend.event_processing import event_accumulator

EVERYTHING = {event_accumulator.SCALARS: 0}


def main(folder):
    events = event_accumulator.EventAccumulator(folder, size_guidance=EVERYTHING)
    events.Reload()
    curves = {}
    for tag in events.Tags()["scalars"]:
        points = events.Scalars(tag)
        steps = [point.step for point in points]
        if steps != sorted(set(steps)):
            sys.exit(f"{tag}: a step comes twice, or after a later one: {steps}")
        curves[tag] = {point.step: point.value for point in points}
    print(json.dumps(curves))


if __name__ == "__main__":
    main(*sys.argv[1:])
