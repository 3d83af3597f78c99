"""Trains Llama models on Kubernetes through Caravan's job service.

    import caravan

    job = caravan.submit("job.yaml")
    for sample in job.metrics():
        print(sample.step, sample.loss, sample.mfu)
    job.wait()

Where the service is and who calls it come from the environment (see `connect`), or from `connect`'s arguments:

    client = caravan.connect("caravan.example.com:443", namespace="team", token_file="/var/run/secrets/caravan/token")
    client.submit("job.yaml")
"""

from caravan.client import Client, connect, get, jobs, submit
from caravan.connection import MisconfiguredError
from caravan.errors import CaravanError, InvalidError, NotFoundError, NotPermittedError, Violation
from caravan.job import Job, JobFailedError, Progress, Sample
from caravan.job_file import JobFileError, read_job

__all__ = [
    "CaravanError", "Client", "InvalidError", "Job", "JobFailedError", "JobFileError", "MisconfiguredError", "NotFoundError",
    "NotPermittedError", "Progress", "Sample", "Violation", "connect", "get", "jobs", "read_job", "submit",
]  # fmt: skip
