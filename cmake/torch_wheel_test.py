"""That what is compiled with one LibTorch is compiled anew with another one, whose libraries its programs then load."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("TorchWheel.cmake")
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(small NONE)
function(caravan_headers)
endfunction()
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)
include("{SCRIPT}")
get_target_property(folders torch::c10 INTERFACE_INCLUDE_DIRECTORIES)
file(WRITE "${{CMAKE_BINARY_DIR}}/folders" "${{folders}}")
"""


class TorchWheel(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("project/CMakeLists.txt", PROJECT)
        self.write("project/wheels/libtorch.in", "torch==2.11.0\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def make_wheel(self, name: str, revision: str) -> pathlib.Path:
        self.write(f"{name}/torch/version.py", f"__version__ = '2.11.0+cu130'\ngit_version = '{revision}'\n")
        self.write(f"{name}/torch/include/ATen/ATen.h", f"// {name}\n")
        for library in ("libtorch_cpu.so", "libc10.so", "libgomp.so.1"):
            self.write(f"{name}/torch/lib/{library}", "")
        return self.folder / name / "torch"

    def folders(self, wheel: pathlib.Path) -> list[str]:
        """Where a build looks for headers, after it has been configured with a wheel."""
        command = ["cmake", "-G", "Ninja", "-S", self.folder / "project", "-B", self.folder / "build", f"-DTORCH_WHEEL_DIR={wheel}"]
        subprocess.run(command, check=True, capture_output=True)
        return (self.folder / "build/folders").read_text().split(";")

    def test_another_one_has_its_headers_in_another_folder(self) -> None:
        first, same, other = (self.make_wheel(name, revision) for name, revision in (("first", "1"), ("same", "1"), ("other", "2")))
        for wheel in (first, same, other):
            header = pathlib.Path(self.folders(wheel)[0]) / "ATen/ATen.h"
            self.assertEqual(header.read_text(), f"// {wheel.parent.name}\n")
        self.assertEqual(self.folders(first), self.folders(same))
        self.assertNotEqual(self.folders(first), self.folders(other))

    def test_programs_find_its_libraries_where_installed_ones_do(self) -> None:
        for name, revision in (("first", "1"), ("other", "2")):
            wheel = self.make_wheel(name, revision)
            self.folders(wheel)
            self.assertEqual((self.folder / "build/lib/caravan").resolve(), (wheel / "lib").resolve())


if __name__ == "__main__":
    unittest.main()
