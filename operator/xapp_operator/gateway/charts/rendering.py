"""Renders a chart offline with the cluster's version and APIs: a check for uploads, and the content of a dry run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XAppSpec
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.domain.chart_values.value_layers import CHART_LAYER, SECRET_LAYER, ValuesLayer, effective_values
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.domain.masking.redaction import long_texts, secret_texts
from xapp_operator.errors import ChartInvalid, HelmError, Invalid, KubeError, ValuesInvalid
from xapp_operator.gateway.charts.existing_objects import ExistingObjects, find_existing_objects
from xapp_operator.gateway.charts.object_checks import check_objects
from xapp_operator.gateway.charts.value_sources import SourcedValues, ValueSources
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.helm.requests import DryRunRequest, RenderResult, TemplateRequest
from xapp_operator.kube.client import KubeClient

EXTERNAL_SCHEMA_WARNING: Final = (
    "the values were not checked, because the chart's schema refers to a document outside the chart"
)
SCHEMA_SKIPPED_WARNING: Final = (
    "the values were not checked against the chart's schema, because some of them could not be read"
)

OFFLINE_WARNING: Final = "the chart was rendered without the cluster, so lookup found nothing"

CHECKED_RELEASE_NAME: Final = "release-name"
"""As `helm template` names a release by default."""


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """A rendered chart, the merged values that it was rendered with, and their layers, not masked.

    If a template `stopped`, manifest and notes are empty. `on_server` says that `lookup` has asked the cluster.
    `existing` is for a display with `adopt: true` only: which of the objects are there already.
    """

    manifest: str = field(repr=False)
    notes: str = field(repr=False)
    values: JsonObject = field(repr=False)
    layers: tuple[ValuesLayer, ...] = field(repr=False)
    warnings: tuple[str, ...]
    stopped: bool = False
    on_server: bool = False
    existing: ExistingObjects = field(default_factory=dict, repr=False)

    @property
    def secrets(self) -> frozenset[str]:
        """The secret texts of the values. Takes a walk through all values."""
        return secret_texts(self.values)

    @property
    def masked_values(self) -> JsonObject:
        """Return the merged values that may be shown: layers that could not be read are left out."""
        return effective_values([layer for layer in self.layers if layer.values is not None]) or {}


class ChartRenderer:
    def __init__(self, *, kube: KubeClient, engine: HelmEngine, sources: ValueSources) -> None:
        self._kube = kube
        self._engine = engine
        self._sources = sources

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
        text: str | None = None,
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
            text: what the caller's values were sent as, for warnings that name lines.

        Raises:
            ChartInvalid: when the chart cannot be rendered.
            ValuesInvalid: when its schema rejects the values.
        """
        sourced = await self._sources.read(client, spec, chart_values=info.values, text=text)
        unread_warnings, values = sourced.unread_warnings, sourced.merged
        on_server, server_warnings = None, tuple[str, ...]()
        if for_display and not unread_warnings:
            on_server, server_warnings = await self._render_on_server(
                client, spec, name=name, chart=chart, info=info, upgrade=upgrade, sourced=sourced
            )
        rendered = on_server or await self._render_offline(
            spec,
            name=name,
            chart=chart,
            info=info,
            upgrade=upgrade,
            values=values,
            for_display=for_display,
            skip_schema=bool(unread_warnings),
        )
        existing: ExistingObjects = {}
        if for_display and spec.adopt:
            existing = await find_existing_objects(client, rendered.manifest, namespace=spec.namespace)
        return RenderedChart(
            manifest=rendered.manifest,
            notes=rendered.notes,
            values=await asyncio.to_thread(merge_values, info.values, values),
            layers=(ValuesLayer(CHART_LAYER, info.values), *sourced.layers),
            warnings=(
                *unread_warnings,
                *sourced.rounding_warnings,
                *_schema_warnings(info, complete=not unread_warnings),
                *server_warnings,
                *rendered.warnings,
            ),
            stopped=rendered.stopped,
            on_server=on_server is not None,
            existing=existing,
        )

    async def _render_on_server(
        self,
        client: KubeClient,
        spec: XAppSpec,
        *,
        name: str,
        chart: Path,
        info: ChartInfo,
        upgrade: bool,
        sourced: SourcedValues,
    ) -> tuple[RenderResult | None, tuple[str, ...]]:
        """Return the chart rendered with the cluster as the caller, or None and the reason why that is not possible.

        Raises:
            ValuesInvalid, ChartInvalid, Invalid: when a template stops, or what it renders is not valid.
        """
        secrets = await asyncio.to_thread(_secrets_of, info, sourced)
        request = DryRunRequest(
            name=spec.release_name or name,
            namespace=spec.namespace,
            chart=chart,
            values=sourced.merged,
            secrets=secrets,
            connection=await client.connection(),
            upgrade=upgrade,
            take_ownership=spec.adopt,
            skip_schema=info.external_refs,
            chart_name=info.name,
            object_metadata=ObjectMetadata.for_xapp(name, spec),
        )
        try:
            rendered = await self._engine.dry_run(request)
        except (ValuesInvalid, ChartInvalid, Invalid):
            raise
        except (HelmError, KubeError) as error:
            return None, (f"{OFFLINE_WARNING}: {error.message}",)
        return rendered, await check_objects(client, rendered.manifest, namespace=spec.namespace)

    async def _render_offline(
        self,
        spec: XAppSpec,
        *,
        name: str,
        chart: Path,
        info: ChartInfo,
        upgrade: bool,
        values: JsonObject,
        for_display: bool,
        skip_schema: bool,
    ) -> RenderResult:
        version, api_versions = await asyncio.gather(self._kube.server_version(), self._kube.discovery.api_versions())
        return await self._engine.template(
            TemplateRequest(
                name=spec.release_name or name,
                namespace=spec.namespace,
                chart=chart,
                values=values,
                kube_version=version,
                api_versions=api_versions,
                skip_schema=info.external_refs or skip_schema,
                upgrade=upgrade,
                notes=for_display,
                chart_name=info.name,
                object_metadata=ObjectMetadata.for_xapp(name, spec) if for_display else None,
            )
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


def _secrets_of(info: ChartInfo, sourced: SourcedValues) -> frozenset[str]:
    """Return the texts that an error of helm must not contain: secrets of all values, and all texts of Secrets."""
    merged = merge_values(info.values, sourced.merged)
    hidden = (each.values for each in sourced.layers if each.origin.startswith(SECRET_LAYER))
    return secret_texts(merged).union(*(long_texts(values) for values in hidden if values is not None))


def _schema_warnings(info: ChartInfo, *, complete: bool) -> tuple[str, ...]:
    """Return why the values were not checked against the chart's schema, if it has one."""
    if info.external_refs:
        return (EXTERNAL_SCHEMA_WARNING,)
    return (SCHEMA_SKIPPED_WARNING,) if info.schema is not None and not complete else ()
