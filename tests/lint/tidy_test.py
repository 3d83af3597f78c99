import pathlib
import subprocess
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main()
