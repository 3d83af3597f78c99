"""./dev in a checkout whose programs say that they were called, and do little else."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "comm", "dirname", "env", "flock", "grep", "head", "id", "mkdir", "realpath", "rm", "sh", "sort", "tail")
READERS = ("awk", "cat", "sed")  # which read of a machine that a test makes, or of this one
SAY = 'echo "${0##*/} $*" >>"$CALLS"\n'
READ = 'for word; do shift; case $word in /proc/* | /sys/*) word=$MACHINE$word ;; esac; set -- "$@" "$word"; done; exec {} "$@"'
STUBS = {
    "apt-get": 'echo "apt-get $* SYSTEMD_OFFLINE=$SYSTEMD_OFFLINE" >>"$CALLS"\n[ "$1" = update ] || cat "$UNITS.new" >>"$UNITS"',
    "cargo": "echo cargo 9.9.9",
    "cmake": SAY + '[ "$1" != --build ]',  # which is where a verb ends
    "dpkg-query": "[ -e \"$UNITS\" ] || echo 'install ok installed'",
    "go": "",
    "nproc": "echo ${PROCESSORS:-1}",
    "npm": "",
    "sudo": 'exec "$@"',
    "systemctl": '[ "$1" != list-unit-files ] || exec cat "$UNITS"\n' + SAY,
}
SCRIPTS = {"wheels/wheels.py": "echo wheels", "page/page.sh": SAY, "dashboards/renderer/renderer.sh": SAY, "tests/cluster/build.sh": "echo bin",
           "tests/cluster/api.sh": SAY}


def write_program(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it may be a link to a program of this machine
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class OfACheckout(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.checkout, self.programs, self.calls, self.units = (self.folder / name for name in ("checkout", "programs", "calls", "units"))
        self.make_checkout(self.checkout)
        for name, text in SCRIPTS.items():
            write_program(self.checkout / name, text)
        self.programs.mkdir()
        for name in TOOLS:
            (self.programs / name).symlink_to(shutil.which(name))
        for name in READERS:
            self.add_program(name, READ.format(shutil.which(name)))
        for name, text in STUBS.items():
            self.add_program(name, text)

    def make_checkout(self, folder: pathlib.Path) -> None:
        folder.mkdir()
        for name in ("dev", "versions.env"):
            shutil.copy(SOURCES / name, folder)

    def add_program(self, name: str, text: str = "") -> None:
        write_program(self.programs / name, text)

    def lack_packages(self, *, bring_units: str = "") -> None:
        """Those of Debian, which install_packages installs; with them come units."""
        self.units.write_text("ssh.service enabled enabled\n")
        self.units.with_suffix(".new").write_text(bring_units)

    def make_machine(self, *, kilobytes: int, cgroup: str, limits: dict[str, str]) -> pathlib.Path:
        """What Linux tells of a machine, with the files of /sys/fs/cgroup."""
        machine = self.folder / "machine"
        shutil.rmtree(machine, ignore_errors=True)
        told = {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {kilobytes} kB", "proc/self/cgroup": f"1:name=systemd:/other\n{cgroup}"}
        for name, text in (told | {f"sys/fs/cgroup/{name}": text for name, text in limits.items()}).items():
            (machine / name).parent.mkdir(parents=True, exist_ok=True)
            (machine / name).write_text(f"{text}\n")
        return machine

    def run_dev(self, *arguments: str, umask: int = 0o077, **environment: str) -> tuple[int, str]:
        """The exit code, and what was said; `calls` has the programs."""
        self.calls.write_text("")
        told = {"PATH": str(self.programs), "HOME": str(self.folder), "CALLS": str(self.calls), "UNITS": str(self.units)}
        done = subprocess.run([self.checkout / "dev", *arguments], cwd=self.folder, env=told | environment, umask=umask, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def called(self, *beginning: str) -> list[list[str]]:
        """The words of each call that begins so, without the beginning."""
        words = [line.split() for line in self.calls.read_text().splitlines()]
        return [each[len(beginning):] for each in words if each[:len(beginning)] == list(beginning)]

    def installed(self) -> set[str]:
        return {word for call in self.called("apt-get", "install") for word in call}


class Building(OfACheckout):
    def test_begins_when_what_the_page_is_bundled_of_is_there(self) -> None:
        write_program(self.checkout / "fuzz/one_fuzz.cc", "")
        for verb in ("quickstart", "run job.yaml", "monitor", "build", "package", "image", "fuzz one"):
            said = self.run_dev(*verb.split())[1]
            first = [line.split()[:2] for line in self.calls.read_text().splitlines() if line.startswith(("page.sh install", "cmake --build"))]
            self.assertEqual(first[-2:], [["page.sh", "install"], ["cmake", "--build"]], f"{verb}: {said}")

    def test_takes_no_more_compilers_than_there_is_memory_for(self) -> None:
        gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        for asked, most in (({"PROCESSORS": "1"}, 1), ({"PROCESSORS": "100000"}, max(1, gigabytes / 2)), ({"JOBS": "100000"}, 100000)):
            said = self.run_dev("build", **asked)[1]
            jobs = int(self.called("cmake", "--build")[0][-1])
            self.assertTrue(1 <= jobs <= most, f"{asked}: {jobs}")
            self.assertEqual(jobs == 100000, "JOBS" in asked)
            is_told = f"building (release), {jobs} at a time, which there is memory for (JOBS=100000 for all processors)" in said
            self.assertEqual(is_told, asked == {"PROCESSORS": "100000"}, said)

    def test_takes_no_more_compilers_than_a_cgroup_that_it_is_in_has_memory_for(self) -> None:
        five_gigabytes = str(5 << 30)
        for cgroup, limits, jobs in (("0::/a/b/c", {"a/b/c/memory.max": "max"}, 31),
                                     ("0::/a/b/c", {"a/b/c/memory.max": five_gigabytes}, 2),
                                     ("0::/a/b/c", {"a/b/c/memory.max": "max", "a/b/memory.max": five_gigabytes, "a/memory.max": "max"}, 2),
                                     ("0::/a/b/c", {"a/b/c/memory.max": str(20 << 30), "a/memory.max": five_gigabytes}, 2),
                                     ("0::/", {"memory.max": five_gigabytes}, 2),
                                     ("4:memory:/a/b", {"memory/a/b/memory.limit_in_bytes": five_gigabytes}, 2),
                                     ("4:memory:/a/b", {"memory/a/memory.limit_in_bytes": five_gigabytes}, 2),
                                     ("4:memory:/of/the/host", {"memory/memory.limit_in_bytes": five_gigabytes}, 2),
                                     ("4:memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": str((1 << 63) - 4096)}, 31)):
            machine = self.make_machine(kilobytes=64000000, cgroup=cgroup, limits=limits)
            said = self.run_dev("build", PROCESSORS="100", MACHINE=str(machine))[1]
            self.assertIn(f"building (release), {jobs} at a time, which there is memory for", said, f"{cgroup}: {limits}")

    def test_says_nothing_of_memory_where_all_processors_compile(self) -> None:
        machine = str(self.make_machine(kilobytes=1000000, cgroup="0::/", limits={}))
        self.assertIn("building (release)\n", self.run_dev("build", PROCESSORS="1", MACHINE=machine)[1])
        self.assertIn("building (release), 1 at a time", self.run_dev("build", PROCESSORS="2", MACHINE=machine)[1])

    def test_writes_what_others_may_read(self) -> None:
        for umask, of_folders, of_files in ((0o077, 0o755, 0o644), (0o002, 0o775, 0o664)):
            shutil.rmtree(self.checkout / "build", ignore_errors=True)
            self.run_dev("build", umask=umask)
            for path in (self.checkout / "build", *(self.checkout / "build").rglob("*")):
                self.assertEqual(oct(path.stat().st_mode & 0o777), oct(of_folders if path.is_dir() else of_files), path)


class Training(OfACheckout):
    def test_writes_as_its_caller_would(self) -> None:
        self.add_program("cmake")
        for file in (self.checkout / "build/quickstart/kjv.bin", self.folder / ".cache/caravan/text/kjv.txt"):
            file.parent.mkdir(parents=True)
            file.write_text("In the beginning")
        for verb, program in (("run", "build/release/bin/caravan"), ("monitor", "dashboards/monitor.py")):
            write_program(self.checkout / program, 'echo "umask $(umask)" >>"$CALLS"')
            said = self.run_dev(verb)[1]
            self.assertEqual(self.called("umask"), [["0077"]], f"{verb}: {said}")


class Packages(OfACheckout):
    def test_replace_none_that_is_there(self) -> None:
        self.lack_packages()
        self.run_dev("build")
        self.assertIn("--no-remove", self.installed())
        self.assertLess({"g++", "git"}, self.installed())

    def test_with_an_older_rust_make_way_for_the_newer_one(self) -> None:
        self.lack_packages()
        self.add_program("cargo", "echo cargo 1.63.0")
        self.run_dev("build")
        calls = self.called("apt-get", "install")
        self.assertIn("rustc-web", self.installed())
        for call in calls:
            self.assertEqual("--no-remove" in call, "rustc-web" not in call, calls)

    def test_of_a_container_runtime_are_not_installed_beside_another(self) -> None:
        self.lack_packages()
        self.run_dev("cluster", "api")
        self.assertLess({"containerd", "runc", "curl"}, self.installed())
        for name in ("containerd", "runc"):
            self.add_program(name)
        self.run_dev("cluster", "api")
        self.assertIn("curl", self.installed())
        self.assertTrue({"containerd", "runc"}.isdisjoint(self.installed()), self.installed())

    def test_start_no_service_now_or_with_the_machine(self) -> None:
        self.lack_packages(bring_units="prometheus.service enabled enabled\n")
        self.run_dev("build")
        self.assertIn("SYSTEMD_OFFLINE=1", self.installed())
        self.assertEqual(self.called("systemctl"), [["disable", "prometheus.service"]])

    def test_are_installed_where_there_is_no_systemd(self) -> None:
        self.lack_packages()
        self.add_program("systemctl", "exit 127")
        self.run_dev("build")
        self.assertEqual(len(self.called("cmake", "--build")), 1)


class Paths(OfACheckout):
    def test_that_something_would_take_for_more_than_a_path_are_refused(self) -> None:
        for name in ("a b", "a:b", "a,b", "O'Brien", 'a"b', "a[b", "a]b", "a|b", "a$b", "a&b", "a;b", "a`b", "a(b", "a*b", "a\\b"):
            self.checkout = self.folder / name
            self.make_checkout(self.checkout)
            code, said = self.run_dev("help")
            self.assertEqual(code, 2, name)
            self.assertIn("the path of this checkout has a space or one of , : ; & | $ ` \" ' < > ( ) { } [ ] * ? \\: " + str(self.checkout), said)
        self.checkout = self.folder / "José-1.2_c++"
        self.make_checkout(self.checkout)
        self.assertEqual(self.run_dev("help")[0], 0)
        code, said = self.run_dev("help", CARAVAN_CACHE="/some where")
        self.assertEqual(code, 2)
        self.assertRegex(said, "CARAVAN_CACHE has a space .*: /some where\n$")

    def test_of_the_cache_are_taken_from_where_the_caller_is(self) -> None:
        self.run_dev("build", CARAVAN_CACHE="cache")
        self.assertTrue((self.folder / "cache").is_dir())
        self.assertFalse((self.checkout / "cache").exists())


if __name__ == "__main__":
    unittest.main()
