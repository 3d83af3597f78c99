"""The scripts of tests/cluster, with programs of a cluster that wait for their end."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "cluster"


class Scripts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "CARAVAN_CACHE": str(self.folder / "cache"), "PATH": f"{self.folder}:{os.environ['PATH']}"}

    def write_program(self, path: pathlib.Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, name: str, *arguments: str | pathlib.Path) -> str:
        done = subprocess.run([SCRIPTS / name, *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.strip()

    def test_keep_an_api_server_that_runs_and_its_data(self) -> None:
        hangs = self.folder / "hangs"  # the server, until somebody has waited for a limited time; else it is ready
        curl = f'[ -e {hangs} ] || exit 0\ncase "$*" in *"-m 5 "*) rm {hangs} ;; esac\nexit 28\n'
        self.write_program(self.folder / "curl", f"#!/bin/sh\n{curl}")
        programs = pathlib.Path(self.run_script("build.sh"))
        for name in ("etcd", "kube-apiserver"):
            self.write_program(programs / name, f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
        api = self.folder / "api"
        self.addCleanup(self.run_script, "api.sh", "down", api)
        self.assertIn("ready: ", self.run_script("api.sh", "keep", api))
        (api / "data").touch()
        hangs.touch()
        self.assertIn(f"is up: {api}", self.run_script("api.sh", "keep", api))
        self.assertFalse(hangs.exists())
        self.assertTrue((api / "data").exists())
        self.assertIn("ready: ", self.run_script("api.sh", "up", api))
        self.assertFalse((api / "data").exists())

        os.kill(int((api / "etcd.pid").read_text()), signal.SIGKILL)
        self.assertIn("ready: ", self.run_script("api.sh", "keep", api))

    def test_tell_what_reads_the_environment_to_reach_a_cluster_without_a_proxy(self) -> None:
        tell = 'set -eu; source "$0"; for _ in 1 2; do eval "$(print_network_exception 10.128.0.0/16)"; sh -c \'echo "$NO_PROXY $no_proxy"\'; done'
        net = "10.128.0.0/16"
        for known, then in (({}, net), ({"NO_PROXY": "a.b", "no_proxy": "c.d"}, f"{net},a.b,c.d"), ({"no_proxy": "c.d"}, f"{net},c.d"),
                            ({"NO_PROXY": "*"}, "*"), ({"no_proxy": "*"}, "*"), ({"NO_PROXY": "a.b", "no_proxy": "*"}, "*"),
                            ({"no_proxy": net}, f"{net},{net}")):
            environment = {"PATH": os.environ["PATH"], **known}
            told = subprocess.run(["bash", "-c", tell, SCRIPTS / "programs.sh"], env=environment, check=True, capture_output=True, text=True).stdout
            self.assertEqual(told, f"{then} {then}\n" * 2, known)


if __name__ == "__main__":
    unittest.main()
