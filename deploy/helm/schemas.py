"""JSON schemas for kubeconform, which fetches none: of Kubernetes from the swagger.json of its module, of other kinds from
their resource definitions. Unlike the sources they refuse unknown fields, as `kubectl --validate=strict` does.

write(FOLDER, SWAGGER, DEFINITIONS): KIND-GROUP-VERSION.json for every kind, in lower case, as LOCATION names them.
"""

import json
from pathlib import Path
from typing import Iterable

import yaml

LOCATION = "{{.ResourceKind}}{{.KindSuffix}}.json"  # kubeconform's template; KindSuffix is -GROUP-VERSION
REFERENCE = "#/definitions/"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def strict(schema):
    """The schema, and all within it, without room for fields that it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string") is True:
        return {"type": ["string", "integer"]}
    closed = {key: strict(value) for key, value in schema.items()}
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields") is True
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not is_open:
        closed["additionalProperties"] = False
    return closed


def file_name(kind: str, group: str, version: str) -> str:
    return "-".join(filter(None, (kind.lower(), group.split(".")[0], version))) + ".json"


def references_of(schema) -> set[str]:
    if isinstance(schema, dict):
        found = set().union(*map(references_of, schema.values()), set())
        reference = schema.get("$ref")
        return found | ({reference.removeprefix(REFERENCE)} if isinstance(reference, str) else set())
    return set().union(*map(references_of, schema), set()) if isinstance(schema, list) else set()


def with_what_it_refers_to(name: str, definitions: dict) -> dict:
    needed, new = {name}, {name}
    while new:
        new = set().union(*(references_of(definitions[each]) for each in new)) - needed
        needed |= new
    return {"$ref": REFERENCE + name, "definitions": {each: definitions[each] for each in sorted(needed)}}


def of_kubernetes(swagger: Path) -> Iterable[tuple[str, dict]]:
    definitions = {name: strict(schema) for name, schema in json.loads(swagger.read_text())["definitions"].items()}
    definitions[QUANTITY] = {"type": ["string", "number"]}
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            if "properties" in schema:
                yield file_name(kind["kind"], kind["group"], kind["version"]), with_what_it_refers_to(name, definitions)


def of_definition(definition: dict) -> Iterable[tuple[str, dict]]:
    spec = definition["spec"]
    for version in spec["versions"]:
        schema = strict(version["schema"]["openAPIV3Schema"])
        schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
        yield file_name(spec["names"]["kind"], spec["group"], version["name"]), schema


def write(folder: Path, swagger: Path, definitions: Iterable[Path]) -> None:
    schemas = dict(of_kubernetes(swagger))
    for path in definitions:
        schemas |= dict(of_definition(yaml.safe_load(path.read_text())))
    for name, schema in schemas.items():
        (folder / name).write_text(json.dumps(schema))
