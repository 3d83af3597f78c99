"""What one user asked of an API server, from its audit log (of the level Metadata)."""

import collections
import json
import os
import pathlib


class Audit:
    """Reads on where it stopped, since a log of many jobs is long; the API server begins a new one now and then."""

    def __init__(self, log: pathlib.Path, user: str):
        self.log, self.user, self.file = log, user, log.open("rb")

    def since_last(self) -> collections.Counter:
        """Calls that ended, by verb and resource."""
        calls = self._read_on()
        while os.fstat(self.file.fileno()).st_ino != self.log.stat().st_ino:
            calls += self._read_on()  # what was written before it was renamed
            self.file.close()
            self.file = self.log.open("rb")
            calls += self._read_on()
        return calls

    def _read_on(self) -> collections.Counter:
        calls = collections.Counter()
        for line in self.file:
            if not line.endswith(b"\n"):  # being written
                self.file.seek(-len(line), os.SEEK_CUR)
                break
            calls.update(self._calls(json.loads(line)))
        return calls

    def _calls(self, event: dict) -> list[str]:
        asked = event.get("objectRef")
        if event["user"]["username"] != self.user or event["stage"] != "ResponseComplete" or asked is None:
            return []
        names = (asked["resource"], asked.get("subresource"))
        return [f"{event['verb']} {'/'.join(name for name in names if name)}"]
