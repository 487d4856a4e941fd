"""Requests and responses of the Kubernetes API: headers, query parameters and bodies. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, TypedDict, cast

import orjson

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.names import FIELD_MANAGER
from xapp_operator.domain import bounded_json
from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.resources import SELF_SUBJECT_ACCESS_REVIEWS, Resource

Headers: TypeAlias = dict[str, str]

JSON_HEADERS: Final[Headers] = {"Content-Type": "application/json"}
APPLY_HEADERS: Final[Headers] = {"Content-Type": "application/apply-patch+yaml"}
MERGE_PATCH_HEADERS: Final[Headers] = {"Content-Type": "application/merge-patch+json"}
METADATA_HEADERS: Final[Headers] = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METADATA_LIST_HEADERS: Final[Headers] = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def decode_object(body: bytes) -> JsonObject:
    """Return the JSON object in a response.

    Raises:
        ApiUnavailable: for anything else, which a proxy in front of the API server may send.
    """
    try:
        decoded = bounded_json.loads_bounded(body)
    except orjson.JSONDecodeError:
        decoded = None
    if not isinstance(decoded, dict):
        raise ApiUnavailable("the Kubernetes API returned something other than a JSON object")
    return decoded


class ListOptions(TypedDict, total=False):
    """Which objects to list, and how: `namespace` None means all; `limit` is the size of a page."""

    namespace: str | None
    label_selector: str | None
    field_selector: str | None
    metadata_only: bool
    limit: int


@dataclass(frozen=True, slots=True)
class ListResult:
    """A whole list or one page of it; a watch can continue from `resource_version`."""

    items: list[JsonObject]
    resource_version: str
    continue_token: str = ""


def decode_list(body: JsonObject, *, resource: Resource | None) -> ListResult:
    """Return a page of a list; its items get the apiVersion and kind of `resource`, where it is given."""
    found = items(body, "items")
    if resource is not None:
        # For built-in kinds, the server omits these in lists, but not in watches.
        for item in found:
            item.setdefault("apiVersion", resource.api_version)
            item.setdefault("kind", resource.kind)
    metadata = obj(body, "metadata")
    return ListResult(found, text(metadata, "resourceVersion"), text(metadata, "continue"))


def drop_none(**params: str | None) -> dict[str, str]:
    return {key: value for key, value in params.items() if value is not None}


def write_params(*, dry_run: bool) -> dict[str, str]:
    """Return the query of a write: our field manager, and strict field validation."""
    params = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
    return params | {"dryRun": "All"} if dry_run else params


def apply_params(field_manager: str, *, dry_run: bool) -> dict[str, str]:
    """Return the query of a server-side apply that takes over the fields of other managers."""
    params = {"fieldManager": field_manager, "force": "true", "fieldValidation": "Ignore"}
    return params | {"dryRun": "All"} if dry_run else params


def access_review(
    resource: Resource, verb: str, *, namespace: str | None, subresource: str | None, name: str | None
) -> JsonObject:
    """Return the SelfSubjectAccessReview that asks whether one may `verb`."""
    attributes = drop_none(
        group=resource.group,
        resource=resource.plural,
        verb=verb,
        namespace=namespace,
        subresource=subresource,
        name=name,
    )
    return {
        "apiVersion": SELF_SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SELF_SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": cast("JsonObject", attributes)},
    }


def target_namespace(resource: Resource, body: JsonObject, namespace: str | None) -> str | None:
    """Return the namespace of `body`: `namespace`, or else the one in it; None for a cluster-scoped kind."""
    if not resource.namespaced:
        return None
    found = namespace or text(obj(body, "metadata"), "namespace")
    if not found:
        raise ValueError(f"{resource.group_resource} is namespaced: give the object a namespace")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLogOptions:
    """Which part of the log of `container` to read; None means no limit.

    `since_seconds` is relative to now, `since_time` is RFC 3339 (fractions of a second are ignored). `previous` selects
    the container before the last restart. With `timestamps`, each line starts with its time.
    """

    container: str
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: str | None = None
    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    limit_bytes: int | None = None

    def query_params(self) -> dict[str, str]:
        flags = {"previous": self.previous, "follow": self.follow, "timestamps": self.timestamps}
        numbers = {"tailLines": self.tail_lines, "sinceSeconds": self.since_seconds, "limitBytes": self.limit_bytes}
        return drop_none(
            container=self.container,
            sinceTime=self.since_time,
            **{name: "true" for name, on in flags.items() if on},
            **{name: str(number) for name, number in numbers.items() if number is not None},
        )
