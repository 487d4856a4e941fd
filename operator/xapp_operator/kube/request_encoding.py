"""Requests and responses of the Kubernetes API: headers, query parameters and bodies. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import orjson

from xapp_operator.api.json import JsonObject, items, obj, text
from xapp_operator.api.names import FIELD_MANAGER
from xapp_operator.domain import bounded_json
from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.resources import SELF_SUBJECT_ACCESS_REVIEWS, Resource

Headers: TypeAlias = dict[str, str]

JSON_HEADERS: Final[Headers] = {"Content-Type": "application/json"}
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
    """Return the parameters that are not None."""
    return {key: value for key, value in params.items() if value is not None}


def write_params(*, dry_run: bool) -> dict[str, str]:
    """Return the query of a write: our field manager, and strict field validation."""
    params = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
    return params | {"dryRun": "All"} if dry_run else params


def target_namespace(resource: Resource, body: JsonObject, namespace: str | None) -> str | None:
    """Return the namespace of `body`: `namespace`, or else the one in it; None for a cluster-scoped kind."""
    if not resource.namespaced:
        return None
    found = namespace or text(obj(body, "metadata"), "namespace")
    if not found:
        raise ValueError(f"{resource.group_resource} is namespaced: give the object a namespace")
    return found


def watch_params(
    *,
    label_selector: str | None,
    resource_version: str | None,
    initial_events: bool,
    timeout_seconds: int,
) -> dict[str, str]:
    """Return the query of a watch; with `initial_events` as a streaming list (KEP-3157)."""
    return drop_none(
        watch="true",
        allowWatchBookmarks="true",
        timeoutSeconds=str(timeout_seconds),
        labelSelector=label_selector,
        resourceVersion=resource_version,
        sendInitialEvents="true" if initial_events else None,
        resourceVersionMatch="NotOlderThan" if initial_events else None,
    )


def delete_options(*, uid: str | None, resource_version: str | None) -> JsonObject:
    """Return the DeleteOptions (meta/v1) with these preconditions."""
    options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if preconditions := drop_none(uid=uid, resourceVersion=resource_version):
        options["preconditions"] = cast("JsonObject", preconditions)
    return options


def access_review(
    resource: Resource, verb: str, *, namespace: str | None, name: str | None, subresource: str | None
) -> JsonObject:
    """Return a SelfSubjectAccessReview."""
    attributes = drop_none(
        group=resource.group,
        resource=resource.plural,
        verb=verb,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )
    return {
        "apiVersion": SELF_SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SELF_SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": cast("JsonObject", attributes)},
    }
