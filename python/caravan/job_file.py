"""Jobs as they are written: a file as kubectl takes it, the same as a dict, or a message."""

from os import PathLike
from pathlib import Path

import yaml
from google.protobuf import json_format

from caravan.v1alpha1 import job_pb2

API_VERSION, KIND = "training.caravan.dev/v1alpha1", "LlamaTrainingJob"


class JobFileError(ValueError):
    """The file, the field and the mistake."""


def _read_yaml(path: Path) -> dict:
    try:
        documents = [document for document in yaml.safe_load_all(path.read_text()) if document is not None]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise JobFileError(f"{path}: {error}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise JobFileError(f"{path}: one job is expected, and not {len(documents)} documents")
    return documents[0]


def _check_kind(written: dict, where: str) -> None:
    for field, ours in (("apiVersion", API_VERSION), ("kind", KIND)):
        if written.get(field, ours) != ours:
            raise JobFileError(f"{where}: {field} is {written[field]}, and not {ours}")


def read_job(source: str | PathLike | dict | job_pb2.LlamaTrainingJob) -> job_pb2.LlamaTrainingJob:
    """What kubectl would apply; JobFileError for what is none. What the values mean, the service checks."""
    if isinstance(source, job_pb2.LlamaTrainingJob):
        return source
    where = "job" if isinstance(source, dict) else str(source)
    written = source if isinstance(source, dict) else _read_yaml(Path(source))
    _check_kind(written, where)
    try:
        return json_format.ParseDict(written, job_pb2.LlamaTrainingJob())
    except json_format.ParseError as error:
        raise JobFileError(f"{where}: {error}") from None
