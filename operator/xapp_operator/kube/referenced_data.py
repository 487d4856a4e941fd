"""Reads what an XApp refers to in its namespace: values files of `valuesFrom`, and the archive of an uploaded chart.

The operator and the gateway use the same readers, each with a client that has the rights of whoever asks.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from dataclasses import dataclass, field
from typing import Final, Literal

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.spec_parts import ArchiveSource, ValuesRef
from xapp_operator.common.text import format_bytes
from xapp_operator.config.settings import Settings
from xapp_operator.domain.chart_values.yaml_values import MAX_NODES, ValuesBudget, load_values
from xapp_operator.domain.control_characters import require_plain_values
from xapp_operator.errors import ChartNotFound, FormInvalid, NotFound, ValuesInvalid, ValuesNotFound
from xapp_operator.kube.reader import KubeReader
from xapp_operator.kube.resources import CHART_ARCHIVES, CONFIGMAPS, SECRETS

_RESOURCES: Final = {"ChartArchive": CHART_ARCHIVES, "Secret": SECRETS, "ConfigMap": CONFIGMAPS}
_ARCHIVE_FIELDS: Final = {"ChartArchive": "spec", "Secret": "data", "ConfigMap": "binaryData"}


@dataclass(frozen=True, slots=True)
class ArchiveReference:
    """The object in the XApp's namespace that holds an uploaded chart; `key` is None for a ChartArchive."""

    kind: Literal["ChartArchive", "Secret", "ConfigMap"]
    name: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """The packaged chart in such an object, the uid of that object, and the provenance file beside the chart.

    The provenance is under the key of the chart with `.prov`, or in `spec.provenance`.

    A ChartArchive declares the digest (`sha256:<hex>`), name and version of its chart. Anyone who may create one can
    declare what they like, so whoever uses the chart checks them.
    """

    data: bytes
    uid: str
    provenance: bytes | None = None
    declared_digest: str | None = None
    declared_name: str | None = None
    declared_version: str | None = None


@dataclass(frozen=True, slots=True)
class ValuesFile:
    """A values file as it was read, what it is called in errors, and what it and the files before it may have."""

    data: bytes
    label: str
    max_bytes: int
    budget: ValuesBudget = field(repr=False)

    def parse(self) -> JsonObject:
        """Return the values; takes a second for a large file. Each file of an XApp is parsed once, in order.

        Raises:
            ValuesInvalid: when this is not a values file of at most `max_bytes`, or has, with those before it, more
                values or texts than all together may have.
        """
        values = load_values(self.data, source=self.label, max_bytes=self.max_bytes, budget=self.budget)
        require_plain_values(values, source=f"{self.label}: values")
        return values


class ValuesFileReader:
    """Reads the values files of one XApp, of which each and all together are bounded."""

    def __init__(self, client: KubeReader, settings: Settings, *, namespace: str) -> None:
        """Read with the rights of `client`; `values_max_bytes` and `values_from_max_bytes` are the bounds.

        All files together have as many values as one can have, and `values_from_max_bytes` of texts, aliases expanded.
        """
        self._client = client
        self._namespace = namespace
        self._file_max_bytes = settings.values_max_bytes
        self._total_max_bytes = settings.values_from_max_bytes
        self._read_bytes = 0
        self._budget = ValuesBudget(nodes_max=MAX_NODES, characters_max=settings.values_from_max_bytes)

    async def read(self, source: ValuesRef) -> ValuesFile:
        """Return the file that `source` refers to; an empty one when it is optional and missing.

        Raises:
            ValuesNotFound: when the object or its key is missing.
            ValuesInvalid: when all files together are too long.
            KubeError: when the client cannot read the object.
        """
        data = await self._read_data(source) or b""
        self._read_bytes += len(data)
        if self._read_bytes > self._total_max_bytes:
            raise ValuesInvalid(
                f"the values files in valuesFrom have more than {format_bytes(self._total_max_bytes)} together. "
                "Remove what the chart does not need."
            )
        return ValuesFile(data, f"key {source.key} of {source.kind} {source.name}", self._file_max_bytes, self._budget)

    async def _read_data(self, source: ValuesRef) -> bytes | None:
        name = f"{source.kind} {source.name}"
        resource = SECRETS if source.kind == "Secret" else CONFIGMAPS
        body: JsonObject | None = None
        with contextlib.suppress(NotFound):
            body = await self._client.get(resource, source.name, namespace=self._namespace)
        content = obj(body, "data").get(source.key)
        if not isinstance(content, str):
            if source.optional:
                return None
            if body is None:
                raise ValuesNotFound(f"{name} in valuesFrom does not exist. Create it, or set optional: true.")
            raise ValuesNotFound(
                f"{name} in valuesFrom has no key {source.key}. Add the key, name another one, or set optional: true."
            )
        try:
            return base64.b64decode(content, validate=True) if source.kind == "Secret" else content.encode()
        except binascii.Error:
            raise ValuesInvalid(f"key {source.key} of {name} is not base64. Write it again.") from None


