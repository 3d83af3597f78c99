"""What the writer promises: the same files give the same bytes, each blob is what its name says, root owns all."""

import contextlib
import hashlib
import io
import json
import os
import tarfile
import tempfile
import unittest
from pathlib import Path

import oci_image


class OciImage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, content: str, mode: int = 0o644) -> Path:
        path = self.folder / name
        path.write_text(content)
        path.chmod(mode)
        return path

    def write(self, name: str, *files: str) -> Path:
        out = self.folder / name
        arguments = [str(out), "--name", "localhost/demo:1", "--entrypoint", "/usr/bin/demo", "--label", "a=b"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as self.said:
            self.status = oci_image.main(arguments + [part for file in files for part in ("--file", file)])
        return out

    def blobs(self, image: Path) -> dict[str, bytes]:
        with tarfile.open(image) as archive:
            return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}

    def manifest(self, blobs: dict[str, bytes]) -> dict:
        return self.blob(blobs, json.loads(blobs["index.json"])["manifests"][0])

    def blob(self, blobs: dict[str, bytes], descriptor: dict) -> dict:
        return json.loads(blobs["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")])

    def layer(self, image: Path) -> list[tarfile.TarInfo]:
        blobs = self.blobs(image)
        digest = self.manifest(blobs)["layers"][0]["digest"].removeprefix("sha256:")
        with tarfile.open(fileobj=io.BytesIO(blobs[f"blobs/sha256/{digest}"])) as layer:
            return layer.getmembers()

    def test_the_same_files_give_the_same_bytes(self):
        first, second = self.file("first", "text", 0o755), self.file("second", "text", 0o700)
        os.utime(second, (1, 1))
        data = self.file("data", "more")
        one = self.write("one.tar", f"{first}=/usr/bin/demo", f"{data}=/usr/share/data")
        two = self.write("two.tar", f"{data}=/usr/share/data", f"{second}=usr/bin/demo")
        self.assertEqual(one.read_bytes(), two.read_bytes())

    def test_another_content_gives_another_digest(self):
        one = self.write("one.tar", f"{self.file('demo', 'text')}=/demo")
        two = self.write("two.tar", f"{self.file('demo', 'test')}=/demo")
        self.assertNotEqual(one.read_bytes(), two.read_bytes())

    def test_every_blob_is_what_its_name_says(self):
        blobs = self.blobs(self.write("image.tar", f"{self.file('demo', 'text')}=/usr/bin/demo"))
        named = {name: content for name, content in blobs.items() if name.startswith("blobs/")}
        self.assertEqual(3, len(named))
        for name, content in named.items():
            self.assertEqual(name, "blobs/sha256/" + hashlib.sha256(content).hexdigest())

    def test_the_program_is_not_root(self):
        blobs = self.blobs(self.write("image.tar", f"{self.file('demo', 'text')}=/usr/bin/demo"))
        config = self.blob(blobs, self.manifest(blobs)["config"])["config"]
        self.assertEqual("65532:65532", config["User"])
        self.assertEqual(["/usr/bin/demo"], config["Entrypoint"])
        self.assertEqual({"a": "b"}, config["Labels"])

    def test_programs_find_what_the_image_says_beside_their_path(self):
        out = self.folder / "image.tar"
        oci_image.write_image(oci_image.Image("localhost/demo:1", "/demo", [], environment={"A": "b"}), out)
        blobs = self.blobs(out)
        self.assertEqual(["PATH=/usr/bin", "A=b"], self.blob(blobs, self.manifest(blobs)["config"])["config"]["Env"])

    def test_everything_belongs_to_root_and_nobody_else_may_write_it(self):
        open_to_all = self.file("demo", "text", 0o777)
        for member in self.layer(self.write("image.tar", f"{open_to_all}=/usr/bin/demo")):
            self.assertEqual((0, 0, "", "", 0), (member.uid, member.gid, member.uname, member.gname, member.mtime))
            self.assertEqual(0o755, member.mode, member.name)

    def test_folders_come_before_what_is_in_them(self):
        names = [m.name for m in self.layer(self.write("image.tar", f"{self.file('demo', 'text')}=/usr/bin/demo"))]
        self.assertEqual(["usr", "usr/bin", "usr/bin/demo"], names)

    def test_two_files_of_one_name_are_refused(self):
        file = self.file("demo", "text")
        out = self.write("image.tar", f"{file}=/demo", f"{file}=demo")
        self.assertEqual(1, self.status)
        self.assertIn("two entries want to be /demo", self.said.getvalue())
        self.assertFalse(out.exists())

    def test_a_missing_file_leaves_nothing_behind(self):
        self.write("image.tar", f"{self.folder}/absent=/demo")
        self.assertEqual(1, self.status)
        self.assertIn("absent", self.said.getvalue())
        self.assertEqual([], list(self.folder.iterdir()))

    def test_a_name_without_a_tag_is_refused(self):
        for name in ("demo", "localhost:5000/demo", ":1"):
            with self.assertRaises(SystemExit) as refusal, contextlib.redirect_stderr(io.StringIO()):
                oci_image.main(["out.tar", "--name", name, "--entrypoint", "/demo"])
            self.assertEqual(2, refusal.exception.code, name)


if __name__ == "__main__":
    unittest.main()
