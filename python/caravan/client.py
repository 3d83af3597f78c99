"""Calls to the job service."""

from __future__ import annotations

import functools
import os
import time
import uuid
from os import PathLike
from typing import Callable, Iterator, Sequence

import grpc

from caravan.calls import answer_of
from caravan.connection import bearer_of, namespace_of, open_channel
from caravan.errors import NotFoundError
from caravan.job import Job
from caravan.job_file import read_job
from caravan.streams import LATE_SECONDS, resumed
from caravan.v1alpha1 import estimate_pb2, job_pb2, job_service_pb2, job_service_pb2_grpc

JobSource = str | PathLike | dict | job_pb2.LlamaTrainingJob
Response = job_service_pb2.WatchJobsResponse


def deleted(job: job_service_pb2.Job) -> NotFoundError:
    return NotFoundError(grpc.StatusCode.NOT_FOUND, "NOT_FOUND", f"{job.name} was deleted")


class Client:
    """The jobs of one namespace, over one connection; safe to use from several threads. token: the one that calls show now."""

    def __init__(self, channel: grpc.Channel, namespace: str, token: Callable[[], str] = lambda: ""):
        self.namespace = namespace
        self.stub = job_service_pb2_grpc.JobServiceStub(channel)
        self.call = functools.partial(answer_of, self.stub)
        self.resumed = functools.partial(resumed, shown=token)
        self._channel = channel

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    @property
    def parent(self) -> str:
        return f"namespaces/{self.namespace}"

    def submit(self, job: JobSource, *, name: str | None = None, validate_only: bool = False) -> Job:
        """Creates a job from a file as kubectl takes it, a dict of the same, or a message; `name` instead of its own.
        InvalidError tells every mistake; with validate_only nothing is created."""
        wanted = job_pb2.LlamaTrainingJob()
        wanted.CopyFrom(read_job(job))
        if name is not None:
            wanted.metadata.name = name
        request = job_service_pb2.CreateJobRequest(
            parent=self.parent, job=wanted, validate_only=validate_only, request_id=str(uuid.uuid4())
        )
        return Job(self, self.call("CreateJob", request))

    def get(self, name: str) -> Job:
        return Job(self, self.call("GetJob", job_service_pb2.GetJobRequest(name=f"{self.parent}/jobs/{name}")))

    def jobs(self, filter: str = "", order_by: str = "") -> Iterator[Job]:
        """The newest first unless order_by says else; filter: such as state=Running AND labels.team=nlp."""
        request = job_service_pb2.ListJobsRequest(parent=self.parent, filter=filter, order_by=order_by)
        while True:
            page = self.call("ListJobs", request)
            yield from (Job(self, message) for message in page.jobs)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def estimate(
        self, job: JobSource, devices: Sequence[int] = (), device_hour_price: str = ""
    ) -> list[estimate_pb2.Estimate]:
        """Whether it fits, how fast it is and what it costs, before a device is taken: for each number of devices, or for the
        job's own."""
        request = job_service_pb2.EstimateJobRequest(
            parent=self.parent, job=read_job(job), devices=devices, device_hour_price=device_hour_price
        )
        return list(self.call("EstimateJob", request).estimates)

    def capacity(self) -> job_service_pb2.Capacity:
        """What the nodes and the quota of the namespace leave free."""
        return self.call("GetCapacity", job_service_pb2.GetCapacityRequest(parent=self.parent))

    def states_of(self, job: job_service_pb2.Job, timeout: float | None) -> Iterator[job_service_pb2.Job]:
        """The job each time it changes; NotFoundError once it is gone, were there another one of its name by then."""
        missing_since = None  # the watch told of it
        request = job_service_pb2.WatchJobsRequest(parent=self.parent, filter=f"name={job.name.rpartition('/')[2]}")
        for is_anew, response in self.resumed(self.stub.WatchJobs, request, "resume_token", timeout, ends=False):
            if is_anew:
                missing_since = time.monotonic()
            is_it = response.job.uid == job.uid
            if response.kind == Response.Changed and is_it:
                missing_since = None
                yield response.job
            elif response.kind == Response.Gone and is_it:
                raise deleted(job)
            elif missing_since is not None and time.monotonic() > missing_since + LATE_SECONDS:
                raise deleted(job)


def connect(
    server: str | None = None,
    *,
    namespace: str | None = None,
    token: str | None = None,
    token_file: str | None = None,
    root_file: str | None = None,
    server_name: str | None = None,
) -> Client:
    """The service at HOST:PORT, as the holder of a token of Kubernetes for the audiences `caravan` and, for events and logs and
    to write, the API server. What is not given comes from the environment: CARAVAN_SERVER, CARAVAN_NAMESPACE (in a pod, its own),
    CARAVAN_TOKEN_FILE, else CARAVAN_TOKEN, CARAVAN_ROOT_FILE, the authority of the service's certificate in PEM, and
    CARAVAN_SERVER_NAME, the name in that certificate where it is not HOST, as through a port-forward. MisconfiguredError
    says what is missing."""
    bearer = bearer_of(token, token_file)
    return Client(open_channel(server, bearer, root_file, server_name), namespace_of(namespace), bearer.now)


@functools.lru_cache(maxsize=1)
def _client_of(environment: frozenset[tuple[str, str]]) -> Client:
    return connect()


def _client_of_the_environment() -> Client:
    """One for as long as the environment says the same."""
    return _client_of(frozenset((name, value) for name, value in os.environ.items() if name.startswith("CARAVAN_")))


def submit(job: JobSource, *, name: str | None = None, validate_only: bool = False) -> Job:
    """Client.submit, by the service that the environment names."""
    return _client_of_the_environment().submit(job, name=name, validate_only=validate_only)


def get(name: str) -> Job:
    """Client.get, by the service that the environment names."""
    return _client_of_the_environment().get(name)


def jobs(filter: str = "", order_by: str = "") -> Iterator[Job]:
    """Client.jobs, by the service that the environment names."""
    return _client_of_the_environment().jobs(filter, order_by)
