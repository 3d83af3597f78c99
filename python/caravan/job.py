"""A job, as its user sees it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Iterator

from caravan.errors import told_as_ours
from caravan.v1alpha1 import job_pb2, job_service_pb2

if TYPE_CHECKING:
    from caravan.client import Client


class JobFailedError(Exception):
    """The job that was waited for has failed, and why."""


@dataclass(frozen=True)
class Sample:
    """How far the training is. None: not known yet."""

    step: int  # the last one that ended, of `steps`
    steps: int
    loss: float | None
    mfu: float | None  # model FLOPs utilization, of 1
    tokens_per_second: float | None
    peak_memory: str  # of the fullest device, as a Quantity such as 61Gi; empty: unknown
    remaining_seconds: int | None
    time: datetime | None


def _number(text: str) -> float | None:
    return float(text) if text else None


def sample_of(progress: job_pb2.ProgressStatus) -> Sample:
    mfu_percent = _number(progress.mfu_percent)
    return Sample(
        step=progress.step,
        steps=progress.steps,
        loss=_number(progress.loss),
        mfu=None if mfu_percent is None else mfu_percent / 100,
        tokens_per_second=_number(progress.tokens_per_second),
        peak_memory=progress.peak_memory_per_device,
        remaining_seconds=progress.estimated_remaining_seconds if progress.HasField("estimated_remaining_seconds") else None,
        time=datetime.fromisoformat(progress.last_update_time) if progress.last_update_time else None,
    )


class Job:
    """What is read from it is as of the last refresh(), wait() or step of watch() and metrics()."""

    def __init__(self, client: Client, message: job_service_pb2.Job):
        self._client, self.message = client, message

    def __repr__(self) -> str:
        sample = self.progress
        progress = f", step {sample.step} of {sample.steps}" if sample else ""
        return f"<Job {self.namespace}/{self.name}: {self.state or 'new'}{progress}>"

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
    def progress(self) -> Sample | None:
        status = self.object.status
        return sample_of(status.progress) if status.HasField("progress") else None

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
        with told_as_ours():
            return getattr(self._client.stub, method)(request_type(**fields))

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
        return list(self._call("ListEvents", job_service_pb2.ListEventsRequest, parent=self.message.name).events)

    def checkpoints(self) -> list[job_service_pb2.CheckpointRecord]:
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

    def metrics(self, timeout: float | None = None) -> Iterator[Sample]:
        """A sample each time the service hears of a later step, until the job has ended."""
        last = None
        for job in self.watch(timeout):
            sample = job.progress
            if sample and (last is None or sample.step != last.step):
                yield sample
                last = sample

    def wait(self, timeout: float | None = None) -> Job:
        """Until it is complete; JobFailedError if it failed, TimeoutError after `timeout` seconds."""
        for _ in self.watch(timeout):
            pass
        if self.is_failed:
            failed = self.condition("Failed")
            raise JobFailedError(f"{self.name}: {failed.reason}: {failed.message}")
        return self
