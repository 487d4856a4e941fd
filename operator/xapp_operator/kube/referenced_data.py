"""Reads what an XApp refers to in its namespace: values files of `valuesFrom`, and the archive of an uploaded chart.

The operator and the gateway use the same readers, each with a client that has the rights of whoever asks.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from dataclasses import dataclass

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import CHART_SECRET_TYPE
from xapp_operator.api.spec_parts import ArchiveSource, KeyRef, ValuesRef
from xapp_operator.domain.yaml_values import load_values
from xapp_operator.errors import ChartNotFound, FormInvalid, NotFound, ValuesInvalid, ValuesNotFound
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.resources import CONFIGMAPS, SECRETS


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """The packaged chart in a Secret or ConfigMap; `upload_uid` is the uid of a Secret that the gateway made."""

    data: bytes
    upload_uid: str | None


async def read_values_file(client: KubeReader, source: ValuesRef, *, namespace: str, max_bytes: int) -> JsonObject:
    """Return the values that `source` refers to; an empty object when it is optional and missing.

    Raises:
        ValuesNotFound: when the object or its key is missing.
        ValuesInvalid: when the content is not a values file of at most `max_bytes`.
        KubeError: when `client` cannot read the object.
    """
    name = f"{source.kind} {source.name}"
    body: JsonObject | None = None
    with contextlib.suppress(NotFound):
        body = await client.get(SECRETS if source.kind == "Secret" else CONFIGMAPS, source.name, namespace=namespace)
    content = obj(body, "data").get(source.key)
    if not isinstance(content, str):
        if source.optional:
            return {}
        if body is None:
            raise ValuesNotFound(f"{name} in valuesFrom does not exist. Create it, or set optional: true.")
        raise ValuesNotFound(
            f"{name} in valuesFrom has no key {source.key}. Add the key, name another one, or set optional: true."
        )
    label = f"key {source.key} of {name}"
    try:
        data = base64.b64decode(content, validate=True) if source.kind == "Secret" else content.encode()
    except binascii.Error:
        raise ValuesInvalid(f"{label} is not base64. Write it again.") from None
    return await asyncio.to_thread(load_values, data, source=label, max_bytes=max_bytes)


def archive_reference(archive: ArchiveSource | None) -> tuple[str, KeyRef]:
    """Return the kind of object that holds an uploaded chart (Secret or ConfigMap), its name and its key.

    Raises:
        FormInvalid: when `archive` names neither.
    """
    if archive is not None and archive.secret_ref is not None:
        return "Secret", archive.secret_ref
    if archive is not None and archive.config_map_ref is not None:
        return "ConfigMap", archive.config_map_ref
    raise FormInvalid("spec.archive names neither a Secret nor a ConfigMap. Add one of them.")


async def read_archive(client: KubeReader, archive: ArchiveSource | None, *, namespace: str) -> StoredArchive:
    """Return the archive that `spec.archive` refers to.

    Raises:
        FormInvalid: when it refers to nothing.
        ChartNotFound: when the object or its key is missing, or the content is not base64.
        KubeError: when `client` cannot read the object.
    """
    kind, reference = archive_reference(archive)
    body = await _get_archive_object(client, kind, reference, namespace=namespace)
    is_upload = kind == "Secret" and text(body, "type") == CHART_SECRET_TYPE and body.get("immutable") is True
    return StoredArchive(
        data=_decode_archive(body, kind, reference),
        upload_uid=text(obj(body, "metadata"), "uid") if is_upload else None,
    )


async def read_uploaded_archive(client: KubeReader, archive: ArchiveSource, *, namespace: str) -> bytes | None:
    """Return the archive if it is in a Secret that the gateway made from an upload, else None.

    Unlike `read_archive`, it reveals nothing about other objects, so that a client with more rights than the caller
    can use it. Raises as `read_archive`.
    """
    kind, reference = archive_reference(archive)
    if kind != "Secret":
        return None
    body = await _get_archive_object(client, kind, reference, namespace=namespace)
    return _decode_archive(body, kind, reference) if text(body, "type") == CHART_SECRET_TYPE else None


async def _get_archive_object(client: KubeReader, kind: str, reference: KeyRef, *, namespace: str) -> JsonObject:
    try:
        return await client.get(SECRETS if kind == "Secret" else CONFIGMAPS, reference.name, namespace=namespace)
    except NotFound:
        raise ChartNotFound(
            f"{kind} {reference.name} with the uploaded chart does not exist. Upload the chart again, or create it."
        ) from None


def _decode_archive(body: JsonObject, kind: str, reference: KeyRef) -> bytes:
    field = "data" if kind == "Secret" else "binaryData"
    encoded = obj(body, field).get(reference.key)
    if not isinstance(encoded, str):
        raise ChartNotFound(
            f"{kind} {reference.name} has no key {reference.key} in {field}. Add the packaged chart under that key."
        )
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ChartNotFound(
            f"{kind} {reference.name} has no chart archive under {reference.key}. Write the packaged chart again."
        ) from None
