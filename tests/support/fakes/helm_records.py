"""Charts and release records as helm reads and writes them."""

from __future__ import annotations

import base64
import functools
import gzip
import io
import json
import re
import tarfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.support.fakes.api_server import FakeApiServer, Target
from tests.support.fakes.json_patch import Json, merge

SYSTEM_LABELS = ("name", "owner", "status", "version", "createdAt", "modifiedAt")
_HOOK = "helm.sh/hook"
_PLACEHOLDER = re.compile(r"\{\{-? *([.\w]+)(?: \| (quote))? *-?\}\}")


@dataclass(frozen=True)
class Chart:
    metadata: Json
    values: Json
    templates: dict[str, str]
    crds: dict[str, str] = field(default_factory=dict)


_charts: dict[str, Chart] = {}


@functools.lru_cache(maxsize=256)
def load_values(text: bytes) -> Json:
    return yaml.safe_load(text) or {}


def load_chart(path: str) -> Chart:
    if path not in _charts:
        files = {}
        with tarfile.open(fileobj=io.BytesIO(Path(path).read_bytes())) as archive:
            for member in archive:
                opened = archive.extractfile(member)
                assert opened is not None
                files[member.name.partition("/")[2]] = opened.read().decode()
        templates, crds = (
            {name: text for name, text in sorted(files.items()) if name.startswith(folder)}
            for folder in ("templates/", "crds/")
        )
        _charts[path] = Chart(
            yaml.safe_load(files["Chart.yaml"]), yaml.safe_load(files.get("values.yaml", "")) or {}, templates, crds
        )
    return _charts[path]


def crd_files(path: str) -> list[Json]:
    """Return the CustomResourceDefinitions of a chart as helm prints its files."""
    return [
        {"name": name, "data": base64.b64encode(text.encode()).decode()} for name, text in load_chart(path).crds.items()
    ]


def render(chart: Chart, values: Json, release: str, *, include_crds: bool = False) -> dict[str, str]:
    """Return the documents of a chart by the path of their template, which has one of them."""
    context = {
        "Values": merge(chart.values, values),
        "Release": {"Name": release},
        "Chart": {"Version": chart.metadata["version"]},
    }

    def replace(matched: re.Match[str]) -> str:
        found: Any = context
        for key in matched[1].strip(".").split("."):
            found = found[key]
        shown = str(found).lower() if isinstance(found, bool) else str(found)
        return json.dumps(shown) if matched[2] else shown

    name = chart.metadata["name"]
    rendered = {path: _PLACEHOLDER.sub(replace, template) for path, template in chart.templates.items()}
    return {f"{name}/{path}": text for path, text in ((chart.crds if include_crds else {}) | rendered).items()}


def manifest_of(rendered: Json) -> str:
    return "".join(f"---\n# Source: {path}\n{document}" for path, document in rendered.items())


def split_hooks(rendered: dict[str, str]) -> tuple[str, list[Json]]:
    """Return the manifest without hooks, and the hooks as a record has them."""
    hooks = [_hook(path, document) for path, document in rendered.items() if _HOOK in document]
    rest = {path: document for path, document in rendered.items() if _HOOK not in document}
    return manifest_of(rest), hooks


def _hook(path: str, document: str) -> Json:
    body = yaml.safe_load(document)
    annotations = body["metadata"]["annotations"]
    policies = annotations.get(f"{_HOOK}-delete-policy", "before-hook-creation")
    return {
        "name": body["metadata"]["name"],
        "kind": body["kind"],
        "path": path,
        "manifest": document,
        "events": annotations[_HOOK].split(","),
        "last_run": {"phase": ""},
        "delete_policies": policies.split(","),
    }


@functools.lru_cache(maxsize=256)
def objects_of(manifest: str) -> list[Json]:
    """Return the objects of a manifest; nobody changes them."""
    return [each for each in yaml.safe_load_all(manifest) if each]


def identity(body: Json) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


def owned(body: Json, release: str, namespace: str) -> Json:
    metadata = body["metadata"]
    return {
        **body,
        "metadata": {
            **metadata,
            "labels": {**metadata.get("labels", {}), "app.kubernetes.io/managed-by": "Helm"},
            "annotations": {
                **(metadata.get("annotations") or {}),
                "meta.helm.sh/release-name": release,
                "meta.helm.sh/release-namespace": namespace,
            },
        },
    }


def record_target(namespace: str, name: str, revision: int) -> Target:
    return Target("", "v1", "secrets", namespace, f"sh.helm.release.v1.{name}.v{revision}")


def record_secret(record: Json, time_label: str, *, now: float) -> Json:
    """Return the Secret of a record that is written `now`, with the time in `time_label`.

    As in helm, an upgrade inherits `modifiedAt` of the revision before, and keeps it whenever it is written.
    """
    time = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ}"
    written = {"manager": "Helm", "operation": "Update", "apiVersion": "v1", "time": time}
    labels = {time_label: str(int(now)), **record["labels"]}
    payload = {key: value for key, value in record.items() if key != "labels"}
    own = {"name": record["name"], "owner": "helm", "version": str(record["version"])}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {
            "name": f"sh.helm.release.v1.{record['name']}.v{record['version']}",
            "labels": {**labels, **own, "status": record["info"]["status"]},
            "managedFields": [{**written, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:release": {}}}}],
        },
        "data": {"release": encode_record(payload)},
    }


def inherited_labels(stored: Json) -> Json:
    """Return the label of the record before that helm 4 forgets to leave out of an upgrade."""
    return {key: value for key, value in stored.items() if key == "modifiedAt"}


def encode_record(payload: Json) -> str:
    """Return the value of `data.release` for a payload."""
    packed = gzip.compress(json.dumps(payload).encode(), compresslevel=1, mtime=0)
    return base64.b64encode(base64.b64encode(packed)).decode()


def read_history(secrets: list[Json], namespace: str, name: str) -> list[Json]:
    """Return the records of a release as helm finds them, by the labels of their Secrets, and sorts them."""
    found = []
    for secret in secrets:
        metadata, record = secret["metadata"], decode_record(secret)
        labels = metadata.get("labels", {})
        wanted = (labels.get("owner"), labels.get("name"), metadata["namespace"]) == ("helm", name, namespace)
        if wanted and record is not None:
            own = {key: value for key, value in labels.items() if key not in SYSTEM_LABELS}
            found.append({"name": "", "version": 0, **record, "labels": own})
    return sorted(found, key=lambda each: int(each["version"]))


def decode_record(secret: Json) -> Json | None:
    """Return the payload of a release Secret, or None if it is damaged."""
    try:
        packed = base64.b64decode(base64.b64decode(secret["data"]["release"], validate=True), validate=True)
        found: Json = json.loads(gzip.decompress(packed))
    except (ValueError, OSError, KeyError):
        return None
    return found


def owner_of(server: FakeApiServer, target: Target) -> tuple[str, str] | None:
    """Return the release and its namespace that an object belongs to; None if it does not exist."""
    live = server.find(target.plural, target.name, namespace=target.namespace)
    if live is None:
        return None
    annotations = live["metadata"].get("annotations", {})
    return annotations.get("meta.helm.sh/release-name"), annotations.get("meta.helm.sh/release-namespace")


def is_deletable(server: FakeApiServer, target: Target) -> bool:
    """Return whether an object exists, and does not keep helm from deleting it when a revision has it no more."""
    live = server.find(target.plural, target.name, namespace=target.namespace)
    return live is not None and live["metadata"].get("annotations", {}).get("helm.sh/resource-policy") != "keep"
