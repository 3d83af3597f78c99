#!/usr/bin/env python3
"""Writes an OCI image as one archive, without a registry, a daemon or root.

    oci_image.py OUT.tar --name NAME:TAG --entrypoint PATH [--file SOURCE=PATH]... [--label KEY=VALUE]...

The archive is an OCI image layout in a tar file; `ctr -n k8s.io images import OUT.tar` loads it. The program
runs as 65532:65532, files belong to root, and the same files give the same bytes. OUT.tar appears when it is
complete. Errors: exit code 1, naming the file; 2 for a wrong command line.
"""

import argparse
import hashlib
import io
import json
import os
import platform
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Sequence

from layer import Entry, file_entry, write_layer

USER = "65532:65532"
EPOCH = "1970-01-01T00:00:00Z"
MEDIA = "application/vnd.oci.image"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """layers: lowest first; what changes least belongs at the bottom."""

    name: str
    entrypoint: str
    layers: Sequence[Sequence[Entry]]
    labels: dict[str, str] = field(default_factory=dict)
    ports: Sequence[int] = ()
    environment: dict[str, str] = field(default_factory=dict)  # beside PATH


@dataclass(frozen=True)
class Blob:
    digest: str
    size: int

    def descriptor(self, kind: str) -> dict:
        return {"mediaType": f"{MEDIA}.{kind}", "digest": f"sha256:{self.digest}", "size": self.size}


def write_image(image: Image, out: Path) -> str:
    """Writes the archive and returns the digest of the image."""
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with open(unfinished, "wb") as archive:
            digest = _write_archive(image, archive)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    return digest


def _write_archive(image: Image, archive: BinaryIO) -> str:
    _add_file(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
    layers = [_add_layer(archive, entries) for entries in image.layers]
    config = _add_blob(archive, _json(_config(image, layers)))
    manifest = _add_blob(archive, _json(_manifest(image, config, layers)))
    _add_file(archive, "index.json", _json(_index(image, manifest)))
    archive.write(tarfile.NUL * (2 * tarfile.BLOCKSIZE))
    return f"sha256:{manifest.digest}"


def _config(image: Image, layers: Sequence[Blob]) -> dict:
    return {
        "created": EPOCH,
        "architecture": _architecture(),
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": [image.entrypoint],
            "Env": [f"{name}={value}" for name, value in ({"PATH": "/usr/bin"} | image.environment).items()],
            "WorkingDir": "/",
            "Labels": image.labels,
            "ExposedPorts": {f"{port}/tcp": {} for port in image.ports},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in layers]},
    }


def _manifest(image: Image, config: Blob, layers: Sequence[Blob]) -> dict:
    return {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.manifest.v1+json",
        "config": config.descriptor("config.v1+json"),
        "layers": [layer.descriptor("layer.v1.tar") for layer in layers],
        "annotations": image.labels,
    }


def _index(image: Image, manifest: Blob) -> dict:
    tag = image.name.rsplit(":", 1)[1]
    names = {"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": tag}
    entry = manifest.descriptor("manifest.v1+json")
    entry |= {"platform": {"architecture": _architecture(), "os": "linux"}, "annotations": names}
    return {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": [entry]}


def _architecture() -> str:
    return ARCHITECTURES.get(platform.machine(), platform.machine())


def _json(value: dict) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _header(path: str, size: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def _blob_path(digest: str) -> str:
    return f"blobs/sha256/{digest}"


def _add_file(archive: BinaryIO, path: str, content: bytes) -> None:
    archive.write(_header(path, len(content)))
    archive.write(content)
    _pad(archive, len(content))


def _add_blob(archive: BinaryIO, content: bytes) -> Blob:
    digest = hashlib.sha256(content).hexdigest()
    _add_file(archive, _blob_path(digest), content)
    return Blob(digest, len(content))


def _add_layer(archive: BinaryIO, entries: Sequence[Entry]) -> Blob:
    """A blob is named by its digest, which is known at its end: the header is written last."""
    start = archive.tell()
    archive.write(bytes(tarfile.BLOCKSIZE))
    written = write_layer(entries, archive)
    _pad(archive, written.size)
    archive.seek(start)
    archive.write(_header(_blob_path(written.digest()), written.size))
    archive.seek(0, io.SEEK_END)
    return Blob(written.digest(), written.size)


def _pad(archive: BinaryIO, size: int) -> None:
    archive.write(bytes(-size % tarfile.BLOCKSIZE))


def _pair(text: str) -> tuple[str, str]:
    left, separator, right = text.partition("=")
    if not (left and separator and right):
        raise argparse.ArgumentTypeError(f"'{text}' has no two parts around a '='")
    return left, right


def _name(text: str) -> str:
    repository, separator, tag = text.rpartition(":")
    if not (repository and separator and tag) or "/" in tag:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME:TAG")
    return text


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Writes an OCI image as one archive.")
    parser.add_argument("out", type=Path, metavar="OUT.tar")
    parser.add_argument("--name", type=_name, required=True, metavar="NAME:TAG")
    parser.add_argument("--entrypoint", required=True, metavar="PATH", help="the program in the image")
    parser.add_argument("--file", type=_pair, action="append", default=[], dest="files", metavar="SOURCE=PATH")
    parser.add_argument("--label", type=_pair, action="append", default=[], dest="labels", metavar="KEY=VALUE")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    try:
        layer = [file_entry(Path(source), path) for source, path in options.files]
        digest = write_image(Image(options.name, options.entrypoint, [layer], dict(options.labels)), options.out)
    except (OSError, ValueError) as error:
        print(f"oci_image.py: {error}", file=sys.stderr)
        return 1
    print(f"{options.name} {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
