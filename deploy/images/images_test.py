"""How an image is put together, shown on small programs of this machine."""

import contextlib
import dataclasses
import io
import itertools
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import compiled_in
import images
import shared_libraries
from layer import Entry
from oci_image import Image

PROGRAM = Path("/bin/ls")


class Images(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, image: Image) -> int:
        """The time of the archive, which only a new one changes."""
        with contextlib.redirect_stdout(io.StringIO()):
            images.write_if_changed(image, self.folder / "image.tar")
        return (self.folder / "image.tar").stat().st_mtime_ns

    def image(self, content: bytes, **more: dict) -> Image:
        return Image("localhost/demo:1", "/demo", [[Entry("/demo", content, 0o755)]], **more)

    def test_an_archive_of_the_same_inputs_is_left_as_it_is(self):
        self.assertEqual(self.write(self.image(b"text")), self.write(self.image(b"text")))

    def test_an_archive_of_other_inputs_is_written_anew(self):
        first = self.write(self.image(b"text"))
        second = self.write(self.image(b"test"))
        self.assertNotEqual(first, second)
        self.assertNotEqual(second, self.write(self.image(b"test", environment={"A": "b"})))

    def test_the_closure_has_the_loader_where_the_program_wants_it(self):
        files = shared_libraries.closure([PROGRAM])
        self.assertIn("/usr/lib/libc.so.6", files)
        loaders = [place for place in files if "/ld-linux" in place]
        self.assertEqual(1, len(loaders))
        self.assertIn(loaders[0].encode(), PROGRAM.read_bytes())

    def test_the_closure_is_complete(self):
        files = shared_libraries.closure([PROGRAM])
        of_the_libraries = shared_libraries.closure(files.values())
        self.assertEqual({}, {place: path for place, path in of_the_libraries.items() if place not in files})

    def test_what_a_library_lacks_may_be_loaded_by_another(self):
        says = {"opened": "\tlibruntime.so.1 => not found\n", "program": "\tlibruntime.so.1 => /bin/ls (0x0000)\n"}
        with mock.patch.object(shared_libraries, "_ask_loader", says.get):
            self.assertIn("/usr/lib/libruntime.so.1", shared_libraries.closure(["opened", "program"]))
            with self.assertRaisesRegex(shared_libraries.MissingLibrary, "opened needs libruntime.so.1, which is not"):
                shared_libraries.closure(["opened"])

    def test_the_driver_of_the_machine_that_builds_stays_there(self):
        says = "\tlibcuda.so.1 => /bin/ls (0x0000)\n\tlibnvidia-ml.so.1 => not found\n\tlibc.so.6 => /bin/ls (0x0000)\n"
        with mock.patch.object(shared_libraries, "_ask_loader", lambda _: says):
            self.assertEqual({"/usr/lib/libc.so.6"}, shared_libraries.closure(["program"]).keys())

    def test_the_licences_of_the_libraries_come_along(self):
        texts = shared_libraries.licence_texts(shared_libraries.closure([PROGRAM]).values())
        self.assertIn("/usr/share/doc/libc6/copyright", texts)

    def test_the_licences_of_what_is_compiled_in_come_along(self):
        paths = self.paths_of_cuda()
        for place in ("libprotobuf-dev/copyright", "libhwy-dev/copyright", "libcli11-dev/copyright", "crate-1.2/LICENSE", "uplot/LICENSE"):
            self.assertIn(f"/usr/share/doc/{place}", paths)

    def test_what_has_no_licence_here_is_told(self):
        with self.assertRaisesRegex(ValueError, "rust/licences, .* is not there: ./dev build"):
            compiled_in.licence_texts(self.folder)
        self.build_crate()
        with mock.patch.object(compiled_in, "PACKAGES", ("no-such-dev",)):
            with self.assertRaisesRegex(ValueError, "no-such-dev/copyright, .* is not on this machine: ./dev setup"):
                compiled_in.licence_texts(self.folder)

    def build_crate(self) -> None:
        """As rust/CMakeLists.txt leaves its licence."""
        licence = self.folder / "rust/licences/crate-1.2/LICENSE"
        licence.parent.mkdir(parents=True, exist_ok=True)
        licence.write_text("MIT")

    def paths_of_cuda(self, **other: tuple[str, ...]) -> set[str]:
        """In the image of a build that is there, whose libraries open nothing by name."""
        for file in ("bin/caravan-agent", "bin/caravan-trainer", "lib/libcaravan_cuda.so", "lib/libcaravan_device_cuda.so"):
            (self.folder / file).parent.mkdir(exist_ok=True)
            shutil.copy(PROGRAM, self.folder / file)
        self.build_crate()
        description = dataclasses.replace(images.CUDA_WORKER, **({"opened": (), "read": ()} | other))
        return {entry.path for entry in itertools.chain(*images.layers_of(description, self.folder, self.folder / "bin"))}

    def test_cuda_comes_with_its_code_and_the_libraries_of_that(self):
        wanted = {"/usr/lib/libcaravan_cuda.so", "/usr/lib/libcaravan_device_cuda.so", "/usr/lib/libc.so.6"}
        self.assertLessEqual(wanted, self.paths_of_cuda())

    def test_what_libraries_open_and_read_by_name_comes_along(self):
        (self.folder / "etc").mkdir()
        (self.folder / "etc/mlx5.driver").write_text("driver mlx5")
        self.assertNotIn("/usr/lib/libm.so.6", self.paths_of_cuda())
        paths = self.paths_of_cuda(opened=("libm.so.?",), read=(f"{self.folder}/etc/*.driver".lstrip("/"),))
        self.assertLessEqual({"/usr/lib/libm.so.6", f"{self.folder}/etc/mlx5.driver"}, paths)
        for field in ("opened", "read"):
            with self.assertRaisesRegex(ValueError, r"caravan-worker-cuda needs nothing/\*\.so, which is not on this machine"):
                self.paths_of_cuda(**{field: ("nothing/*.so",)})

    def test_the_worker_for_gpus_looks_for_the_driver_where_nodes_put_it(self):
        with mock.patch.multiple(images, install_programs=mock.DEFAULT, version_of=lambda _: "1", layers_of=lambda *_: []), \
                contextlib.redirect_stdout(io.StringIO()):
            images.write_all([images.WORKER, images.CUDA_WORKER], self.folder, self.folder, "localhost")
        path = b'"LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/lib64"'
        self.assertIn(path, (self.folder / "caravan-worker-cuda.tar").read_bytes())
        self.assertNotIn(path, (self.folder / "caravan-worker.tar").read_bytes())

    def test_cuda_without_the_code_for_it_says_what_is_missing(self):
        with self.assertRaisesRegex(ValueError, r"caravan-worker-cuda needs .*/lib/libcaravan_device_cuda\.so"):
            images.layers_of(images.CUDA_WORKER, self.folder, self.folder)

    def test_programs_that_are_not_built_are_told(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(1, images.main([str(self.folder), str(self.folder / "out")]))
        self.assertIn("the programs are not built in", said.getvalue())


if __name__ == "__main__":
    unittest.main()
