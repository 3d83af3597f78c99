import contextlib
import io
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import formatting

CLEAN, UGLY = "int x = 1;\n", "int   x=1 ;\n"


class Formatting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository, self.cache = pathlib.Path(folder.name, "repository"), pathlib.Path(folder.name, "cache")
        self.repository.mkdir()
        self.cache.mkdir()
        subprocess.run(["git", "init", "--quiet"], cwd=self.repository, check=True)
        self.write(".clang-format", "BasedOnStyle: Google\n")

    def write(self, name, text):
        (self.repository / name).write_text(text)
        subprocess.run(["git", "add", name], cwd=self.repository, check=True)

    def check(self):
        """Whether all is clean, and how many files were asked about."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = formatting.main(str(self.repository), str(self.cache))
        return code == 0, int(output.getvalue().split(", ")[1].split()[0])

    def test_an_ugly_file_is_found_until_it_is_mended(self):
        self.write("clean.cc", CLEAN)
        self.write("ugly.h", UGLY)
        self.assertEqual(self.check(), (False, 2))
        self.assertEqual(self.check(), (False, 2))
        self.write("ugly.h", CLEAN)
        self.assertEqual(self.check(), (True, 2))

    def test_without_git_all_but_what_is_built_is_looked_at(self):
        self.write("ugly.h", UGLY)
        (self.repository / "build").mkdir()
        (self.repository / "build/generated.h").write_text(UGLY)
        shutil.rmtree(self.repository / ".git")
        self.assertEqual(self.check(), (False, 1))

    def test_a_clean_file_is_asked_about_again_when_it_or_the_style_has_changed(self):
        self.write("a.cc", CLEAN)
        self.write("b.cc", "int y = 1;\n")
        self.assertEqual(self.check(), (True, 2))
        self.assertEqual(self.check(), (True, 0))
        self.write("b.cc", UGLY)
        self.assertEqual(self.check(), (False, 1))
        self.write("b.cc", CLEAN)
        self.assertEqual(self.check(), (True, 0))
        self.write(".clang-format", "BasedOnStyle: LLVM\n")
        self.assertEqual(self.check(), (True, 2))


if __name__ == "__main__":
    unittest.main()
