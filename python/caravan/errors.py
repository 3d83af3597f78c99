"""What the service answers when it does not do what it was asked for."""

import contextlib
from dataclasses import dataclass
from typing import Iterator

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

DETAILS = "grpc-status-details-bin"


@dataclass(frozen=True)
class Violation:
    """One mistake of a request."""

    field: str  # such as job.spec.training.steps
    description: str


class CaravanError(Exception):
    """Any error of the service; its text is for people."""

    def __init__(self, code: grpc.StatusCode, reason: str, message: str, violations: tuple[Violation, ...] = ()):
        lines = [message, *(f"  {violation.field}: {violation.description}" for violation in violations)]
        super().__init__("\n".join(lines))
        self.code = code
        self.reason = reason  # stable, for programs, such as QUOTA_EXCEEDED; empty where no service answered
        self.violations = violations


class InvalidError(CaravanError):
    """The request has mistakes: see violations."""


class NotFoundError(CaravanError):
    """There is no such job."""


class NotPermittedError(CaravanError):
    """The service does not know who calls, or he may not do this."""


KINDS = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.PERMISSION_DENIED: NotPermittedError,
    grpc.StatusCode.UNAUTHENTICATED: NotPermittedError,
}


def _details_of(error: grpc.RpcError) -> status_pb2.Status:
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS:
            with contextlib.suppress(DecodeError):  # of a proxy's own making
                return status_pb2.Status.FromString(value)
    return status_pb2.Status()


def error_of(error: grpc.RpcError) -> CaravanError:
    reason, violations = "", []
    for detail in _details_of(error).details:
        info, bad_request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad_request):
            violations += (Violation(found.field, found.description) for found in bad_request.field_violations)
    kind = KINDS.get(error.code(), CaravanError)
    return kind(error.code(), reason, error.details() or error.code().name, tuple(violations))


@contextlib.contextmanager
def told_as_ours() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(error) from None
