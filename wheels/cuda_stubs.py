"""Lets Python import the torch wheel on a CPU without CUDA's libraries, which take 2.7 GB.

Of torch's libraries only those for a CPU are called, but Python loads all, and the loader wants every name they mention.
An environment gets libraries that have those names and end the process when called, and a file that loads them whenever
its Python starts; nothing that is linked with LibTorch sees them. A library or a name that is missing and not CUDA's is
an error: it would not do to stand in for that.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Collection

PACKAGE = "stubs_of_cuda"
_LIBRARY_MISSING = re.compile(r"(\S+) => not found")
_SYMBOL_MISSING = re.compile(r"undefined symbol: ([^\s,]+)")
_VERSIONED = re.compile(r" U ([^\s@]+)@(\S+)")
_OF_CUDA = re.compile(r"(lib)?(cu|nccl|nv)")
_OF_PYTHON = re.compile(r"_?Py")  # which Python itself has

_SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
static void refuse(const char* name) {
  fprintf(stderr, "%s was called, a function of CUDA; in this environment torch runs on CPUs only\\n", name);
  abort();
}
"""

_LOADER = """\
import ctypes
import pathlib

for library in pathlib.Path(__file__).parent.glob("*.so.*"):
    ctypes.CDLL(str(library))
"""


@dataclass(frozen=True)
class Missing:
    libraries: frozenset[str]
    symbols: frozenset[str]


def missing_of(loader_output: str) -> Missing:
    """What `ldd -r` did not find, but for Python's own."""
    libraries = {found[1] for found in _LIBRARY_MISSING.finditer(loader_output)}
    symbols = {found[1] for found in _SYMBOL_MISSING.finditer(loader_output) if not _OF_PYTHON.match(found[1])}
    strange = [name for name in sorted(libraries | symbols) if not _OF_CUDA.match(name)]
    if strange:
        raise ValueError(f"torch needs {', '.join(strange)}: not on this machine, and not of CUDA")
    return Missing(frozenset(libraries), frozenset(symbols))


def source_of(symbols: Collection[str]) -> str:
    return _SOURCE + "".join(f'void {name}(void) {{ refuse("{name}"); }}\n' for name in sorted(symbols))


def version_script_of(symbols: Collection[str], undefined_of_libraries: str) -> str:
    """The versions under which libraries ask for the symbols, as nm shows them."""
    names_of: dict[str, set[str]] = {}
    for name, version in _VERSIONED.findall(undefined_of_libraries):
        if name in symbols:
            names_of.setdefault(version, set()).add(name)
    return "".join(f"{version} {{ {'; '.join(sorted(names))}; }};\n" for version, names in sorted(names_of.items()))


def write(torch: Path, site: Path) -> None:
    """For the wheel's folder torch, to an environment's site. Every library gets all names; the loader takes the first."""
    libraries = torch / "lib"
    ldd = ["ldd", "-r", libraries / "libtorch_python.so"]
    missing = missing_of(subprocess.run(ldd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout)
    nm = ["nm", "--dynamic", "--undefined-only", *libraries.glob("*.so")]
    undefined = subprocess.run(nm, check=True, stdout=subprocess.PIPE, text=True).stdout
    folder = site / PACKAGE
    folder.mkdir(exist_ok=True)
    source, script = folder / "stubs.c", folder / "stubs.map"
    source.write_text(source_of(missing.symbols))
    script.write_text(version_script_of(missing.symbols, undefined))
    for library in sorted(missing.libraries):
        linking = [f"-Wl,-soname,{library}", f"-Wl,--version-script,{script}", "-o", folder / library]
        subprocess.run(["cc", "-shared", "-fPIC", source, *linking], check=True)
    (folder / "__init__.py").write_text(_LOADER)
    (site / f"{PACKAGE}.pth").write_text(f"import {PACKAGE}\n")
