"""What a service shows of itself."""

import subprocess
from pathlib import Path


def write_certificate(folder: Path, name: str) -> None:
    """folder/tls.crt, its own authority, and tls.key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", folder / "tls.key",
         "-out", folder / "tls.crt"],
        check=True, capture_output=True)  # fmt: skip
