"""What is missing to reach the service, and what a call carries."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import installed_client  # noqa: F401

import caravan
from caravan.connection import Bearer

COMPLETE = {"CARAVAN_SERVER": "localhost:1", "CARAVAN_TOKEN": "secret", "CARAVAN_NAMESPACE": "team"}


class Connection(unittest.TestCase):
    def connect(self, **environment: str) -> caravan.Client:
        with mock.patch.dict(os.environ, environment, clear=True):
            return caravan.connect()

    def is_refused(self, what: str, **environment: str) -> None:
        with self.assertRaisesRegex(caravan.MisconfiguredError, what):
            self.connect(**environment)

    def test_what_is_missing_is_named(self):
        for missing in COMPLETE:
            self.is_refused(missing, **{name: value for name, value in COMPLETE.items() if name != missing})

    def test_the_environment_is_enough(self):
        with self.connect(**COMPLETE) as client:
            self.assertEqual("namespaces/team", client.parent)

    def test_files_that_cannot_be_read_are_told_at_once(self):
        self.is_refused("token.*/nowhere", **COMPLETE | {"CARAVAN_TOKEN": "", "CARAVAN_TOKEN_FILE": "/nowhere"})
        self.is_refused("authority.*/nowhere", **COMPLETE, CARAVAN_ROOT_FILE="/nowhere")

    def test_a_token_that_is_renewed_in_its_file_is_the_next_calls(self):
        shown = []
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "token")
            bearer = Bearer(None, str(file))
            for token in ("first", "second"):
                file.write_text(token + "\n")
                bearer(None, lambda metadata, error: shown.append((metadata, error)))
        self.assertEqual([((("authorization", f"Bearer {token}"),), None) for token in ("first", "second")], shown)

    def test_a_token_is_in_no_text_of_the_client(self):
        with self.connect(**COMPLETE) as client:
            self.assertNotIn("secret", f"{client!r} {vars(client)}")


if __name__ == "__main__":
    unittest.main()
