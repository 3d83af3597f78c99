"""Watches against a service that fails as a real one may: over a connection, by a script."""

import itertools
import threading
import time
import unittest
from concurrent import futures
from typing import Iterator
from unittest import mock

import installed_client  # noqa: F401

import grpc
from google.rpc import error_details_pb2, status_pb2

import caravan
from caravan import calls as calls_module
from caravan import client as client_module
from caravan import streams as streams_module
from caravan.v1alpha1 import job_pb2, job_service_pb2, job_service_pb2_grpc

Response = job_service_pb2.WatchJobsResponse
NAME = "namespaces/team/jobs/llama"


def job_at(step: int, uid: str = "u1", ended: str = "") -> job_service_pb2.Job:
    job = job_service_pb2.Job(name=NAME, uid=uid)
    job.object.status.progress.step = step
    job.object.status.progress.steps = 10
    job.object.status.progress.loss = "2.5"
    if ended:
        job.object.status.conditions.add(type=ended, status="True", reason="Because", message="it did")
    return job


def changed(step: int, uid: str = "u1", ended: str = "") -> Response:
    return Response(kind=Response.Changed, job=job_at(step, uid, ended), resume_token=f"t{step}")


def gone(uid: str = "u1") -> Response:
    return Response(kind=Response.Gone, job=job_service_pb2.Job(name=NAME, uid=uid), resume_token="gone")


COMPLETE = Response(kind=Response.Complete, resume_token="all")
SILENCE = object()  # until nobody listens


def metrics(*steps: int) -> job_service_pb2.StreamMetricsResponse:
    response = job_service_pb2.StreamMetricsResponse(cursor=f"t{max(steps, default=2)}")
    for step in steps:
        response.samples.add(attempt=1, step=step, loss=2.5, time="2026-01-02T03:04:05Z")
    return response


def logs(data: bytes, cursor: str, pod: str = "llama-0") -> job_service_pb2.StreamLogsResponse:
    return job_service_pb2.StreamLogsResponse(data=data, cursor=cursor, pod=pod)


class Failure(Exception):
    def __init__(self, code: grpc.StatusCode, reason: str = "", retry_after: float | None = None):
        super().__init__()
        self.code, self.reason, self.retry_after = code, reason, retry_after

    @property
    def status(self) -> status_pb2.Status:
        details = [error_details_pb2.ErrorInfo(reason=self.reason)]
        if self.retry_after is not None:
            details.append(error_details_pb2.RetryInfo())
            details[-1].retry_delay.FromMilliseconds(round(1000 * self.retry_after))
        status = status_pb2.Status(code=self.code.value[0])
        for detail in details:
            status.details.add().Pack(detail)
        return status


def busy(seconds: float) -> Failure:
    return Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "BUSY", seconds)


LATE = Failure(grpc.StatusCode.DEADLINE_EXCEEDED, "TIMEOUT")
API_SERVER_AWAY = Failure(grpc.StatusCode.UNAVAILABLE, "API_SERVER_AWAY")
EXPIRED = Failure(grpc.StatusCode.UNAUTHENTICATED, "BAD_TOKEN")


class Script(job_service_pb2_grpc.JobServiceServicer):
    """Answers each stream by the next of these lists, at whose end it ends in order, and each call by the first of its list."""

    def __init__(self, *streams: list):
        self.streams, self.tokens, self.have_tails, self.creations = list(streams), [], [], []

    def CreateJob(self, request, context):
        self.creations.append(request.request_id)
        return next(self.play("", context))

    def ListEvents(self, request, context):
        """A thousand, in pages of a hundred unless larger ones are asked for."""
        self.tokens.append(request.page_token)
        first = int(request.page_token or 0)
        end = first + (request.page_size or 100)
        events = [job_service_pb2.JobEventRecord(reason=str(number)) for number in range(first, min(end, 1000))]
        return job_service_pb2.ListEventsResponse(events=events, next_page_token=str(end) if end < 1000 else "")

    def GetJob(self, request, context):
        return next(self.play("", context))

    def DeleteJob(self, request, context):
        return next(self.play("", context))

    def WatchJobs(self, request, context):
        return self.play(request.resume_token, context)

    def StreamMetrics(self, request, context):
        return self.play(request.cursor, context)

    def StreamLogs(self, request, context):
        self.have_tails.append(request.HasField("tail_lines"))
        return self.play(request.cursor, context)

    def play(self, token, context):
        self.tokens.append(token)
        for step in self.streams.pop(0):
            if step is SILENCE:
                is_left = threading.Event()
                if context.add_callback(is_left.set):
                    is_left.wait()
                return
            if not isinstance(step, Failure):
                yield step
                continue
            context.set_trailing_metadata((("grpc-status-details-bin", step.status.SerializeToString()),))
            context.abort(step.code, "scripted")