def archive_reference(archive: ArchiveSource | None) -> ArchiveReference:
    """Return the object that holds an uploaded chart.

    Raises:
        FormInvalid: when `archive` names none.
    """
    if archive is not None and archive.chart_archive_ref is not None:
        return ArchiveReference("ChartArchive", archive.chart_archive_ref.name)
    if archive is not None and archive.secret_ref is not None:
        return ArchiveReference("Secret", archive.secret_ref.name, archive.secret_ref.key)
    if archive is not None and archive.config_map_ref is not None:
        return ArchiveReference("ConfigMap", archive.config_map_ref.name, archive.config_map_ref.key)
    raise FormInvalid("spec.archive names no ChartArchive, Secret or ConfigMap. Add one of them.")


async def read_archive(client: KubeReader, archive: ArchiveSource | None, *, namespace: str) -> StoredArchive:
    """Return the archive that `spec.archive` refers to.

    Raises:
        FormInvalid: when it refers to nothing.
        ChartNotFound: when the object or its key is missing, or the content is not base64.
        KubeError: when `client` cannot read the object.
    """
    reference = archive_reference(archive)
    try:
        body = await client.get(_RESOURCES[reference.kind], reference.name, namespace=namespace)
    except NotFound:
        raise ChartNotFound(
            f"{reference.kind} {reference.name} with the uploaded chart does not exist. Upload the chart again, or "
            "create it."
        ) from None
    spec = obj(body, "spec")
    chart = obj(spec, "chart")
    return StoredArchive(
        data=await asyncio.to_thread(_decode_archive, body, reference),
        uid=text(obj(body, "metadata"), "uid"),
        provenance=_decode_provenance(body, reference),
        declared_digest=text(spec, "digest") or None,
        declared_name=text(chart, "name") or None,
        declared_version=text(chart, "version") or None,
    )


def _decode_provenance(body: JsonObject, reference: ArchiveReference) -> bytes | None:
    if reference.key is None:
        return text(obj(body, "spec"), "provenance").encode() or None
    key = f"{reference.key}.prov"
    plain = obj(body, "data").get(key) if reference.kind == "ConfigMap" else None
    if isinstance(plain, str):
        return plain.encode()
    try:
        return base64.b64decode(text(obj(body, _ARCHIVE_FIELDS[reference.kind]), key), validate=True) or None
    except binascii.Error:
        return None


def _decode_archive(body: JsonObject, reference: ArchiveReference) -> bytes:
    field = _ARCHIVE_FIELDS[reference.kind]
    encoded = obj(body, field).get(reference.key or "archive")
    if not isinstance(encoded, str):
        raise ChartNotFound(
            f"{reference.kind} {reference.name} has no key {reference.key} in {field}. Add the packaged chart under "
            "that key."
        )
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ChartNotFound(
            f"{reference.kind} {reference.name} has no chart archive under {reference.key or 'spec.archive'}. Write "
            "the packaged chart again."
        ) from None
