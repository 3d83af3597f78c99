"""How to reach the service, and as whom."""

import ipaddress
import json
import os
import re
from pathlib import Path

import grpc

# In a pod: the namespace that it lives in.
POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

# A replica of the service may go at any time; these calls may be made again on another one.
RETRIED = ("CreateJob", "GetJob", "ListJobs", "SuspendJob", "ResumeJob", "CancelJob", "CheckpointNow", "ListEvents",
           "ListCheckpoints", "EstimateJob", "GetCapacity")  # fmt: skip
SERVICE_CONFIG = {
    "methodConfig": [{
        "name": [{"service": "caravan.v1alpha1.JobService", "method": method} for method in RETRIED],
        "retryPolicy": {
            "maxAttempts": 5, "initialBackoff": "0.2s", "maxBackoff": "5s", "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        },
    }],
}  # fmt: skip
OPTIONS = (
    ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
    ("grpc.keepalive_time_ms", 60_000),  # a watch may be silent for long
    ("grpc.http2.max_pings_without_data", 0),  # any number of them
)


class MisconfiguredError(Exception):
    """What is missing to reach the service, and how to give it."""


class Bearer(grpc.AuthMetadataPlugin):
    """A file goes before a token, as in the command line, and is read for each call: tokens of a cluster's accounts are
    renewed in theirs."""

    def __init__(self, token: str | None, file: str | None):
        self._token, self._file = token, file

    def read(self) -> str:
        """OSError or ValueError where there is none."""
        token = (Path(self._file).read_text() if self._file else self._token).strip()
        if not re.fullmatch("[!-~]+", token):
            raise ValueError(f"one line of visible characters is expected in {self._file or 'it'}")
        return token

    def now(self) -> str:
        """Empty while the file has none."""
        try:
            return self.read()
        except (OSError, ValueError):
            return ""

    def __call__(self, context: grpc.AuthMetadataContext, callback: grpc.AuthMetadataPluginCallback) -> None:
        try:
            callback((("authorization", f"Bearer {self.read()}"),), None)
        except (OSError, ValueError) as error:
            callback((), error)


def read_roots(file: str | None) -> bytes | None:
    """None: those that gRPC trusts."""
    try:
        return Path(file).read_bytes() if file else None
    except OSError as error:
        raise MisconfiguredError(f"the service's authority cannot be read: {error}") from None


def bearer_of(token: str | None, token_file: str | None) -> Bearer:
    if not token and not token_file:
        token, token_file = os.environ.get("CARAVAN_TOKEN"), os.environ.get("CARAVAN_TOKEN_FILE")
    bearer = Bearer(token, token_file)
    if not token and not token_file:
        raise MisconfiguredError(
            "no token: give token or token_file, or set CARAVAN_TOKEN or CARAVAN_TOKEN_FILE; `kubectl create token ACCOUNT "
            "--audience caravan --audience https://kubernetes.default.svc` makes one, if that is your API server's own audience"
        )
    try:
        bearer.read()
    except (OSError, ValueError) as error:
        raise MisconfiguredError(f"the token cannot be read: {error}") from None
    return bearer


def is_loopback(server: str) -> bool:
    host = server.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_channel(server: str | None, bearer: Bearer, root_file: str | None, server_name: str | None) -> grpc.Channel:
    server = server or os.environ.get("CARAVAN_SERVER")
    if not server:
        raise MisconfiguredError("no server: give HOST:PORT of the job service, or set CARAVAN_SERVER")
    tls = grpc.ssl_channel_credentials(read_roots(root_file or os.environ.get("CARAVAN_ROOT_FILE")))
    credentials = grpc.composite_channel_credentials(tls, grpc.metadata_call_credentials(bearer))
    server_name = server_name or os.environ.get("CARAVAN_SERVER_NAME")
    named = (("grpc.ssl_target_name_override", server_name),) if server_name else ()
    # The proxy of the environment is another machine, to which this one's loopback is another.
    direct = (("grpc.enable_http_proxy", 0),) if is_loopback(server) else ()
    return grpc.secure_channel(server, credentials, OPTIONS + named + direct)


def namespace_of(namespace: str | None) -> str:
    namespace = namespace or os.environ.get("CARAVAN_NAMESPACE")
    if not namespace and POD_NAMESPACE.exists():
        namespace = POD_NAMESPACE.read_text().strip()
    if not namespace:
        raise MisconfiguredError("no namespace: give namespace, or set CARAVAN_NAMESPACE")
    return namespace
