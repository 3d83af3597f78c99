import pathlib
import subprocess
import tempfile
import unittest

from cuda_library import mistakes_in


class CudaLibraryTest(unittest.TestCase):
    def mistakes(self, code, *flags):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, options in (("libtorch_cpu.so", "", []), ("libc10.so", "", []), ("library.so", code, flags)):
                subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", pathlib.Path(folder, name), *options],
                               input=text, text=True, check=True)
            return "\n".join(mistakes_in(f"{folder}/library.so", folder))

    def test_what_libtorch_does_not_need_is_refused(self):
        said = self.mistakes("#include <cmath>\ndouble f(double x) { return std::pow(x, 1.1); }", "-Wl,--no-as-needed",
                             "-lresolv", "-Wl,-rpath,/opt/build")
        self.assertIn("it needs libresolv.so.2, which", said)
        self.assertIn("it looks for libraries in a folder", said)
        self.assertRegex(said, "it needs GLIBC_[0-9.]+, newer than")

    def test_symbols_are_those_of_the_headers(self):
        said = self.mistakes("namespace caravan::cuda { int helper(int x) { return x; } }")
        self.assertIn("helper is in the headers or among its symbols, but not in both", said)
        self.assertIn("swiglu_forward is in the headers or among its symbols, but not in both", said)

    def test_each_generation_has_its_machine_code(self):
        self.assertIn("it has no machine code for compute capability 9.0", self.mistakes(""))

    def test_what_does_not_load_is_refused(self):
        self.assertIn("it does not load", self.mistakes("int missing(); int f() { return missing(); }"))


if __name__ == "__main__":
    unittest.main()
