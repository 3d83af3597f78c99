"""What a cluster may change on a machine, so that tests can compare before and after.

Sees the namespaces of the caller; a caller in namespaces of its own is not disturbed by others.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Where a kubelet, containerd and CNI plugins write unless they are kept from it.
PLACES = [
    "/etc/cni/net.d",
    "/opt/containerd",
    "/run/containerd",
    "/run/netns",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
]
SYSCTLS = ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"]


@dataclass(frozen=True)
class MachineState:
    links: frozenset[str]
    routes: frozenset[str]
    packet_filters: str
    mounts: frozenset[str]
    processes: dict[int, str]
    sysctls: dict[str, str]
    files: frozenset[str]


def observe() -> MachineState:
    return MachineState(
        links=frozenset(link["ifname"] for link in json.loads(_output("ip", "-json", "link"))),
        routes=frozenset(_output("ip", "route", "show", "table", "all").splitlines()),
        packet_filters=_output("nft", "list", "ruleset"),
        mounts=frozenset(Path("/proc/self/mounts").read_text().splitlines()),
        processes=processes(),
        sysctls={name: Path("/proc/sys", name).read_text() for name in SYSCTLS},
        files=_files(),
    )


def processes() -> dict[int, str]:
    """The command line of each process, by its number; the dead that nobody reaped have none."""
    found = {int(entry): _command_line(int(entry)) for entry in os.listdir("/proc") if entry.isdecimal()}
    return {pid: line for pid, line in found.items() if line}


def cgroups() -> frozenset[str]:
    """Names of the uppermost cgroups of the processes that the caller sees, without its own."""
    own = _cgroup_names("self")
    return frozenset(name for pid in processes() for name in _cgroup_names(str(pid)) - own)


def cgroup_folders(names: frozenset[str]) -> list[str]:
    """The folders of these cgroups, one in each hierarchy of version 1."""
    root = Path("/sys/fs/cgroup")
    return [str(folder) for name in names for folder in [root / name, *root.glob(f"*/{name}")] if folder.exists()]


def _files() -> frozenset[str]:
    places = [Path(place) for place in PLACES if Path(place).exists()]
    return frozenset(str(path) for place in places for path in [place, *place.rglob("*")])


def _cgroup_names(process: str) -> frozenset[str]:
    try:
        lines = Path("/proc", process, "cgroup").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(line.split("/")[1] for line in lines)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
