import contextlib
import io
import json
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import tidy


def git(folder, *arguments):
    identity = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


class ChangedNames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def commit(self, name):
        pathlib.Path(self.folder, name).write_text(name)
        git(self.folder, "add", name)
        git(self.folder, "commit", "-m", name)

    def test_are_those_of_the_last_commits_and_what_is_not_committed(self):
        git(self.folder, "init")
        for name in ("old.cc", "recent.h", "last.cc"):
            self.commit(name)
        pathlib.Path(self.folder, "old.cc").write_text("changed")
        pathlib.Path(self.folder, "new.cc").write_text("new")
        self.assertEqual(tidy.changed_names(self.folder, 1), {"last", "old", "new"})
        git(self.folder, "checkout", "old.cc")
        self.assertEqual(tidy.changed_names(self.folder, 2), {"recent", "last", "new"})

    def test_are_not_known_without_so_much_history(self):
        self.assertIsNone(tidy.changed_names(self.folder, 1))
        git(self.folder, "init")
        self.commit("only.cc")
        self.assertIsNone(tidy.changed_names(self.folder, 1))


class Sample(unittest.TestCase):
    def setUp(self):
        self.commands = [{"file": f"/project/{name}.cc"} for name in "abcdefgh"]

    def test_is_the_same_for_one_day(self):
        self.assertEqual(tidy.sample(self.commands, 3, "2026-01-31"), tidy.sample(self.commands[::-1], 3, "2026-01-31"))

    def test_is_another_on_another_day_so_that_every_file_has_its_turn(self):
        seen = {command["file"] for seed in range(50) for command in tidy.sample(self.commands, 3, seed)}
        self.assertEqual(len(seen), len(self.commands))

    def test_is_all_where_there_are_no_more(self):
        self.assertCountEqual(tidy.sample(self.commands, 40, "2026-01-31"), self.commands)


class UnityBuild(unittest.TestCase):
    def test_is_checked_file_by_file(self):
        with tempfile.TemporaryDirectory() as folder:
            unity = pathlib.Path(folder, "Unity", "unity_0_cxx.cxx")
            unity.parent.mkdir()
            unity.write_text('/* generated */\n\n#include "/project/a.cc"\n\n#include "/project/b.cc"\n\n')
            alone = {"file": "/project/c.cc", "command": "g++ -o c.o -c /project/c.cc"}
            known = [alone, {"file": str(unity), "command": f"g++ -o u.o -c {unity}"}]
            self.assertEqual(list(tidy.each_file(known)), [
                alone,
                {"file": "/project/a.cc", "command": "g++ -o u.o -c /project/a.cc"},
                {"file": "/project/b.cc", "command": "g++ -o u.o -c /project/b.cc"}])


class WhatWasClean(unittest.TestCase):
    """Of one file with one header, by a clang-tidy that finds what it is told to."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "build").mkdir()
        for name in ("a.cc", "a.h", ".clang-tidy"):
            self.write(name, "")
        self.compile_with("-O2")
        self.read = {"a.o": ["../a.h", "../a.cc"]}
        self.finding = 0

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def compile_with(self, option):
        command = {"file": str(self.folder / "a.cc"), "command": f"g++ {option} -o a.o -c a.cc"}
        self.write("build/compile_commands.json", json.dumps([command]))

    def files_checked(self):
        with mock.patch.object(tidy, "dependencies_by_object", return_value=self.read), \
                mock.patch.object(tidy, "check", return_value=(self.finding, "")) as check, \
                contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(tidy.main(self.folder, self.folder / "build", self.folder / "cache"), self.finding)
        return check.call_count

    def test_is_not_checked_again(self):
        self.assertEqual([self.files_checked(), self.files_checked()], [1, 0])

    def test_is_checked_again_when_anything_that_it_depends_on_changed(self):
        changes = {
            "the file": lambda: self.write("a.cc", "changed"),
            "its header": lambda: self.write("a.h", "changed"),
            "what is asked for": lambda: self.write(".clang-tidy", "changed"),
            "how it is compiled": lambda: self.compile_with("-O3"),
        }
        for what, change in changes.items():
            with self.subTest(what):
                self.files_checked()
                change()
                self.assertEqual([self.files_checked(), self.files_checked()], [1, 0])

    def test_is_compiled_without_what_another_compiler_has_precompiled_and_what_memory_it_takes(self):
        self.compile_with("-O2 --param=ggc-min-heapsize=131072 -Winvalid-pch -include /b/cmake_pch.hxx -g")
        self.files_checked()
        self.compile_with("-O2 -g")
        self.assertEqual(self.files_checked(), 0)

    def test_is_what_had_no_findings(self):
        self.finding = 1
        self.assertEqual([self.files_checked(), self.files_checked()], [1, 1])

    def test_is_not_known_of_a_file_whose_headers_are_not(self):
        self.read = {}
        self.assertEqual([self.files_checked(), self.files_checked()], [1, 1])


if __name__ == "__main__":
    unittest.main()
