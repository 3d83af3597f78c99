#!/usr/bin/python3 -B
"""Writes docs/images: every board of a real training, rendered with Grafana's own panel components.

    pictures.py [MINUTES]    of training before the pictures are taken; default: 10, since speeds are over 5 minutes
"""

import sys
import time

import browser
from scene import REPOSITORY, scene


def main(minutes):
    folder = REPOSITORY / "docs/images"
    folder.mkdir(exist_ok=True)
    with scene() as prometheus:
        time.sleep(60 * minutes)
        with browser.page(prometheus, minutes) as port:
            for board in ("fleet", "job", "operator"):
                browser.picture(port, board, folder / f"{board}.png")
                print(folder / f"{board}.png")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
