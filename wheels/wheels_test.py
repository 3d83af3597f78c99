"""Of a registry that is a folder, with wheels of a line each."""

import hashlib
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import wheels


def setUpModule():
    """The pip that all share is the cache's, where there is one."""
    if "CARAVAN_CACHE" not in os.environ:
        cache = unittest.enterModuleContext(tempfile.TemporaryDirectory())
        unittest.enterModuleContext(mock.patch.dict(os.environ, {"CARAVAN_CACHE": cache}))
    wheels.pip()


class OfAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.registry, self.lists, cache = (Path(folder.name, name) for name in ("registry", "lists", "cache"))
        for path in (self.registry, self.lists, cache, cache / "wheels"):
            path.mkdir()
        pip = wheels.pip_folder()
        (cache / "wheels" / pip.name).symlink_to(pip)
        registry = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.registry)}
        patch = mock.patch.dict(os.environ, {"CARAVAN_CACHE": str(cache), **registry})
        patch.start()
        self.addCleanup(patch.stop)

    def publish(self, name, version="1.0", needs=""):
        path = self.registry / f"{name}-{version}-py3-none-any.whl"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (f"Requires-Dist: {needs}\n" if needs else "")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}.py", f"version = '{version}'\n")
            archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
            archive.writestr(f"{name}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{name}-{version}.dist-info/RECORD", "")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def write(self, file, text):
        (self.lists / file).write_text(text)


class Installing(OfAFolder):
    def test_takes_the_wheel_whose_hash_stands_in_the_list_and_no_other(self):
        self.publish("cargo")
        self.write("small.txt", f"cargo==1.0 --hash=sha256:{'0' * 64}\n")
        with self.assertRaisesRegex(wheels.Refusal, "small.txt.*the wheel is not the one that was chosen"):
            wheels.install("small", self.lists)
        self.assertFalse((wheels.folder_of("small", self.lists) / "installed").exists())

        self.write("small.txt", f"cargo==1.0 --hash=sha256:{self.publish('cargo')}\n")
        wheels.install("small", self.lists)
        self.assertTrue((wheels.folder_of("small", self.lists) / "installed").exists())
        self.assertTrue((wheels.site_of(wheels.folder_of("small", self.lists)) / "cargo.py").exists())


    def test_refuses_wheels_of_versions_that_one_of_them_does_not_work_with(self):
        cargo, wagon = self.publish("cargo", needs="wagon<2"), self.publish("wagon", "2.1")
        pins = f"cargo==1.0 --hash=sha256:{cargo}\n"
        self.write("small.txt", pins + f"wagon==2.1 --hash=sha256:{wagon}\n")
        conflict = "change small.in, then ./dev lock small\ncargo 1.0 has requirement wagon<2, but you have wagon 2.1"
        with self.assertRaisesRegex(wheels.Refusal, conflict):
            wheels.install("small", self.lists)
        self.assertFalse((wheels.folder_of("small", self.lists) / "installed").exists())

        self.write("small.txt", pins)
        wheels.install("small", self.lists)


class Locking(OfAFolder):
    def test_writes_all_that_a_set_needs_with_versions_and_hashes(self):
        self.write("small.in", "cargo==1.0\n")
        cargo, wagon = self.publish("cargo", needs="Wagon_Load>=2"), self.publish("Wagon_Load", "2.1")
        wheels.lock("small", self.lists)
        self.assertEqual((self.lists / "small.txt").read_text().splitlines()[1:],
                         [f"cargo==1.0 --hash=sha256:{cargo}", f"wagon-load==2.1 --hash=sha256:{wagon}"])
        self.assertEqual(list(wheels.mistakes_in(self.lists)), [])

        self.write("small.in", "cargo==1.1\n")
        before = (self.lists / "small.txt").read_text()
        with self.assertRaisesRegex(wheels.Refusal, "no wheels for small.in.*small.txt is as it was"):
            wheels.lock("small", self.lists)
        self.assertEqual((self.lists / "small.txt").read_text(), before)


class Lists(OfAFolder):
    PIN = "cargo==1.0 --hash=sha256:" + "a" * 64 + "\n"

    def setUp(self):
        super().setUp()
        self.write("base.in", "wagon==1.0\n")
        self.write("small.in", "# ours\n-c base.in\ncargo==1.0\nwagon\n")
        self.write_lists()

    def write_lists(self):
        for name in ("base", "small"):
            self.write(f"{name}.txt", wheels.header_of(name, self.lists) + self.PIN)

    def mistakes(self):
        return "\n".join(wheels.mistakes_in(self.lists))

    def test_of_what_is_asked_for_no_more_are_mistakes(self):
        self.assertEqual(self.mistakes(), "")
        self.write("small.in", "-c base.in\ncargo==1.1\nwagon\n")
        self.assertEqual(self.mistakes(), "small.txt was not written from small.in as it is now: ./dev lock small")

    def test_are_mistakes_after_a_change_in_what_they_take_over(self):
        self.write("base.in", "wagon==1.1\n")
        self.assertIn("small.txt was not written from small.in", self.mistakes())

    def test_do_not_change_with_comments(self):
        folder = wheels.folder_of("small", self.lists)
        self.write("small.in", "# Ours.\n-c base.in\ncargo==1.0\nwagon\n")
        self.write("small.txt", "# Of someone.\n" + self.PIN)
        self.assertEqual(wheels.folder_of("small", self.lists), folder)
        self.write_lists()
        self.assertEqual(self.mistakes(), "")

    def test_have_a_hash_for_every_wheel(self):
        self.write("small.txt", wheels.header_of("small", self.lists) + "cargo==1.0\n")
        self.assertIn("'cargo==1.0' is not a wheel with its version and hash", self.mistakes())

    def test_name_an_environment_that_changes_with_them_and_with_those_below(self):
        with mock.patch.dict(wheels.BASE, {"small": "base"}):
            folders = {wheels.folder_of("small", self.lists)}
            for name in ("small", "base"):
                self.write(f"{name}.txt", self.PIN.replace("1.0", "1.1"))
                folders.add(wheels.folder_of("small", self.lists))
        self.assertEqual(len(folders), 3)


class Program(unittest.TestCase):
    def test_has_its_environments_where_dev_has_them(self):
        environment = {name: value for name, value in os.environ.items() if name != "CARAVAN_CACHE"} | {"HOME": "/nowhere"}
        told = subprocess.run([wheels.LISTS / "wheels.py", "folder", "client"], check=True, capture_output=True, text=True, env=environment).stdout
        self.assertRegex(told, "^/nowhere/.cache/caravan/wheels/client-[0-9a-f]+\n$")

    def test_says_what_is_wrong_in_a_line(self):
        program = [sys.executable, wheels.LISTS / "wheels.py", "folder", "no-such-set"]
        run = subprocess.run(program, capture_output=True, text=True, env={**os.environ, "CARAVAN_CACHE": "/nowhere"})
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"^wheels\.py: .*no-such-set\.txt'\n$")


if __name__ == "__main__":
    unittest.main()
