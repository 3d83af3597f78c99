"""Calls that wait while the service is busy."""

import time

from google.protobuf.message import Message

from caravan.connection import RETRIED
from caravan.errors import CaravanError, told_as_ours
from caravan.v1alpha1 import job_service_pb2_grpc

PATIENCE_SECONDS = 60  # as the command line has
SHORTEST_PAUSE_SECONDS = 0.2


def answer_of(stub: job_service_pb2_grpc.JobServiceStub, method: str, request: Message) -> Message:
    """Asked for again when the service says, if that may be done and is soon enough."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with told_as_ours():
                return getattr(stub, method)(request)
        except CaravanError as error:
            wait = error.retry_after
            if wait is None or method not in RETRIED or time.monotonic() + wait > end:
                raise
        time.sleep(max(SHORTEST_PAUSE_SECONDS, wait))
