"""What was packed runs on a machine that has nothing else: from a root that holds the few Debian packages that it asks for.

Environment: PACKAGES, the folder with the .deb and the .tar.gz. Exit code 77 where no root can be changed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PACKAGES = Path(os.environ["PACKAGES"])
BASE = ("base-files", "libc6", "libgcc-s1", "gcc-12-base", "libstdc++6")
CHANGE_ROOT = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
if os.geteuid() != 0:
    CHANGE_ROOT += ["--user", "--map-root-user"]
MOUNT = 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
COMPLETIONS = ("bash-completion/completions/caravan", "zsh/vendor-completions/_caravan", "fish/vendor_completions.d/caravan.fish")
TEXT = "In the beginning God created the heaven and the earth. " * 400


def the_only(pattern: str) -> Path:
    found = list(PACKAGES.glob(pattern))
    assert len(found) == 1, f"{pattern} in {PACKAGES}: {found}"
    return found[0]


def add_package(root: Path, name: str) -> None:
    """As it is installed here."""
    files = subprocess.run(["dpkg", "-L", name], check=True, capture_output=True, text=True).stdout.splitlines()
    for file in map(Path, files):
        place = root / file.relative_to("/")
        if file.is_dir() and not file.is_symlink():
            place.mkdir(parents=True, exist_ok=True)
        elif file.exists() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place, follow_symlinks=False)


class BareMachine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("bin", "lib", "lib64", "sbin"):  # one tree, as on every Debian since 12
            (self.root / "usr" / name).mkdir(parents=True)
            (self.root / name).symlink_to(f"usr/{name}")
        for name in ("dev", "proc", "tmp", "work"):
            (self.root / name).mkdir()
        for name in BASE:
            add_package(self.root, name)
        (self.root / "work/text").write_text(TEXT)

    def run_there(self, *command: str) -> str:
        done = subprocess.run([*CHANGE_ROOT, "sh", "-c", MOUNT, self.root, *command], capture_output=True, text=True,
                              env={"TMPDIR": "/tmp", "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def trains_and_goes_on(self, prefix: str) -> None:
        caravan = f"{prefix}/bin/caravan"
        self.run_there(caravan, "data", "tokenize", "--tokenizer", "byte", "/work/text", "--to", "/work/kjv.bin")
        told = self.run_there(caravan, "run", f"{prefix}/share/caravan/examples/quickstart.yaml", "--volume", "corpus=/work",
                              "--set", "spec.training.steps=2", "--set", "spec.training.optimizer.warmupSteps=1",
                              "--set", "spec.checkpoint.path=/work/states", "-o", "text")
        self.assertRegex(told, r"step 2/2 +loss \d")
        self.run_there(caravan, "generate", "/work/states", "--prompt", "And", "--max-tokens", "4")
        for program in ("caravan-operator", "caravan-service"):
            self.assertIn(program, self.run_there(f"{prefix}/bin/{program}", "--version"))
        licences = {path.parent.name for path in (self.root / prefix[1:] / "share/doc/caravan/libraries").glob("*/*")}
        self.assertLess({"libgrpc29", "libprotobuf-dev", "libssl3", "rust", "uplot"}, licences)
        for wheel_or_crate in ("torch-", "tokenizers-"):
            self.assertTrue([name for name in licences if name.startswith(wheel_or_crate)], wheel_or_crate)
        share = self.root / prefix[1:] / "share"
        for file in COMPLETIONS:
            self.assertIn("caravan", (share / file).read_text(), file)
        pages = share / "doc/caravan"
        for link in re.findall(r"\]\(([^)#:]+)", (pages / "README.md").read_text()):
            self.assertTrue((pages / link).exists(), link)
        for page in (*pages.glob("*.md"), *pages.glob("docs/user/*.md")):
            for link in re.findall(r"\]\(((?:\.\./)*(?:deploy|examples)/[^)#]+)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")
        for file in ("examples/kubernetes.yaml", "deploy/install.yaml", "deploy/helm/caravan/Chart.yaml"):
            self.assertTrue((pages / file).exists(), f"what commands of the pages name: {file}")

    def all_may_read(self, tree: Path) -> None:
        for path in tree.rglob("*"):
            wanted = 0o555 if path.is_dir() else 0o444
            self.assertEqual(path.lstat().st_mode & wanted, wanted, path)

    def test_of_the_archive_from_any_folder(self):
        subprocess.run(["tar", "xzpf", the_only("caravan-*.tar.gz"), "-C", self.root / "work"], check=True)
        tree = next((self.root / "work").glob("caravan-*"))
        self.all_may_read(tree)
        tree.rename(self.root / "work/anywhere")
        self.trains_and_goes_on("/work/anywhere")

    def test_of_the_debian_package(self):
        package = the_only("caravan_*.deb")
        asked = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True, text=True).stdout
        self.assertLessEqual(set(re.findall(r"([a-z0-9+-]+) \(", asked)), set(BASE))
        subprocess.run(["dpkg-deb", "--extract", package, self.root / "work/package"], check=True)
        self.all_may_read(self.root / "work/package")
        for path in (self.root / "work/package/usr").iterdir():
            shutil.copytree(path, self.root / "usr" / path.name, dirs_exist_ok=True, symlinks=True)
        self.trains_and_goes_on("/usr")


if __name__ == "__main__":
    if subprocess.run([*CHANGE_ROOT, "true"], capture_output=True).returncode != 0:
        print("no other root can be made here")
        sys.exit(77)
    unittest.main(verbosity=2)
