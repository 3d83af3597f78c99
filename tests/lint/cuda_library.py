"""Checks that libcaravan_cuda.so runs wherever LibTorch does, and shows nothing but the functions of its headers; and that
libcaravan_device_cuda.so runs wherever the trainer does.

Usage: cuda_library.py LIBRARY TORCH PLUGIN TRAINER, with the folder of LibTorch's libraries
"""

import itertools
import pathlib
import re
import subprocess
import sys

# The runtime comes with LibTorch; the driver is opened by the runtime, so that the library loads without one.
MAY_NEED = {"libcudart.so.13", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
PLUGIN_MAY_NEED = MAY_NEED | {"libcaravan_cuda.so", "libtorch_cpu.so", "libtorch_cuda.so", "libc10.so", "libc10_cuda.so"}
PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "deploy/package/CMakeLists.txt"
GENERATIONS = {80, 90, 100}


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", library)))


def newest_versions(libraries):
    """The newest version of each interface, such as GLIBC, that any of the libraries asks for."""
    newest = {}
    for library in libraries:
        for name, version in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", readelf("--version-info", library)):
            newest[name] = max(newest.get(name, ()), tuple(map(int, version.split("."))))
    return newest


def exported(library):
    lines = subprocess.run(["nm", "--dynamic", "--defined-only", "--demangle", library],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split(maxsplit=2)[2] for line in lines}


def functions_of_headers(room):
    text = "".join(path.read_text() for path in room.glob("*.h"))
    return set(re.findall(r"^CARAVAN_CUDA_API \w+ (\w+)\(", text, re.MULTILINE))


def generations(library):
    """Compute capabilities of the machine code inside: e_flags of the ELF files that the fat binary is made of."""
    image = pathlib.Path(library).read_bytes()
    found = set()
    for match in re.finditer(rb"\x7fELF\x02\x01", image):
        header = image[match.start():match.start() + 64]
        if len(header) == 64 and int.from_bytes(header[18:20], "little") == 190:  # EM_CUDA
            found.add(int.from_bytes(header[48:52], "little") >> 8 & 0xFF)
    return found


def loading_problem(library, torch):
    """What the loader says where nothing but LibTorch's own libraries is at hand, or nothing."""
    code = f"import ctypes; ctypes.CDLL('{torch}/libtorch_cpu.so'); ctypes.CDLL('{library}', mode=os.RTLD_NOW)"
    run = subprocess.run([sys.executable, "-c", "import os; " + code], env={}, capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stderr.splitlines()[-1]


def oldest_system():
    """What the package asks for: a glibc, and the C++ library of GCC 12."""
    glibc = re.search(r"libc6 \(>= ([\d.]+)\), libgcc-s1 \(>= 12\), libstdc\+\+6 \(>= 12\)", PACKAGE.read_text())[1]
    return {"GLIBC": tuple(map(int, glibc.split("."))), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}


def too_new(library, limits, whose):
    for name, version in newest_versions([library]).items():
        if version > limits.get(name, ()):
            yield f"it needs {name}_{'.'.join(map(str, version))}, newer than what {whose}"


def strangers(library, may_need):
    for name in sorted(needed(library) - may_need):
        yield f"it needs {name}, which neither LibTorch nor every system has"


def mistakes_in(library, torch):
    yield from strangers(library, MAY_NEED)
    if re.search(r"\((RPATH|RUNPATH)\)", readelf("--dynamic", library)):
        yield "it looks for libraries in a folder of the machine it was built on"
    yield from too_new(library, newest_versions([f"{torch}/libtorch_cpu.so", f"{torch}/libc10.so"]), "LibTorch needs")
    room = pathlib.Path(__file__).resolve().parents[2] / "worker/trainer/cuda"
    names = {re.sub(r"^caravan::cuda::|\(.*", "", symbol) for symbol in exported(library)}
    for name in sorted(names ^ functions_of_headers(room)):
        yield f"{name} is in the headers or among its symbols, but not in both"
    problem = loading_problem(library, torch)
    if problem:
        yield f"it does not load into a process that has LibTorch: {problem}"
    for missing in sorted(GENERATIONS - generations(library)):
        yield f"it has no machine code for compute capability {missing / 10}"


def main(library, torch, plugin, trainer):
    oldest, whose = oldest_system(), "the package asks of the system"
    found = {library: mistakes_in(library, torch), trainer: too_new(trainer, oldest, whose),
             plugin: itertools.chain(strangers(plugin, PLUGIN_MAY_NEED), too_new(plugin, oldest, whose))}
    mistakes = [f"{file}: {mistake}" for file, some in found.items() for mistake in some]
    print("\n".join(mistakes) if mistakes else "they run where LibTorch and the trainer do")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
