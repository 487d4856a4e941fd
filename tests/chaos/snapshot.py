"""What is in the cluster at one moment, read with one request per kind."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.chaos.charts import GREETING_KEY
from tests.localcluster import Cluster
from tests.support.release_records import UnreadableRecord, unpack_record

Json: TypeAlias = dict[str, Any]
XAppKey: TypeAlias = tuple[str, str]

LABEL: Final = "xapp-operator.io/xapp"
LABEL_ATTEMPT: Final = "xapp-operator.io/attempt"
LABELS_OF_DIGESTS: Final = ("xapp-operator.io/chart-digest", "xapp-operator.io/values-digest")
RELEASE: Final = "meta.helm.sh/release-name"
PROGRESS_KINDS: Final = ("xapps", "configmaps", "deployments")
ALL_KINDS: Final = (*PROGRESS_KINDS, "statefulsets", "services", "jobs", "secrets")
RECORD_PREFIX: Final = "sh.helm.release.v1."
READ_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Record:
    """Helm's record of one revision: its status, and a digest of its manifest, which never changes."""

    status: str
    manifest_digest: str
    description: str = ""
    """What helm says of the step that made it; empty when the record cannot be read."""
    attempt: str = ""
    """Different for each step of an operator; helm copies it to a rollback, and to what a person makes after it."""
    digests: tuple[str, ...] = ()
    """Of the chart and of the values, as the operator that made it recorded them."""
    greeting: str = ""
    """Of its values; empty when the record cannot be read."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The objects of the XApps' namespaces."""

    items: tuple[Json, ...]
    xapps: Mapping[XAppKey, Json]
    greetings: Mapping[tuple[str, str], str]
    """The greeting in each ConfigMap that has one."""
    replicas: Mapping[XAppKey, int]
    """Replicas of the Deployments, by the XApp of their label."""
    images: Mapping[XAppKey, frozenset[str]]
    """Images of the Deployments, by the XApp of their label."""
    named: Mapping[XAppKey, frozenset[str]]
    """The names of the ConfigMaps that are named after a greeting, by the release that helm made them for."""

    @property
    def records(self) -> dict[XAppKey, dict[int, Record]]:
        """Helm's records by release and revision; a copy under another name is none of them."""
        found: dict[XAppKey, dict[int, Record]] = defaultdict(dict)
        for item in self.items:
            labels = item["metadata"].get("labels", {})
            if item["kind"] == "Secret" and item["metadata"]["name"].startswith(RECORD_PREFIX):
                key = item["metadata"]["namespace"], labels["name"]
                found[key][int(labels["version"])] = _parse_record(item)
        return found

    @property
    def labelled(self) -> list[tuple[str, XAppKey]]:
        """Return kind and XApp of each object with the label of an XApp, or made by helm for a release."""
        found = []
        for item in self.items:
            metadata = item["metadata"]
            owner = metadata.get("labels", {}).get(LABEL) or metadata.get("annotations", {}).get(RELEASE)
            if owner and item["kind"] != "XApp":
                found.append((item["kind"], (metadata["namespace"], owner)))
        return found


def read_snapshot(cluster: Cluster, namespaces: tuple[str, ...], *, everything: bool = False) -> Snapshot:
    """Read the objects. Raises KubectlFailed, TimeoutExpired."""
    kinds = ",".join(ALL_KINDS if everything else PROGRESS_KINDS)
    listed = cluster.kubectl("get", kinds, "-A", "-o", "json", timeout=READ_SECONDS)
    items = json.loads(listed)["items"]
    return parse_snapshot(each for each in items if each["metadata"]["namespace"] in namespaces or _is_named(each))


def parse_snapshot(items: Iterable[Json]) -> Snapshot:
    """Return the snapshot that these objects are."""
    found = tuple(items)
    xapps: dict[XAppKey, Json] = {}
    greetings: dict[tuple[str, str], str] = {}
    replicas: dict[XAppKey, int] = {}
    images: dict[XAppKey, frozenset[str]] = {}
    named: dict[XAppKey, frozenset[str]] = {}
    for item in found:
        metadata = item["metadata"]
        key = metadata["namespace"], metadata["name"]
        match item["kind"]:
            case "XApp":
                xapps[key] = item
            case "ConfigMap":
                greetings[key] = _greeting(item)
                if _is_named(item):
                    owner = metadata["namespace"], metadata["annotations"][RELEASE]
                    named[owner] = named.get(owner, frozenset()) | {metadata["name"]}
            case "Deployment":
                owner = metadata["namespace"], metadata.get("labels", {}).get(LABEL, "")
                replicas[owner] = replicas.get(owner, 0) + int(item["spec"]["replicas"])
                containers = item["spec"]["template"]["spec"]["containers"]
                images[owner] = images.get(owner, frozenset()) | {each["image"] for each in containers}
    return Snapshot(found, xapps, greetings, replicas, images, named)


def _is_named(item: Json) -> bool:
    return item["kind"] == "ConfigMap" and GREETING_KEY in (item.get("data") or {})


def _greeting(config_map: Json) -> str:
    data = config_map.get("data") or {}
    settings = json.loads(data.get("settings.json", "{}"))
    return str(data.get("greeting") or settings.get("greeting", ""))


def _parse_record(secret: Json) -> Record:
    labels, description, greeting = secret["metadata"]["labels"], "", ""
    try:
        payload = unpack_record(secret)
        content, description = str(payload["manifest"]), str(payload.get("info", {}).get("description", ""))
        greeting = str((payload.get("config") or {}).get("greeting", ""))
    except UnreadableRecord:
        content = json.dumps(secret["data"])
    return Record(
        labels["status"],
        hashlib.sha256(content.encode()).hexdigest(),
        description,
        attempt=labels.get(LABEL_ATTEMPT, ""),
        digests=tuple(labels.get(each, "") for each in LABELS_OF_DIGESTS),
        greeting=greeting,
    )
