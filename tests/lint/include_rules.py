"""Checks who includes whom: every room may use the rooms and libraries that docs/design.md gives it, and no other.

Usage: include_rules.py REPOSITORY
"""

import pathlib
import re
import sys

# What each room may include of the others; its own headers are always allowed. The longest matching folder counts.
ROOMS = {
    "common": {"proto", "rust"},
    "data": {"common"},
    "planner": {"proto", "common"},
    "http": {"common"},
    "checkpoint": {"planner", "proto", "common"},
    "tensorboard": {"checkpoint", "common"},
    "policy": {"proto"},
    "report_text": {"proto", "common", "coordination"},
    "kube": {"common", "kube/transport"},
    "kube/transport": {"common", "kube"},
    "serving": {"http", "kube", "kube/transport", "common"},
    "operator/api": {"kube", "proto", "common"},
    "operator/steps": {"operator/api", "kube", "proto", "common", "coordination"},
    "operator/view": {"operator/api", "planner", "report_text", "kube", "proto", "common", "coordination"},
    "operator": {"operator/api", "operator/steps", "operator/view", "serving", "planner", "policy", "http", "kube", "kube/transport", "proto", "common", "coordination"},
    "service/answer": {"operator/api", "kube", "proto", "common"},
    "service/json": {"service/answer", "operator/api", "http", "kube", "proto", "common"},
    "service/page": {"http"},
    "service": {"service/answer", "service/json", "service/page", "operator/api", "operator/view", "serving", "planner", "http", "kube", "kube/transport", "proto", "common", "coordination"},
    "worker/agent": {"planner", "policy", "report_text", "http", "tensorboard", "proto", "common", "coordination"},
    "worker/trainer": {"checkpoint", "planner", "proto", "common", "data"},
    "worker/trainer/device/cuda": {"worker/trainer", "worker/trainer/cuda", "planner", "common"},
    "worker/trainer/cuda": {"worker/trainer"},
    "cli": {"checkpoint", "planner", "policy", "report_text", "operator/api", "operator/steps", "operator/view", "service/answer", "service/json", "service/page", "http", "kube", "kube/transport", "proto", "common", "data", "coordination", "rust"},
    "fuzz": {"checkpoint", "cli", "http", "common", "data", "kube", "operator", "operator/api", "operator/view", "proto", "rust"},
    "tests": {"checkpoint", "cli", "common", "http", "kube", "kube/transport", "data", "operator", "operator/api", "operator/steps", "operator/view", "planner", "proto", "service", "serving", "worker/trainer", "worker/trainer/cuda", "worker/agent", "coordination"},
}

# Libraries that only some rooms may see, or some folders and files of rooms.
LIBRARIES = {
    r"(ATen|c10|torch|caffe2)/": {"worker/trainer", "worker/trainer/device/cuda", "tests"},
    r"hwy/": {"worker/trainer"},
    r"grpcpp/": {"operator", "service", "serving", "worker/agent", "cli", "tests"},
    r"yaml-cpp/": {"cli"},
    r"prometheus/": {"operator", "service", "worker/agent"},
    r"openssl/": {"common", "http", "kube", "operator", "service", "serving", "cli"},
    r"spdlog/": {"serving", "worker/agent", "tests"},
    r"CLI/": {"common/arguments", "operator", "service", "serving", "worker/agent", "worker/trainer", "cli"},
    r"boost/asio": {"http", "kube/transport", "tests"},
    r"boost/beast": {"http/head.cc", "kube/transport", "tests"},
    r"torch/csrc/distributed/": {"worker/trainer"},
}

# Rooms whose answers depend on their arguments alone. A planner knows no time at all; the others name spans and moments.
PURE = {"planner", "policy", "report_text", "operator/api", "operator/view"}
IMPURE = r"(fstream|iostream|thread|mutex|atomic|random|filesystem|ctime|future|unistd\.h|sys/.*)"

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def room_of(path):
    matches = [room for room in ROOMS if path == room or path.startswith(room + "/")]
    return max(matches, key=len) if matches else None


def target_room(include):
    if include.startswith("caravan/"):
        return "coordination" if "coordination" in include or ".grpc." in include else "proto"
    if include.startswith(("rust/", "proto/")):
        return include.split("/")[0]
    return room_of(include)


def may_see(path, room, places):
    return room in places or any(path == place or path.startswith(place + "/") for place in places - ROOMS.keys())


def mistakes_in(path, text):
    room = room_of(path)
    is_test = path.endswith("_test.cc") or "/testing/" in path
    torch = protobuf = None
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        include = match.group(2)
        where = f"{path}:{number}"
        target = target_room(include) if match.group(1) == '"' else None
        if match.group(1) == '"' and target is None:
            yield f'{where}: "{include}" is not rooted at the repository'
        # A test of an inner room may use what is beside it in the outer one.
        is_beside = is_test and target and room.startswith(target + "/")
        is_for_tests = is_test and include.startswith("common/testing/")
        if target and target != room and target not in ROOMS[room] and not is_beside and not is_for_tests:
            yield f"{where}: {room} may not use {target}"
        for pattern, places in LIBRARIES.items():
            if re.match(pattern, include) and not may_see(path, room, places):
                yield f"{where}: {room} may not use <{include}>, which is for {', '.join(sorted(places))}"
        is_impure = re.fullmatch(IMPURE, include) or (room == "planner" and include == "chrono")
        if room in PURE and not is_test and is_impure:
            yield f"{where}: {room} is pure, it may not use <{include}>"
        if re.match(r"(ATen|c10|torch|caffe2)/", include):
            torch = where
        if include.endswith(".pb.h") or include.startswith("google/protobuf/"):
            protobuf = where
    if torch and protobuf:
        yield f"{protobuf}: protobuf headers and torch headers ({torch}) must not meet in one file"


def main(repository):
    root = pathlib.Path(repository)
    mistakes, files = [], 0
    for room in ROOMS:
        for path in sorted(root.glob(f"{room}/**/*")):
            relative = path.relative_to(root).as_posix()
            if path.suffix in {".cc", ".h", ".cu"} and room_of(relative) == room:
                files += 1
                mistakes += mistakes_in(relative, path.read_text())
    print("\n".join(mistakes) if mistakes else f"{files} files keep the include rules")
    return 1 if mistakes or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
