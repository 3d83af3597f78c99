"""The rights that install.yaml gives are those that the operator needed for all that the other tests did, and no more."""

import subprocess
import sys
import tempfile
import unittest

from cluster import FOLDER, OPERATOR_NAMESPACE, kubectl

KINDS = "clusterroles,clusterrolebindings,roles,rolebindings"


class Rights(unittest.TestCase):
    def test_every_right_was_used_and_none_was_missing(self):
        with tempfile.NamedTemporaryFile("w") as rights:
            rights.write(kubectl("get", KINDS, "--all-namespaces", "-o", "json"))
            rights.flush()
            run = subprocess.run([sys.executable, "rbac_usage.py", FOLDER / "audit.log", rights.name,
                                  f"{OPERATOR_NAMESPACE}/caravan-operator"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
