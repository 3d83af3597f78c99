"""The archives that ./dev image wrote hold what they need and no more. IMAGES: their folder.

The programs are started in their unpacked image, which takes root to change into.
"""

import fnmatch
import functools
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path
from typing import Callable

IMAGES = Path(os.environ["IMAGES"])
PROGRAMS = {"caravan-operator": ["caravan-operator", "caravan-service"], "caravan-worker": ["caravan-agent", "caravan-trainer"]}
SHELLS = {"sh", "bash", "dash", "busybox", "ash", "zsh", "ksh", "python3", "perl"}


class Archive:
    def __init__(self, name: str):
        self._tar = tarfile.open(IMAGES / f"{name}.tar")
        self.index = json.load(self._tar.extractfile("index.json"))
        self.manifest = json.load(self.blob(self.index["manifests"][0]))
        self.config = json.load(self.blob(self.manifest["config"]))

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()

    def blob(self, descriptor: dict) -> io.BufferedReader:
        return self._tar.extractfile("blobs/sha256/" + descriptor["digest"].removeprefix("sha256:"))

    def layers(self) -> list[tarfile.TarFile]:
        return [tarfile.open(fileobj=self.blob(layer)) for layer in self.manifest["layers"]]

    def members(self) -> list[tarfile.TarInfo]:
        return [member for layer in self.layers() for member in layer.getmembers()]

    def unpack(self, folder: str) -> None:
        for layer in self.layers():
            layer.extractall(folder)


def of_each_image(test: Callable[[unittest.TestCase, str, Archive], None]) -> Callable[[unittest.TestCase], None]:
    @functools.wraps(test)
    def run(self: unittest.TestCase) -> None:
        for name in PROGRAMS:
            with self.subTest(name), Archive(name) as archive:
                test(self, name, archive)

    return run


class Archives(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "needs root, to change into the image")
    @of_each_image
    def test_every_program_starts_in_its_image(self, name: str, archive: Archive):
        with tempfile.TemporaryDirectory() as root:
            os.chmod(root, 0o755)
            archive.unpack(root)
            for program in PROGRAMS[name]:
                command = ["chroot", "--userspec=65532:65532", root, f"/usr/bin/{program}", "--version"]
                done = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
                self.assertEqual((0, ""), (done.returncode, done.stderr), program)
                self.assertRegex(done.stdout, rf"^{program} \d+\.\d+\.\d+\n$")

    @of_each_image
    def test_nothing_but_the_programs_can_be_run(self, name: str, archive: Archive):
        folders = ("bin/", "sbin/", "usr/bin/", "usr/sbin/", "usr/local/bin/")
        found = [member.name for member in archive.members() if member.name.startswith(folders)]
        self.assertCountEqual([f"usr/bin/{program}" for program in PROGRAMS[name]], found)
        self.assertEqual(set(), SHELLS & {Path(member.name).name for member in archive.members()})

    @of_each_image
    def test_only_temporary_files_can_be_written_by_others_than_root(self, name: str, archive: Archive):
        for member in archive.members():
            self.assertEqual((0, 0), (member.uid, member.gid), member.name)
            expected = 0o1777 if member.name == "tmp" else 0o755 if member.mode & 0o100 else 0o644
            self.assertEqual(oct(expected), oct(member.mode), member.name)

    @of_each_image
    def test_the_image_says_what_it_is_and_runs_as_nobody_else(self, name: str, archive: Archive):
        config = archive.config["config"]
        self.assertEqual("65532:65532", config["User"])
        self.assertEqual([f"/usr/bin/{PROGRAMS[name][0]}"], config["Entrypoint"])
        prefix = "org.opencontainers.image."
        told = {key.removeprefix(prefix) for key in config["Labels"] if key.startswith(prefix)}
        self.assertLessEqual({"title", "description", "version", "licenses"}, told)

    @of_each_image
    def test_the_manifest_asks_for_the_name_that_the_image_has(self, name: str, archive: Archive):
        manifest = (Path(__file__).parents[1] / "install.yaml").read_text()
        image = archive.index["manifests"][0]["annotations"]["io.containerd.image.name"]
        self.assertIn(f": {image}\n", manifest)

    @of_each_image
    def test_no_program_looks_for_libraries_of_the_machine_that_built_it(self, name: str, archive: Archive):
        for program in PROGRAMS[name]:
            with tempfile.TemporaryDirectory() as root:
                archive.layers()[-1].extractall(root)
                command = ["readelf", "--dynamic", f"{root}/usr/bin/{program}"]
                told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", told)
                self.assertLessEqual(set(paths), {"$ORIGIN/../lib/caravan"}, program)

    @of_each_image
    def test_what_is_compiled_in_has_its_licence(self, name: str, archive: Archive):
        names = [member.name for member in archive.members()]
        for place in ("libprotobuf-dev/copyright", "tokenizers-*/LICENSE", "cel-*/Cargo.toml", "rust/*", "uplot/LICENSE"):
            self.assertTrue(fnmatch.filter(names, f"usr/share/doc/{place}"), place)

    def test_torch_is_a_layer_of_its_own_at_the_bottom(self):
        with Archive("caravan-worker") as archive:
            names = [layer.getnames() for layer in archive.layers()]
        self.assertIn("usr/lib/libtorch_cpu.so", names[0])
        self.assertNotIn("usr/lib/libc.so.6", names[0])
        self.assertIn("usr/bin/caravan-trainer", names[-1])


if __name__ == "__main__":
    unittest.main()
