"""Layers of an image: tar archives whose bytes depend on nothing but names, contents and who may run a file.

Entries are sorted, everything belongs to root and no time is kept, so the same files give the same digest.
Folders on the way to a file are made, with mode 755.
"""

import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Iterable

FOLDER_MODE = 0o755


@dataclass(frozen=True)
class Entry:
    """A file of the image. content: a file of this machine or the bytes themselves; None makes a folder."""

    path: str
    content: Path | bytes | None
    mode: int


def file_entry(source: Path, path: str) -> Entry:
    """The file at `source`, executable for all when it is for its owner, writable for nobody but root."""
    mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
    return Entry(path, source.resolve(), mode)


class HashingWriter:
    """Passes bytes on and knows their number and their SHA-256."""

    def __init__(self, out: BinaryIO):
        self._out = out
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._out.write(data)

    def digest(self) -> str:
        return self._hash.hexdigest()


def with_folders(entries: Iterable[Entry]) -> list[Entry]:
    """The entries and the folders above them, in the order of the archive. Two entries of one name are an error."""
    by_path: dict[str, Entry] = {}
    for entry in entries:
        path = str(PurePosixPath("/", entry.path)).lstrip("/")
        if path in by_path:
            raise ValueError(f"two entries want to be /{path} in the image")
        by_path[path] = Entry(path, entry.content, entry.mode)
    for path in list(by_path):
        for parent in PurePosixPath(path).parents:
            if str(parent) != ".":
                by_path.setdefault(str(parent), Entry(str(parent), None, FOLDER_MODE))
    return [by_path[path] for path in sorted(by_path)]


def write_layer(entries: Iterable[Entry], out: BinaryIO) -> HashingWriter:
    """Writes the archive in one pass; the answer knows its digest and size."""
    writer = HashingWriter(out)
    with tarfile.open(fileobj=writer, mode="w|", format=tarfile.GNU_FORMAT, bufsize=1 << 20) as archive:
        for entry in with_folders(entries):
            _add(archive, entry)
    return writer


def _add(archive: tarfile.TarFile, entry: Entry) -> None:
    info = tarfile.TarInfo(entry.path)
    info.mode = entry.mode
    if entry.content is None:
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
    elif isinstance(entry.content, bytes):
        info.size = len(entry.content)
        archive.addfile(info, io.BytesIO(entry.content))
    else:
        with open(entry.content, "rb") as source:
            info.size = entry.content.stat().st_size
            archive.addfile(info, source)
