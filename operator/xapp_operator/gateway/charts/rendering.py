"""Renders a chart offline with the cluster's version and APIs: a check for uploads, and the content of a dry run.

Values are merged as the operator merges them: the advertise address if the chart declares a path for it, `valuesFrom`
(read with the caller's client), then the caller's own values.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XAppSpec
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.config import Settings
from xapp_operator.domain.redaction import redact, secret_texts
from xapp_operator.domain.values import advertise_address_layer, merge_values
from xapp_operator.errors import KubeError, ValuesNotFound
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes
from xapp_operator.helm.requests import TemplateRequest
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.referenced_data import ValuesFile, ValuesFileReader

VALUES_AT_ONCE: Final = 4
"""Requests whose values files are read and merged at the same time, shared fairly by namespace."""

EXTERNAL_SCHEMA_WARNING: Final = (
    "the values were not checked, because the chart's schema refers to a document outside the chart"
)
SCHEMA_SKIPPED_WARNING: Final = (
    "the values were not checked against the chart's schema, because some of them could not be read"
)

CHECKED_RELEASE_NAME: Final = "release-name"
"""As `helm template` names a release by default."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What the caller of a dry run sees: a rendered chart and its values, secrets masked."""

    manifest: str
    notes: str
    values: JsonObject
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """A rendered chart and the merged values that it was rendered with, not masked."""

    manifest: str = field(repr=False)
    notes: str = field(repr=False)
    values: JsonObject = field(repr=False)
    warnings: tuple[str, ...]

    @property
    def secrets(self) -> frozenset[str]:
        """The secret texts of the values. Takes a walk through all values."""
        return secret_texts(self.values)

    def masked(self) -> Preview:
        """Return what may be shown. Takes time in proportion to the manifest: call it in a thread."""
        secrets = self.secrets
        return Preview(
            manifest=mask_manifest(self.manifest, secrets=secrets),
            notes=mask_notes(self.notes, secrets=secrets),
            values=redact(self.values),
            warnings=tuple(mask_notes(warning, secrets=secrets) for warning in self.warnings),
        )


class ChartRenderer:
    def __init__(
        self, settings: Settings, *, kube: KubeClient, engine: HelmEngine, advertise_address: AdvertiseAddress
    ) -> None:
        self._settings = settings
        self._kube = kube
        self._engine = engine
        self._advertise_address = advertise_address
        self._values_slots = FairSlots(VALUES_AT_ONCE)

    async def render(
        self,
        client: KubeClient,
        spec: XAppSpec,
        *,
        name: str,
        chart: Path,
        info: ChartInfo,
        upgrade: bool,
        for_display: bool,
    ) -> RenderedChart:
        """Return the chart rendered as `spec` asks for.

        Args:
            client: the caller's client, which reads the sources in `valuesFrom`.
            spec: includes the caller's values.
            name: `metadata.name` of the XApp.
            chart: the path of the archive.
            info: the content of the archive.
            upgrade: whether `.Release.IsUpgrade` is true.
            for_display: whether to render NOTES, with a second helm process.

        Raises:
            ChartInvalid: when the chart cannot be rendered.
            ValuesInvalid: when its schema rejects the values.
        """
        address_layer = await self._advertise_address_layer(info)
        async with self._values_slots.slot(spec.namespace):
            layers, unread_warnings = await self._read_values_from(client, spec)
            values = await asyncio.to_thread(merge_values, address_layer, *layers, spec.user_values)
        version, api_versions = await asyncio.gather(self._kube.server_version(), self._kube.discovery.api_versions())
        rendered = await self._engine.template(
            TemplateRequest(
                name=spec.release_name or name,
                namespace=spec.namespace,
                chart=chart,
                values=values,
                kube_version=version,
                api_versions=api_versions,
                skip_schema=info.external_refs or bool(unread_warnings),
                upgrade=upgrade,
                notes=for_display,
                chart_name=info.name,
            )
        )
        return RenderedChart(
            manifest=rendered.manifest,
            notes=rendered.notes,
            values=await asyncio.to_thread(merge_values, info.values, values),
            warnings=(*unread_warnings, *_schema_warnings(info, complete=not unread_warnings), *rendered.warnings),
        )

    async def check(self, chart: Path, info: ChartInfo, *, namespace: str) -> tuple[str, ...]:
        """Render a chart with its default values, and return what would be a problem; the schema is not checked.

        Raises:
            ChartInvalid: when its templates cannot be rendered with any values.
        """
        version, api_versions = await asyncio.gather(self._kube.server_version(), self._kube.discovery.api_versions())
        rendered = await self._engine.template(
            TemplateRequest(
                name=CHECKED_RELEASE_NAME,
                namespace=namespace,
                chart=chart,
                values={},
                kube_version=version,
                api_versions=api_versions,
                skip_schema=True,
                upgrade=False,
                chart_name=info.name,
            )
        )
        external = (EXTERNAL_SCHEMA_WARNING,) if info.external_refs else ()
        return (*external, *rendered.warnings)

    async def _advertise_address_layer(self, info: ChartInfo) -> JsonObject:
        try:
            address = await self._advertise_address.get()
        except KubeError:
            # The gateway may lack the operator's right to read nodes; then the chart's default is rendered.
            return {}
        return (
            {}
            if address is None
            else advertise_address_layer(info.values, self._settings.advertise_address_values, address)
        )

    async def _read_values_from(self, client: KubeClient, spec: XAppSpec) -> tuple[list[JsonObject], list[str]]:
        files: list[ValuesFile] = []
        warnings: list[str] = []
        reader = ValuesFileReader(client, self._settings, namespace=spec.namespace)
        for source in spec.values_from or ():
            try:
                files.append(await reader.read(source))
            except (KubeError, ValuesNotFound):
                if not source.optional:
                    warnings.append(f"{source.kind} {source.name} in valuesFrom could not be read and was left out")
        return [await asyncio.to_thread(file.parse) for file in files], warnings


def _schema_warnings(info: ChartInfo, *, complete: bool) -> tuple[str, ...]:
    """Return why the values were not checked against the chart's schema, if it has one."""
    if info.external_refs:
        return (EXTERNAL_SCHEMA_WARNING,)
    return (SCHEMA_SKIPPED_WARNING,) if info.schema is not None and not complete else ()
