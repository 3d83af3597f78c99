import ctypes
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cuda_stubs
from cuda_stubs import Missing, missing_of

LOADER_OUTPUT = """\
\tlinux-vdso.so.1 (0x00007f2c3f4ed000)
\tlibtorch.so => /wheel/torch/lib/libtorch.so (0x00007f2c3f4a0000)
\tlibcublas.so.13 => not found
\tlibnccl.so.2 => not found
undefined symbol: cublasCreate_v2, version libcublas.so.13\t(/wheel/torch/lib/libtorch_cuda.so)
undefined symbol: ncclAllReduce\t(/wheel/torch/lib/libtorch_cuda.so)
undefined symbol: PyObject_Call\t(/wheel/torch/lib/libtorch_python.so)
"""


class WhatIsMissing(unittest.TestCase):
    def test_is_what_the_loader_did_not_find_but_for_pythons_own(self):
        self.assertEqual(
            missing_of(LOADER_OUTPUT),
            Missing(frozenset({"libcublas.so.13", "libnccl.so.2"}),
                    frozenset({"cublasCreate_v2", "ncclAllReduce"})))

    def test_is_an_error_where_it_is_not_of_cuda(self):
        for line in ("\tlibgomp.so.1 => not found", "undefined symbol: memcpy, version GLIBC_2.99\t(/wheel/a.so)"):
            with self.assertRaisesRegex(ValueError, "torch needs (libgomp.so.1|memcpy): not on this machine"):
                missing_of(LOADER_OUTPUT + line)


class Stubs(unittest.TestCase):
    """Made for a library that needs two that are not there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "torch" / "lib").mkdir(parents=True)
        (self.folder / "site").mkdir()
        script = self.make("versions", "libcublas.so.13 { global: *; };")
        self.compile("libcublas.so.13", "void cublasCreate_v2(void) {}", f"-Wl,--version-script,{script}")
        self.compile("libnccl.so.2", "void ncclAllReduce(void) {}")
        self.library = self.compile(
            "torch/lib/libtorch_python.so",
            "#include <stdio.h>\nvoid cublasCreate_v2(void); void ncclAllReduce(void);"
            "int on_cpu(void) { return puts(\"7\"); } void on_gpu(void) { cublasCreate_v2(); ncclAllReduce(); }",
            self.folder / "libcublas.so.13", self.folder / "libnccl.so.2")
        for name in ("libcublas.so.13", "libnccl.so.2"):
            (self.folder / name).unlink()

    def make(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def compile(self, name, text, *options):
        source = self.make("source.c", text)
        soname = f"-Wl,-soname,{Path(name).name}"
        subprocess.run(["cc", "-shared", "-fPIC", soname, source, *options, "-o", self.folder / name], check=True)
        return self.folder / name

    def run_python(self, statement):
        code = f"import site; site.addsitedir({str(self.folder / 'site')!r}); import ctypes; "
        return subprocess.run([sys.executable, "-c", code + f"library = ctypes.CDLL({str(self.library)!r}); {statement}"],
                              capture_output=True, text=True)

    def test_let_a_library_load_that_could_not_and_run_what_it_has_itself(self):
        with self.assertRaises(OSError):
            ctypes.CDLL(str(self.library))
        cuda_stubs.write(self.folder / "torch", self.folder / "site")
        run = self.run_python("library.on_cpu()")
        self.assertEqual((run.stdout, run.stderr, run.returncode), ("7\n", "", 0))

    def test_end_the_process_with_the_name_of_what_was_called(self):
        cuda_stubs.write(self.folder / "torch", self.folder / "site")
        run = self.run_python("library.on_gpu()")
        self.assertIn("cublasCreate_v2 was called, a function of CUDA", run.stderr)
        self.assertNotEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main()
