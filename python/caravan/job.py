"""A job, as its user sees it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Iterator

from caravan.v1alpha1 import job_pb2, job_service_pb2, metrics_pb2

if TYPE_CHECKING:
    from caravan.client import Client


MOST_EVENTS = 1000  # of a page, for each of which the service reads all of them


class JobFailedError(Exception):
    """The job that was waited for has failed, and why."""


@dataclass(frozen=True)
class Progress:
    """How far the training is, as the job's status tells every half minute. None: not known yet."""

    step: int  # the last one that ended, of `steps`
    steps: int
    loss: float | None
    mfu: float | None  # model FLOPs utilization, of 1
    tokens_per_second: float | None
    peak_memory: str  # of the fullest device, as a Quantity such as 61Gi; empty: unknown
    remaining_seconds: int | None
    time: datetime | None


@dataclass(frozen=True)
class Sample:
    """A step of the training. What is trained again after a restart has a later attempt."""

    attempt: int
    step: int
    time: datetime
    loss: float
    validation_loss: float | None  # None: there was no evaluation
    gradient_norm: float
    learning_rate: float
    seconds: float
    tokens_per_second: float
    mfu: float | None  # model FLOPs utilization, of 1; None: the peak of the devices is not known
    peak_memory_bytes: int  # of the fullest device; 0: unknown
    phase_seconds: dict[str, float]  # where the step's time went, in the mean of the ranks; empty: unknown


def _number(text: str) -> float | None:
    """None where there is none yet, and where it is not known, which the status has a dash for."""
    return float(text) if text not in ("", "-") else None


def progress_of(status: job_pb2.ProgressStatus) -> Progress:
    mfu_percent = _number(status.mfu_percent)
    return Progress(
        step=status.step,
        steps=status.steps,
        loss=_number(status.loss),
        mfu=None if mfu_percent is None else mfu_percent / 100,
        tokens_per_second=_number(status.tokens_per_second),
        peak_memory=status.peak_memory_per_device,
        remaining_seconds=status.estimated_remaining_seconds if status.HasField("estimated_remaining_seconds") else None,
        time=datetime.fromisoformat(status.last_update_time) if status.last_update_time else None,
    )


def sample_of(told: metrics_pb2.MetricsSample) -> Sample:
    return Sample(
        attempt=told.attempt,
        step=told.step,
        time=datetime.fromisoformat(told.time),
        loss=told.loss,
        validation_loss=told.validation_loss if told.HasField("validation_loss") else None,
        gradient_norm=told.gradient_norm,
        learning_rate=told.learning_rate,
        seconds=told.seconds,
        tokens_per_second=told.tokens_per_second,
        mfu=told.mfu if told.HasField("mfu") else None,
        peak_memory_bytes=told.peak_memory_bytes,
        phase_seconds=_phases_of(told.phase_seconds) if told.HasField("phase_seconds") else {},
    )


def _phases_of(told: metrics_pb2.PhaseSeconds) -> dict[str, float]:
    return {phase: getattr(told, phase) for phase in metrics_pb2.PhaseSeconds.DESCRIPTOR.fields_by_name}


