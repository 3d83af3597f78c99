"""Calls that wait while the service is busy."""

import time

import grpc
from google.protobuf.message import Message

from caravan.connection import RETRIED
from caravan.errors import CaravanError, told_as_ours
from caravan.v1alpha1 import job_service_pb2_grpc

PATIENCE_SECONDS = 60  # as the command line has
SHORTEST_PAUSE_SECONDS = 0.2


def _may_have_created(method: str, request: Message, error: CaravanError) -> bool:
    return method == "CreateJob" and not request.validate_only and error.code is grpc.StatusCode.DEADLINE_EXCEEDED


def answer_of(stub: job_service_pb2_grpc.JobServiceStub, method: str, request: Message) -> Message:
    """Asked for again when the service says, if that may be done and is soon enough, and when it is late to say whether it has
    created a job."""
    end = time.monotonic() + PATIENCE_SECONDS
    may_be_created = False
    while True:
        try:
            with told_as_ours():
                return getattr(stub, method)(request)
        except CaravanError as error:
            wait = error.retry_after if method in RETRIED else None
            if _may_have_created(method, request, error):
                may_be_created, wait = True, 0.0  # the same request finds that job
            if wait is None or time.monotonic() + wait > end:
                if may_be_created:
                    error.add_note("the job may have been created: jobs() shows it then")
                raise
        time.sleep(max(SHORTEST_PAUSE_SECONDS, wait))
