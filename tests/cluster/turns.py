"""Which tests of those that take turns a run has, as common/testing/sample.h says it for cases in C++."""

import os

DAY = os.environ.get("CARAVAN_TEST_DAY", "0")


def in_turn(row):
    """One of a row each day; the first where all have their turn elsewhere."""
    return row[0 if DAY == "all" else int(DAY) % len(row)]


def taking_turns(one_in, first=0):
    """Of the tests of a class one of so many each day, all in soak. first: classes of one test have their turns by it."""
    def choose(tests):
        names = sorted(name for name in vars(tests) if name.startswith("test_"))
        for number, name in enumerate(names):
            if DAY != "all" and (first + number + int(DAY)) % one_in != 0:
                delattr(tests, name)
        return tests
    return choose