class Job:
    """What is read from it is as of the last refresh(), wait() or step of watch()."""

    def __init__(self, client: Client, message: job_service_pb2.Job):
        self._client, self.message = client, message

    def __repr__(self) -> str:
        progress = self.progress
        far = f", step {progress.step} of {progress.steps}" if progress else ""
        return f"<Job {self.namespace}/{self.name}: {self.state or 'new'}{far}>"

    @property
    def namespace(self) -> str:
        return self.message.name.split("/")[1]

    @property
    def name(self) -> str:
        return self.message.name.split("/")[3]

    @property
    def object(self) -> job_pb2.LlamaTrainingJob:
        """As kubectl shows it."""
        return self.message.object

    @property
    def state(self) -> str:
        return self.object.status.state

    @property
    def progress(self) -> Progress | None:
        status = self.object.status
        return progress_of(status.progress) if status.HasField("progress") else None

    def condition(self, kind: str) -> job_pb2.Condition | None:
        """Such as Planned, Scheduled, Running, Complete or Failed: why the job is as it is."""
        return next((found for found in self.object.status.conditions if found.type == kind), None)

    def _has(self, kind: str) -> bool:
        condition = self.condition(kind)
        return condition is not None and condition.status == "True"

    @property
    def is_complete(self) -> bool:
        return self._has("Complete")

    @property
    def is_failed(self) -> bool:
        return self._has("Failed")

    @property
    def has_ended(self) -> bool:
        return self.is_complete or self.is_failed

    def _call(self, method: str, request_type: type, **fields: object) -> object:
        return self._client.call(method, request_type(**fields))

    def _change(self, method: str, request_type: type, **fields: object) -> Job:
        self.message = self._call(method, request_type, name=self.message.name, **fields)
        return self

    def refresh(self) -> Job:
        return self._change("GetJob", job_service_pb2.GetJobRequest)

    def suspend(self) -> Job:
        """Its pods end, with a checkpoint where it has a place for one; resume() goes on."""
        return self._change("SuspendJob", job_service_pb2.SuspendJobRequest)

    def resume(self) -> Job:
        return self._change("ResumeJob", job_service_pb2.ResumeJobRequest)

    def cancel(self) -> Job:
        """Suspends for good: the job is Failed, and keeps its record."""
        return self._change("CancelJob", job_service_pb2.CancelJobRequest)

    def checkpoint(self) -> Job:
        """Asks for one after the step that runs."""
        return self._change("CheckpointNow", job_service_pb2.CheckpointNowRequest, request_id=str(uuid.uuid4()))

    def delete(self) -> None:
        self._call("DeleteJob", job_service_pb2.DeleteJobRequest, name=self.message.name)

    def events(self) -> list[job_service_pb2.JobEventRecord]:
        """The oldest first."""
        events, token = [], ""
        while True:
            page = self._call(
                "ListEvents", job_service_pb2.ListEventsRequest,
                parent=self.message.name, page_size=MOST_EVENTS, page_token=token,
            )  # fmt: skip
            events += page.events
            token = page.next_page_token
            if not token:
                return events

    def checkpoints(self) -> list[job_pb2.CheckpointStatus]:
        """The latest first."""
        return list(self._call("ListCheckpoints", job_service_pb2.ListCheckpointsRequest, parent=self.message.name).checkpoints)

    def watch(self, timeout: float | None = None) -> Iterator[Job]:
        """This job each time it changes, the first time at once, until it has ended or, with NotFoundError, was deleted.
        TimeoutError after `timeout` seconds."""
        for message in self._client.states_of(self.message, timeout):
            self.message = message
            yield self
            if self.has_ended:
                return

    def metrics(self, follow: bool = True, timeout: float | None = None) -> Iterator[Sample]:
        """Each step as it is reported, from the first that the service still knows, until the job has ended; without follow,
        until now. TimeoutError after `timeout` seconds."""
        request = job_service_pb2.StreamMetricsRequest(name=self.message.name, follow=follow)
        method = self._client.stub.StreamMetrics
        for _, response in self._client.resumed(method, request, "cursor", timeout, ends=True, follows=follow):
            yield from map(sample_of, response.samples)

    def logs(
        self, rank: int | None = None, node: int = 0, follow: bool = True, tail: int | None = None, timeout: float | None = None
    ) -> Iterator[str]:
        """Lines that a rank prints, or a node with all of its ranks, until the job has ended; without follow, until now, with
        NotFoundError where there is no pod. tail: only the last ones to begin with. Lines that are gone before they were read
        are a warning of `logging`. TimeoutError after `timeout` seconds."""
        request = job_service_pb2.StreamLogsRequest(name=self.message.name, rank=rank, node=node, follow=follow, tail_lines=tail)
        begun, pod = b"", ""
        method = self._client.stub.StreamLogs
        # Without follow, that there is no pod is told like that a replica has not heard of the job. And what a machine gives no
        # log of is told like an API server that is away.
        told = self._client.resumed(method, request, "cursor", timeout, ends=True, may_be_late=follow, follows=False)
        for is_anew, response in told:
            request.ClearField("tail_lines")  # what begins anew after a loss leaves out nothing more
            if (is_anew or response.pod != pod) and begun:  # the rest of the line is lost, or its pod was killed within it
                yield begun.decode(errors="replace")
                begun = b""
            pod = response.pod
            *lines, begun = (begun + response.data).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
        if begun:
            yield begun.decode(errors="replace")

    def wait(self, timeout: float | None = None) -> Job:
        """Until it is complete; JobFailedError if it failed, TimeoutError after `timeout` seconds."""
        for _ in self.watch(timeout):
            pass
        if self.is_failed:
            failed = self.condition("Failed")
            raise JobFailedError(f"{self.name}: {failed.reason}: {failed.message}")
        return self
