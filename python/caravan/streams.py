"""Streams of the service that outlive its replicas and the caller's tokens."""

import time
from typing import Callable, Iterator, TypeVar

import grpc
from google.protobuf.message import Message

from caravan.errors import CaravanError, NotFoundError, told_as_ours

BEGIN_ANEW = "RESUME_TOKEN_TOO_OLD"  # what a watch is told that can only start without its token
PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)  # the latter: its API server is slow
GO_ON = "SLOW_READER"  # what a watch is told that was dropped, and loses nothing by it
PAUSES_SECONDS = (0.2, 0.5, 1, 2, 5, 5, 5, 5, 10, 10)  # without a word from the service, before a stream gives up
LATE_SECONDS = 30  # a replica may hear of a new job later than who made it
Response = TypeVar("Response", bound=Message)


def _may_pass(error: CaravanError) -> bool:
    return error.code in PASSING or error.reason == GO_ON


def _once(method: Callable, request: Message, end: float | None) -> Iterator[Response]:
    call = method(request, timeout=None if end is None else max(0, end - time.monotonic()))
    try:
        with told_as_ours():
            yield from call
    finally:
        call.cancel()


def resumed(
    method: Callable, request: Message, place: str, timeout: float | None, *,
    ends: bool, shown: Callable[[], str], may_be_late: bool = True,
) -> Iterator[tuple[bool, Response]]:  # fmt: skip
    """What the method tells, with whether it began anew just before; gone on with behind the last response when a replica goes,
    or the caller's token has ended. place: the field of request and response that says where. ends: the stream is over when the
    service ends it in order. shown: the caller's token, now. may_be_late: what is not found may yet reach the replica that was
    asked. TimeoutError after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    late_until = time.monotonic() + (LATE_SECONDS if may_be_late else 0)
    failures = 0

    def is_late(error: CaravanError) -> bool:
        return isinstance(error, NotFoundError) and not getattr(request, place) and time.monotonic() < late_until

    while True:
        is_anew = not getattr(request, place)
        token, is_let_in = shown(), False
        try:
            for response in _once(method, request, end):
                setattr(request, place, getattr(response, place))
                is_let_in, failures = True, 0
                yield is_anew, response
                is_anew = False
            if ends:
                return
        except CaravanError as error:
            if error.code is grpc.StatusCode.DEADLINE_EXCEEDED and end is not None and time.monotonic() >= end:
                raise TimeoutError(f"{timeout} s are over") from None
            if error.reason == BEGIN_ANEW:
                setattr(request, place, "")
            elif error.code is grpc.StatusCode.UNAUTHENTICATED and (is_let_in or shown() != token):
                failures = 0  # it has ended, and may have been renewed
            elif not (_may_pass(error) or is_late(error)) or failures == len(PAUSES_SECONDS) - 1:
                raise
        time.sleep(PAUSES_SECONDS[min(failures, len(PAUSES_SECONDS) - 1)])
        failures += 1
