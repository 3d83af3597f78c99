"""Has the tests import the client from its wheel, as its users do."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(next(Path(os.environ["WHEELS"]).glob("caravan_client-*.whl"))))
