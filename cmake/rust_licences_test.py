"""Which licences rust_licences.py copies, with a cargo and a rustc that know three crates."""

import json
import pathlib
import tempfile
import unittest

import rust_licences


class RustLicences(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("rustc", f'#!/bin/sh\n[ "$1" != --print=sysroot ] || echo {self.folder}/rust\n').chmod(0o755)
        self.write("cargo", f"#!/bin/sh\ncat {self.folder}/metadata\n").chmod(0o755)

    def write(self, name: str, text: str = "") -> pathlib.Path:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        return self.folder / name

    def crate(self, name: str, *texts: str, source: str | None = "registry") -> dict[str, str | None]:
        for text in texts:
            self.write(f"{name}/{text}", f"{text} of {name}")
        return {"name": name, "version": "1.2", "source": source, "manifest_path": str(self.write(f"{name}/Cargo.toml"))}

    def copied(self, *crates: dict[str, str | None]) -> set[str]:
        self.write("metadata", json.dumps({"packages": crates}))
        rust_licences.main(str(self.folder / "cargo"), "Cargo.toml", str(self.folder / "licences"))
        return {str(path.relative_to(self.folder / "licences")) for path in (self.folder / "licences").glob("*/*")}

    def test_are_those_of_each_crate_but_ours_or_the_manifest_that_names_one(self) -> None:
        ours = self.crate("ours", "LICENSE", source=None)
        named, own = self.crate("named", "README.md"), self.crate("own", "LICENSE-MIT", "license-apache", "README.md")
        self.assertEqual(self.copied(ours, named, own), {"named-1.2/Cargo.toml", "own-1.2/LICENSE-MIT", "own-1.2/license-apache"})
        self.assertEqual((self.folder / "licences/own-1.2/LICENSE-MIT").read_text(), "LICENSE-MIT of own")
        self.assertEqual(self.copied(named), {"named-1.2/Cargo.toml"}, "what was compiled in once")

    def test_have_those_of_the_library_of_rust_from_rustup_or_debian(self) -> None:
        self.write("rust/share/doc/rust/COPYRIGHT-library.html")
        self.write("rust/share/doc/libstd-rust-web-dev/copyright")
        self.assertEqual(self.copied(), {"rust/COPYRIGHT-library.html", "rust/copyright"})


if __name__ == "__main__":
    unittest.main()
