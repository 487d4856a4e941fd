"""What requests of the Kubernetes API look like: headers, query parameters, and bodies as bytes.

Lives beside `client` and does no I/O, so that the verbs there read as verbs.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import orjson

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import FIELD_MANAGER
from xapp_operator.domain import bounded_json
from xapp_operator.errors import ApiUnavailable
from xapp_operator.kube.resources import Resource

PatchKind: TypeAlias = Literal["merge", "json"]
PropagationPolicy: TypeAlias = Literal["Background", "Foreground", "Orphan"]
Headers: TypeAlias = dict[str, str]

JSON_HEADERS: Final[Headers] = {"Content-Type": "application/json"}
APPLY_HEADERS: Final[Headers] = {"Content-Type": "application/apply-patch+yaml"}
PATCH_HEADERS: Final[dict[PatchKind, Headers]] = {
    "merge": {"Content-Type": "application/merge-patch+json"},
    "json": {"Content-Type": "application/json-patch+json"},
}
METADATA_HEADERS: Final[Headers] = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METADATA_LIST_HEADERS: Final[Headers] = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}


def decode_object(body: bytes) -> JsonObject:
    """Return the JSON object in an answer.

    Raises:
        ApiUnavailable: for anything else, as a proxy in front of the API server may answer.
    """
    try:
        decoded = bounded_json.loads_bounded(body)
    except orjson.JSONDecodeError:
        decoded = None
    if not isinstance(decoded, dict):
        raise ApiUnavailable("the Kubernetes API answered with something that is not a JSON object")
    return decoded


def drop_none(**params: str | None) -> dict[str, str]:
    """Return the parameters that are not None."""
    return {key: value for key, value in params.items() if value is not None}


def write_params(*, dry_run: bool) -> dict[str, str]:
    """Return the query of a write: our field manager, and unknown or repeated fields refused."""
    params = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
    return params | {"dryRun": "All"} if dry_run else params


def target_namespace(resource: Resource, body: JsonObject, namespace: str | None) -> str | None:
    """Return where `body` goes: `namespace`, or else the one in it; None for a cluster-scoped kind."""
    if not resource.namespaced:
        return None
    found = namespace or text(obj(body, "metadata"), "namespace")
    if not found:
        raise ValueError(f"{resource.group_resource} is namespaced: give the object a namespace")
    return found
