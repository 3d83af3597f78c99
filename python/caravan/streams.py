"""Streams of the service that outlive its replicas and the caller's tokens."""

import logging
import math
import time
from typing import Callable, Iterator, TypeVar

import grpc
from google.protobuf.message import Message

from caravan.errors import CaravanError, NotFoundError, told_as_ours

LOG_GONE = "LOG_GONE"  # what comes next was rotated away, or its pod is gone
BEGIN_ANEW = ("RESUME_TOKEN_TOO_OLD", LOG_GONE)  # what a stream is told that can only start without its place
PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)  # the latter: its API server is slow
PAUSES_SECONDS = (0.2, 0.5, 1, 2, 5, 5, 5, 5, 10, 10)  # without a word from the service, before a stream gives up
LONGEST_PAUSE_SECONDS = 60  # whatever the service asks for
API_SERVER_AWAY = ("API_SERVER_AWAY", "TIMEOUT")  # so the service cannot ask who may read
API_SERVER_PAUSE_SECONDS = 5
LATE_SECONDS = 30  # a replica may hear of a new job later than who made it
Response = TypeVar("Response", bound=Message)
logger = logging.getLogger(__name__)


def _may_pass(error: CaravanError) -> bool:
    return error.retry_after is not None or error.code in PASSING


def _may_be_late(error: CaravanError, place: str | bytes, until: float) -> bool:
    return isinstance(error, NotFoundError) and not place and time.monotonic() < until


def _tell_away(error: CaravanError) -> bool:
    logger.warning("%s; it is asked again until it answers", error)
    return True


def _once(method: Callable, request: Message, end: float) -> Iterator[Response]:
    call = method(request, timeout=None if end == math.inf else max(0, end - time.monotonic()))
    try:
        with told_as_ours():
            yield from call
    finally:
        call.cancel()


def _sleep(seconds: float, end: float) -> None:
    time.sleep(max(0, min(seconds, end - time.monotonic())))


def resumed(
    method: Callable, request: Message, place: str, timeout: float | None, *,
    ends: bool, shown: Callable[[], str], may_be_late: bool = True, follows: bool = True,
) -> Iterator[tuple[bool, Response]]:  # fmt: skip
    """What the method tells, with whether it began anew just before; gone on with behind the last response when a replica goes,
    the caller's token has ended, or a busy service says when. place: the field of request and response that says where. ends: the
    stream is over when the service ends it in order. shown: the caller's token, now. may_be_late: what is not found may yet reach
    the replica that was asked. follows: through outages of the service's API server of any length. TimeoutError after `timeout`
    seconds."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    late_until = time.monotonic() + (LATE_SECONDS if may_be_late else 0)
    out_of_time = TimeoutError(f"{timeout} s are over")
    failures, is_away_told = 0, False
    while True:
        is_anew = not getattr(request, place)
        token, is_let_in, told_pause = shown(), False, 0.0
        try:
            for response in _once(method, request, end):
                setattr(request, place, getattr(response, place))
                is_let_in, failures, is_away_told = True, 0, False
                yield is_anew, response
                is_anew = False
            if ends:
                return
        except CaravanError as error:
            if error.code is grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() >= end:
                raise out_of_time from None
            told_pause = min(error.retry_after or 0.0, LONGEST_PAUSE_SECONDS)
            may_pass = _may_pass(error) or _may_be_late(error, getattr(request, place), late_until)
            if error.reason in BEGIN_ANEW and getattr(request, place):
                if error.reason == LOG_GONE:
                    logger.warning("%s; it goes on with what there is", error)
                setattr(request, place, "")
            elif error.code is grpc.StatusCode.UNAUTHENTICATED and (is_let_in or shown() != token):
                failures = 0  # it has ended, and may have been renewed
            elif follows and error.reason in API_SERVER_AWAY:
                failures, told_pause = 0, max(told_pause, API_SERVER_PAUSE_SECONDS)
                is_away_told = is_away_told or _tell_away(error)
            elif not may_pass or failures == len(PAUSES_SECONDS) - 1:
                raise
        _sleep(max(told_pause, PAUSES_SECONDS[min(failures, len(PAUSES_SECONDS) - 1)]), end)
        if time.monotonic() >= end:
            raise out_of_time
        failures += 1
