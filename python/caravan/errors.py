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

    def __init__(
        self, code: grpc.StatusCode, reason: str, message: str,
        violations: tuple[Violation, ...] = (), retry_after: float | None = None,
    ):  # fmt: skip
        lines = [message, *(f"  {violation.field}: {violation.description}" for violation in violations)]
        super().__init__("\n".join(lines))
        self.code = code
        self.reason = reason  # stable, for programs, such as QUOTA_EXCEEDED; empty where no service answered
        self.violations = violations
        self.retry_after = retry_after  # seconds after which to ask again; None: the service names none


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
    reason, violations, retry_after = "", [], None
    for detail in _details_of(error).details:
        info, bad_request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad_request):
            violations += (Violation(found.field, found.description) for found in bad_request.field_violations)
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToMilliseconds() / 1000
    kind = KINDS.get(error.code(), CaravanError)
    return kind(error.code(), reason, error.details() or error.code().name, tuple(violations), retry_after)


@contextlib.contextmanager
def told_as_ours() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(error) from None
