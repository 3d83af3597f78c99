"""That ccache finds what stands behind a precompiled header in another checkout, and does not where that header differs."""

import itertools
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

LAUNCHER = pathlib.Path(__file__).with_name("ccache.sh")
COMPILERS = {"g++": ("headers.h.gch", (), ("-include", "headers.h")),
             "clang++-14": ("headers.h.pch", ("-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp"), ("-include-pch", "headers.h.pch"))}


class Checkout:
    def __init__(self, folder: pathlib.Path, cache: pathlib.Path, compiler: str, options: tuple[str, ...]) -> None:
        self.folder, self.compiler, self.options = folder, compiler, options
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CCACHE_")}
        self.environment |= {"CCACHE_CONFIGPATH": "/dev/null", "CCACHE_DIR": str(cache), "CCACHE_BASEDIR": str(folder)}
        folder.mkdir()
        (folder / "one.h").write_text("inline int one() { return 1; }\n")
        (folder / "headers.h").write_text('#include "one.h"\n')
        (folder / "two.cc").write_text("int two() { return 2 * one(); }\n")

    def compile(self, *arguments: str) -> None:
        subprocess.run([LAUNCHER, "ccache", self.folder, self.compiler, *self.options, *arguments], cwd=self.folder, env=self.environment, check=True,
                       capture_output=True)

    def build_header(self) -> str:
        """Of what the compiled header was made, as its sum."""
        header, emits, _ = COMPILERS[self.compiler]
        self.compile("-x", "c++-header", *emits, "-MD", "-MT", header, "-MF", f"{header}.d", "-o", header, "-c", f"{self.folder}/headers.h")
        return (self.folder / f"{header}.sum").read_text()

    def is_found(self) -> bool:
        """Whether what stands behind the header has been compiled before."""
        _, _, uses = COMPILERS[self.compiler]
        before = self.hits()
        self.compile(*uses, "-MD", "-MT", "two.o", "-MF", "two.o.d", "-o", "two.o", "-c", f"{self.folder}/two.cc")
        return self.hits() > before

    def hits(self) -> int:
        shown = subprocess.run(["ccache", "--print-stats"], env=self.environment, check=True, capture_output=True, text=True).stdout
        return sum(int(each) for each in re.findall(r"^(?:direct|preprocessed)_cache_hit\s+(\d+)$", shown, re.MULTILINE))


class Ccache(unittest.TestCase):
    def test_another_checkout_finds_what_stands_behind_the_same_header(self) -> None:
        for compiler, options in itertools.product(COMPILERS, ((), ("-fsanitize=address",))):
            with self.subTest(compiler, options=options), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                first, second, other = (Checkout(folder / each, folder / "cache", compiler, options) for each in ("first", "the_second", "other"))
                made_of = first.build_header()
                self.assertFalse(first.is_found())
                self.assertEqual(made_of, second.build_header())
                self.assertTrue(second.is_found())
                (other.folder / "one.h").write_text("inline int one() { return 11; }\n")
                self.assertNotEqual(made_of, other.build_header())
                self.assertFalse(other.is_found())

    def test_a_header_that_does_not_compile_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            checkout = Checkout(pathlib.Path(name) / "first", pathlib.Path(name) / "cache", "g++", ())
            (checkout.folder / "one.h").write_text("no\n")
            with self.assertRaises(subprocess.CalledProcessError):
                checkout.build_header()


if __name__ == "__main__":
    unittest.main()
