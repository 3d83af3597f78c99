"""Copies the licences of what cargo has compiled into a library: of its crates, and of Rust's own library.

Usage: rust_licences.py CARGO MANIFEST FOLDER     FOLDER is made anew
"""

import json
import pathlib
import shutil
import subprocess
import sys

TEXTS = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def output_of(*command: str | pathlib.Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def of_crates(cargo: str, platform: str, manifest: str) -> dict[str, pathlib.Path]:
    metadata = [cargo, "metadata", "--locked", "--format-version=1", f"--filter-platform={platform}"]
    texts: dict[str, pathlib.Path] = {}
    for crate in json.loads(output_of(*metadata, f"--manifest-path={manifest}"))["packages"]:
        if crate["source"] is None:  # ours
            continue
        own = pathlib.Path(crate["manifest_path"])
        found = [text for text in sorted(own.parent.iterdir()) if text.name.upper().startswith(TEXTS) and text.is_file()]
        # Without a text of its own, its manifest says which one holds.
        texts |= {f"{crate['name']}-{crate['version']}/{text.name}": text for text in found or [own]}
    return texts


def of_library(sysroot: str) -> dict[str, pathlib.Path]:
    documents = pathlib.Path(sysroot, "share/doc")  # rustup's, or Debian's
    found = [*documents.glob("rust/COPYRIGHT-library.html"), *documents.glob("libstd-rust-*dev/copyright")]
    return {f"rust/{text.name}": text for text in found}


def main(cargo: str, manifest: str, folder: str) -> None:
    rustc = pathlib.Path(cargo).with_name("rustc")
    texts = of_crates(cargo, output_of(rustc, "--print=host-tuple"), manifest) | of_library(output_of(rustc, "--print=sysroot"))
    shutil.rmtree(folder, ignore_errors=True)
    for place, text in texts.items():
        copy = pathlib.Path(folder, place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(text, copy)


if __name__ == "__main__":
    main(*sys.argv[1:])