class Watch(unittest.TestCase):
    def serve(self, *streams: list, tokens: Iterator[str] = itertools.repeat("same")) -> caravan.Job:
        server = grpc.server(futures.ThreadPoolExecutor(2))
        self.addCleanup(lambda: server.stop(None).wait())
        self.script = Script(*streams)
        job_service_pb2_grpc.add_JobServiceServicer_to_server(self.script, server)
        channel = grpc.insecure_channel(f"localhost:{server.add_insecure_port('localhost:0')}")
        server.start()
        self.client = caravan.Client(channel, "team", lambda: next(tokens))
        self.addCleanup(self.client.close)
        self.enterContext(mock.patch.object(streams_module, "PAUSES_SECONDS", (0, 0, 0)))
        self.enterContext(mock.patch.object(streams_module, "API_SERVER_PAUSE_SECONDS", 0))
        return caravan.Job(self.client, job_at(0))

    def test_a_job_is_waited_for(self):
        job = self.serve([changed(1), COMPLETE, changed(5), changed(10, ended="Complete")])
        self.assertTrue(job.wait().is_complete)
        self.assertEqual(10, job.progress.step)

    def test_a_model_flops_utilization_that_nobody_knows_is_none(self):
        at = job_at(3)
        at.object.status.progress.mfu_percent = "-"
        job = self.serve([Response(kind=Response.Changed, job=at), changed(10, ended="Complete")])
        self.assertEqual([(3, None)], [(each.progress.step, each.progress.mfu) for each in job.watch()][:1])

    def test_a_failed_job_raises_its_cause(self):
        job = self.serve([changed(3, ended="Failed")])
        with self.assertRaisesRegex(caravan.JobFailedError, "llama: Because: it did"):
            job.wait()

    def test_metrics_go_on_where_a_replica_left_off_and_end_with_the_stream(self):
        job = self.serve([metrics(1, 2), Failure(grpc.StatusCode.UNAVAILABLE)], [metrics(), metrics(3)])
        samples = list(job.metrics())
        self.assertEqual([1, 2, 3], [sample.step for sample in samples])
        self.assertEqual((2.5, None), (samples[0].loss, samples[0].mfu))
        self.assertEqual(["", "t2"], self.script.tokens)

    def test_logs_are_lines_however_they_are_cut(self):
        job = self.serve([logs(b"one\ntw", "c1"), logs(b"o\nthr\xff", "c2"), Failure(grpc.StatusCode.UNAVAILABLE)],
                         [logs(b"ee\nlast", "c3")])  # fmt: skip
        self.assertEqual(["one", "two", "thr\ufffdee", "last"], list(job.logs()))
        self.assertEqual(["", "c2"], self.script.tokens)

    def test_the_half_line_of_a_killed_pod_is_not_joined_with_its_successors(self):
        job = self.serve([logs(b"one\nha", "c1"), logs(b"", "c2"), logs(b"first\n", "c3", "llama-0-2")])
        self.assertEqual(["one", "ha", "first"], list(job.logs()))

    def test_a_log_whose_place_is_gone_begins_anew_with_a_warning(self):
        lost = Failure(grpc.StatusCode.OUT_OF_RANGE, "LOG_GONE")
        job = self.serve([logs(b"one\nha", "c1"), lost], [logs(b"nine\n", "c9")])
        with self.assertLogs("caravan", "WARNING"):
            self.assertEqual(["one", "ha", "nine"], list(job.logs(tail=1)))
        self.assertEqual(["", ""], self.script.tokens)
        self.assertEqual([True, False], self.script.have_tails)
        with self.assertRaises(caravan.CaravanError) as refused:
            list(self.serve([lost]).logs())
        self.assertEqual("LOG_GONE", refused.exception.reason)

    def test_a_job_without_a_pod_has_no_log_now(self):
        job = self.serve([Failure(grpc.StatusCode.NOT_FOUND, "NOT_FOUND")], [])
        with self.assertRaises(caravan.NotFoundError):
            list(job.logs(follow=False))
        self.assertEqual([""], self.script.tokens)

    def test_a_watch_goes_on_where_a_replica_left_off(self):
        job = self.serve(
            [changed(1), COMPLETE, changed(2), Failure(grpc.StatusCode.UNAVAILABLE)], [changed(3)], [changed(4, ended="Complete")]
        )
        self.assertEqual([1, 2, 3, 4], [state.progress.step for state in job.watch()])
        self.assertEqual(["", "t2", "t3"], self.script.tokens)

    def test_a_watch_that_cannot_go_on_begins_anew(self):
        job = self.serve([changed(1), Failure(grpc.StatusCode.OUT_OF_RANGE, "RESUME_TOKEN_TOO_OLD")],
                         [changed(2, ended="Complete")])  # fmt: skip
        job.wait()
        self.assertEqual(["", ""], self.script.tokens)

    def test_a_slow_api_server_is_not_the_end_of_a_wait(self):
        for timeout in (3600, None):
            job = self.serve([changed(1), Failure(grpc.StatusCode.DEADLINE_EXCEEDED, "TIMEOUT")], [changed(2, ended="Complete")])
            job.wait(timeout)
            self.assertEqual(["", "t1"], self.script.tokens)

    def test_a_wait_whose_own_time_is_over_ends(self):
        job = self.serve([changed(1), SILENCE], [SILENCE])
        with self.assertRaisesRegex(TimeoutError, "0.1 s are over"):
            job.wait(timeout=0.1)

    def test_a_stream_goes_on_when_the_token_that_it_was_opened_with_ends(self):
        job = self.serve([metrics(1), EXPIRED], [metrics(3), EXPIRED], [metrics(4)])
        self.assertEqual([1, 3, 4], [sample.step for sample in job.metrics()])
        self.assertEqual(["", "t1", "t3"], self.script.tokens)

    def test_a_silent_stream_goes_on_as_often_as_the_token_is_renewed(self):
        renewals = 3 * len(streams_module.PAUSES_SECONDS)
        tokens = (f"token {number}" for number in itertools.count())
        job = self.serve(*([EXPIRED] for _ in range(renewals)), [logs(b"line\n", "c1")], tokens=tokens)
        self.assertEqual(["line"], list(job.logs()))

    def test_who_is_unknown_is_told_at_once(self):
        job = self.serve([EXPIRED])
        with self.assertRaises(caravan.NotPermittedError):
            list(job.metrics())

    def test_who_is_refused_again_is_told_so(self):
        job = self.serve([metrics(1), EXPIRED], [EXPIRED])
        with self.assertRaises(caravan.NotPermittedError):
            list(job.metrics())
        self.assertEqual(["", "t1"], self.script.tokens)

    def test_a_replica_that_has_not_heard_of_a_new_job_is_asked_again(self):
        job = self.serve([Failure(grpc.StatusCode.NOT_FOUND, "NOT_FOUND")], [metrics(1)])
        self.assertEqual([1], [sample.step for sample in job.metrics()])

    def test_a_job_that_goes_while_it_is_read_is_told_at_once(self):
        job = self.serve([metrics(1), Failure(grpc.StatusCode.NOT_FOUND, "NOT_FOUND")])
        with self.assertRaises(caravan.NotFoundError):
            list(job.metrics())

    def test_a_stream_waits_as_long_as_a_busy_service_says(self):
        job = self.serve([metrics(1), busy(0.3)], [busy(0)], [metrics(3)])
        begin = time.monotonic()
        self.assertEqual([1, 3], [sample.step for sample in job.metrics()])
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)
        self.assertEqual(["", "t1", "t1"], self.script.tokens)

    def test_a_wait_for_a_busy_service_ends_with_its_own_time(self):
        job = self.serve([busy(3600)])
        begin = time.monotonic()
        with self.assertRaisesRegex(TimeoutError, "0.1 s are over"):
            job.wait(timeout=0.1)
        self.assertLess(time.monotonic() - begin, streams_module.LONGEST_PAUSE_SECONDS)

    def test_a_call_waits_as_long_as_a_busy_service_says(self):
        job = self.serve([busy(0.3)], [job_at(5)])
        begin = time.monotonic()
        self.assertEqual(5, job.refresh().progress.step)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_a_call_that_may_not_be_repeated_or_not_soon_is_refused_with_when_it_may(self):
        for ask, seconds in ((caravan.Job.delete, 0.3), (caravan.Job.refresh, calls_module.PATIENCE_SECONDS + 1)):
            job = self.serve([busy(seconds)])
            with self.assertRaises(caravan.CaravanError) as refused:
                ask(job)
            self.assertEqual(("BUSY", seconds), (refused.exception.reason, refused.exception.retry_after))

    def test_a_job_is_submitted_once_though_the_answer_is_late(self):
        self.serve([LATE], [job_at(0)])
        self.assertEqual("llama", self.client.submit(job_pb2.LlamaTrainingJob()).name)
        self.assertEqual((2, 1), (len(self.script.creations), len(set(self.script.creations))))

    def test_what_a_late_answer_leaves_open_is_said(self):
        self.enterContext(mock.patch.object(calls_module, "PATIENCE_SECONDS", 0))
        self.serve([LATE])
        with self.assertRaises(caravan.CaravanError) as late:
            self.client.submit(job_pb2.LlamaTrainingJob())
        self.assertIn("may have been created", late.exception.__notes__[0])

    def test_what_a_late_answer_leaves_open_is_said_whatever_comes_behind_it(self):
        self.serve([LATE], [API_SERVER_AWAY])
        with self.assertRaises(caravan.CaravanError) as away:
            self.client.submit(job_pb2.LlamaTrainingJob())
        self.assertEqual("API_SERVER_AWAY", away.exception.reason)
        self.assertIn("may have been created", away.exception.__notes__[0])

    def test_events_come_in_one_page_since_each_costs_the_service_a_look_at_all(self):
        job = self.serve()
        self.assertEqual([str(number) for number in range(1000)], [event.reason for event in job.events()])
        self.assertEqual([""], self.script.tokens)

    def test_what_no_later_try_mends_is_raised(self):
        job = self.serve([Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")])
        with self.assertRaises(caravan.CaravanError) as refused:
            job.wait()
        self.assertEqual("RATE_LIMITED", refused.exception.reason)
        job = self.serve([Failure(grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")])
        with self.assertRaises(caravan.NotPermittedError):
            job.wait()

    def test_a_service_that_stays_away_is_given_up(self):
        job = self.serve(*([Failure(grpc.StatusCode.UNAVAILABLE)] for _ in range(9)))
        with self.assertRaises(caravan.CaravanError) as away:
            job.wait()
        self.assertEqual(grpc.StatusCode.UNAVAILABLE, away.exception.code)
        self.assertEqual(3, len(self.script.tokens))

    def test_an_api_server_that_is_away_is_waited_for_however_long(self):
        for away in (API_SERVER_AWAY, LATE):
            job = self.serve([changed(1), away], *([away] for _ in range(9)), [changed(2, ended="Complete")])
            with self.assertLogs("caravan", "WARNING") as told:
                self.assertTrue(job.wait().is_complete)
            self.assertEqual(["", *["t1"] * 10], self.script.tokens)
            self.assertEqual(1, len(told.output), "once")

    def test_what_is_asked_for_once_is_given_up_while_the_api_server_is_away(self):
        for ask in (caravan.Job.logs, caravan.Job.metrics):
            job = self.serve(*([API_SERVER_AWAY] for _ in range(9)))
            with self.assertRaises(caravan.CaravanError):
                list(ask(job, follow=False))
            self.assertEqual(3, len(self.script.tokens))

    def test_a_log_that_its_machine_does_not_give_is_given_up(self):
        job = self.serve(*([API_SERVER_AWAY] for _ in range(9)))
        with self.assertRaises(caravan.CaravanError):
            list(job.logs())
        self.assertEqual(3, len(self.script.tokens))

    def test_a_deleted_job_is_not_waited_for(self):
        job = self.serve([changed(1), COMPLETE, gone()])
        with self.assertRaisesRegex(caravan.NotFoundError, "was deleted"):
            job.wait()

    def test_another_job_of_the_same_name_is_not_this_one(self):
        job = self.serve([changed(1), gone("u0"), changed(7, uid="u2"), gone()])
        seen = []
        with self.assertRaises(caravan.NotFoundError):
            seen += (state.progress.step for state in job.watch())
        self.assertEqual(1, job.progress.step)

    def test_a_job_that_was_deleted_before_is_missed(self):
        self.enterContext(mock.patch.object(client_module, "LATE_SECONDS", 0))
        job = self.serve([COMPLETE, Response(kind=Response.Heartbeat, resume_token="later")])
        with self.assertRaisesRegex(caravan.NotFoundError, "was deleted"):
            job.wait()


if __name__ == "__main__":
    unittest.main()
