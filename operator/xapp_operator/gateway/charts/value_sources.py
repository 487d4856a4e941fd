"""The values that a chart gets above its own, merged as the operator merges them.

They are the advertise address if the chart declares a path for it, `valuesFrom` (read with the caller's client), and
the values of the XApp.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XAppSpec
from xapp_operator.api.spec_parts import ValuesRef
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.config.settings import Settings
from xapp_operator.domain.chart_values.value_layers import ADDRESS_LAYER, USER_LAYER, ValuesLayer
from xapp_operator.domain.chart_values.values import advertise_address_layer, merge_values
from xapp_operator.domain.chart_values.values_places import rounding_warnings
from xapp_operator.errors import KubeError, ValuesInvalid, ValuesNotFound
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.referenced_data import ValuesFile, ValuesFileReader

VALUES_AT_ONCE: Final = 4
"""Requests whose values files are read and merged at the same time, shared fairly by namespace."""


@dataclass(frozen=True, slots=True)
class SourcedValues:
    """The layers above the chart, low to high, what they are merged, and why some could not be read."""

    layers: tuple[ValuesLayer, ...]
    merged: JsonObject = field(repr=False)
    unread_warnings: tuple[str, ...]
    rounding_warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """One source in `valuesFrom`, and its file if it could be read."""

    source: ValuesRef
    file: ValuesFile | None


class ValueSources:
    def __init__(self, settings: Settings, *, advertise_address: AdvertiseAddress) -> None:
        self._settings = settings
        self._advertise_address = advertise_address
        self._slots = FairSlots(VALUES_AT_ONCE)

    async def read(
        self,
        client: KubeClient,
        spec: XAppSpec,
        *,
        chart_values: JsonObject,
        text: str | None = None,
        invalid_as_unread: bool = False,
    ) -> SourcedValues:
        """Return the values of `spec` for a chart.

        Args:
            client: the caller's client, which reads the sources in `valuesFrom`.
            spec: includes the caller's values.
            chart_values: the chart's own values.
            text: what the caller's values were written as.
            invalid_as_unread: whether a values file that is not valid counts as one that cannot be read.

        Raises:
            ValuesInvalid: for values that are nested too deeply, and for a values file that is not valid.
        """
        address = await self._address_layer(chart_values)
        async with self._slots.slot(spec.namespace):
            files = await self._read_files(client, spec)

            def merge() -> SourcedValues:
                sourced = [_file_layer(each, invalid_as_unread=invalid_as_unread) for each in files]
                layers = (
                    *((address,) if address.values else ()),
                    *sourced,
                    ValuesLayer(USER_LAYER, spec.user_values, text),
                )
                return SourcedValues(
                    layers=layers,
                    merged=merge_values(*(each.values or {} for each in layers)),
                    unread_warnings=tuple(
                        f"{each.source.kind} {each.source.name} in valuesFrom could not be read and was left out"
                        for each in files
                        if each.file is None
                    ),
                    rounding_warnings=tuple(warning for each in layers for warning in _rounding_warnings(each)),
                )

            return await asyncio.to_thread(merge)

    async def _address_layer(self, chart_values: JsonObject) -> ValuesLayer:
        try:
            address = await self._advertise_address.get()
        except KubeError:
            # The gateway may lack the operator's right to read nodes; then the chart's default is rendered.
            address = None
        paths = self._settings.advertise_address_values
        values = {} if address is None else advertise_address_layer(chart_values, paths, address)
        return ValuesLayer(ADDRESS_LAYER, values)

    async def _read_files(self, client: KubeClient, spec: XAppSpec) -> list[_ReadFile]:
        files: list[_ReadFile] = []
        reader = ValuesFileReader(client, self._settings, namespace=spec.namespace)
        for source in spec.values_from or ():
            try:
                files.append(_ReadFile(source, await reader.read(source)))
            except (KubeError, ValuesNotFound):
                # The reader knows what is optional: it returns an empty file for one that does not exist.
                files.append(_ReadFile(source, None))
        return files


def source_name(source: ValuesRef) -> str:
    """Return what the layer of a source in `valuesFrom` is called."""
    return f"{source.kind}/{source.name}"


def _file_layer(read: _ReadFile, *, invalid_as_unread: bool) -> ValuesLayer:
    origin = source_name(read.source)
    if read.file is None:
        return ValuesLayer(origin, None)
    try:
        return ValuesLayer(origin, read.file.parse(), read.file.data.decode("utf-8-sig", "replace"))
    except ValuesInvalid:
        if not invalid_as_unread:
            raise
        return ValuesLayer(origin, None)


def _rounding_warnings(layer: ValuesLayer) -> list[str]:
    if layer.values is None:
        return []
    file = "" if layer.origin == USER_LAYER else layer.origin
    return rounding_warnings(layer.values, text=layer.text, file=file)
