"""Jobs as they are written: a file as kubectl takes it, the same as a dict, or a message."""

import re
from os import PathLike
from pathlib import Path

import yaml
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from caravan.v1alpha1 import job_pb2, options_pb2

API_VERSION, KIND = "training.caravan.dev/v1alpha1", "LlamaTrainingJob"
NUMERIC = (options_pb2.StringFormat.Decimal, options_pb2.StringFormat.Quantity)


class JobFileError(ValueError):
    """The file, the field and the mistake."""


class _Decimal(str):
    """A decimal without quotes, as it is written: no field of a job is a floating-point number."""


class _Integer(int):
    """Whose text is as it is written: 010 is no 8 where a text is wanted."""

    def __new__(cls, value: int, text: str) -> "_Integer":
        number = super().__new__(cls, value)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text


class _Loader(yaml.SafeLoader):
    """Refuses what is given twice, of which PyYAML takes the last, and reads as kubectl does: decimals, 3e-4 among them, and y and n;
    days and times of day, such as 2026-01-02 and 12:30, are texts."""

    bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        lines = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in lines:
                problem = f"{key.value} is given twice; first on line {lines[key.value]}"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return node

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: object) -> str:
        tag = super().resolve(kind, value, implicit)
        return TEXT if tag == TIME or (tag in (DECIMAL, INTEGER) and ":" in value) else tag


DECIMAL, INTEGER, BOOLEAN, TIME, TEXT = (f"tag:yaml.org,2002:{name}" for name in ("float", "int", "bool", "timestamp", "str"))
_DECIMAL_TEXT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_Loader.add_implicit_resolver(DECIMAL, _DECIMAL_TEXT, list("-+.0123456789"))
_Loader.add_implicit_resolver(BOOLEAN, re.compile(r"[yYnN]$"), list("yYnN"))
_Loader.add_constructor(DECIMAL, lambda loader, node: _Decimal(node.value))
_Loader.add_constructor(INTEGER, lambda loader, node: _Integer(loader.construct_yaml_int(node), node.value))


def _with_texts(value: object, field: FieldDescriptor, path: str) -> object:
    """Numbers without quotes as texts where the field is one in their form, as `caravan validate` has it; in others refused."""
    if isinstance(value, list):
        return [_with_texts(entry, field, f"{path}[{i}]") for i, entry in enumerate(value)]
    if isinstance(value, dict) and field.message_type is not None:
        return _fields_with_texts(value, field.message_type, path)
    is_number = isinstance(value, int | float | _Decimal) and not isinstance(value, bool)
    if not is_number or field.cpp_type != field.CPPTYPE_STRING:
        return value
    if field.GetOptions().Extensions[options_pb2.rules].format in NUMERIC:
        return str(value)
    raise json_format.ParseError(f"{path}: {value} is a number; put it in quotes to make it a string")


def _fields_with_texts(written: dict, message: Descriptor, path: str = "") -> dict:
    fields = {name: field for field in message.fields for name in (field.name, field.json_name)}
    if message.GetOptions().map_entry:
        fields = dict.fromkeys(written, message.fields_by_name["value"])
    return {
        name: _with_texts(value, fields[name], f"{path}.{name}".lstrip(".")) if name in fields else value
        for name, value in written.items()
    }


def _read_yaml(path: Path) -> dict:
    try:
        text = path.read_text()
        documents = [document for document in yaml.load_all(text, _Loader) if document is not None]
    except (OSError, ValueError, KeyError, RecursionError, yaml.YAMLError) as error:
        raise JobFileError(f"{path}: {error}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise JobFileError(f"{path}: one job is expected, and not {len(documents)} documents")
    return documents[0]


def _check_kind(written: dict, where: str) -> None:
    for field, ours in (("apiVersion", API_VERSION), ("kind", KIND)):
        if written.get(field, ours) != ours:
            raise JobFileError(f"{where}: {field} is {written[field]}, and not {ours}")


def read_job(source: str | PathLike | dict | job_pb2.LlamaTrainingJob) -> job_pb2.LlamaTrainingJob:
    """What kubectl would apply, and numbers for decimals; JobFileError for what is none. What values mean, the service checks."""
    if isinstance(source, job_pb2.LlamaTrainingJob):
        return source
    where = "job" if isinstance(source, dict) else str(source)
    written = source if isinstance(source, dict) else _read_yaml(Path(source))
    _check_kind(written, where)
    try:
        job = job_pb2.LlamaTrainingJob()
        return json_format.ParseDict(_fields_with_texts(written, job.DESCRIPTOR), job)
    except (json_format.ParseError, RecursionError) as error:
        raise JobFileError(f"{where}: {error}") from None
