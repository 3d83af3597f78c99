"""What one user asked of an API server, from its audit log (of the level Metadata)."""

import collections
import json
import pathlib


class Audit:
    """Reads on where it stopped, since a log of many jobs is long."""

    def __init__(self, log: pathlib.Path, user: str):
        self.log, self.user, self.at = log, user, 0

    def since_last(self) -> collections.Counter:
        """Calls that ended, by verb and resource."""
        calls = collections.Counter()
        with self.log.open("rb") as file:
            file.seek(self.at)
            for line in file:
                if not line.endswith(b"\n"):  # being written
                    break
                self.at += len(line)
                calls.update(self._calls(json.loads(line)))
        return calls

    def _calls(self, event: dict) -> list[str]:
        asked = event.get("objectRef")
        if event["user"]["username"] != self.user or event["stage"] != "ResponseComplete" or asked is None:
            return []
        names = (asked["resource"], asked.get("subresource"))
        return [f"{event['verb']} {'/'.join(name for name in names if name)}"]
