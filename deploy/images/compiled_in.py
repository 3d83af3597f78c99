"""The licences of what is compiled into programs, which is no file that they load: Debian's static libraries and
headers, Rust's crates and standard library, and what the job service's page is bundled from.
"""

import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2]
# But Boost's, whose licence asks for nothing where it is object code.
PACKAGES = ("libcli11-dev", "libexpected-dev", "libfmt-dev", "libgrpc++-dev", "libhwy-dev", "libprotobuf-dev", "libspdlog-dev")


def licence_texts(build: Path) -> dict[str, Path]:
    """By their place in an image. ValueError says which is missing, and what brings it."""
    texts = {f"{package}/copyright": Path(f"/usr/share/doc/{package}/copyright") for package in PACKAGES} | _of_rust(build) | _of_the_page()
    for text in texts.values():
        if not text.exists():
            raise ValueError(f"{text}, a licence of what is compiled in, is not on this machine: ./dev setup")
    return {f"/usr/share/doc/{place}": text.resolve() for place, text in texts.items()}


def _of_rust(build: Path) -> dict[str, Path]:
    folder = build / "rust/licences"  # see rust/CMakeLists.txt
    if not folder.is_dir():
        raise ValueError(f"{folder}, the licences of the crates that are compiled in, is not there: ./dev build")
    return {str(text.relative_to(folder)): text for text in sorted(folder.glob("*/*"))}


def _of_the_page() -> dict[str, Path]:
    ask = ["bash", "-c", 'source "$0/npm/packages.sh" && npm_folder page "$0/page"', SOURCES]
    folder = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return {"uplot/LICENSE": Path(folder, "node_modules/uplot/LICENSE")}
