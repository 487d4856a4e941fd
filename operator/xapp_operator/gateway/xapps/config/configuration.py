"""The configuration of an xApp: where it can be reached, and its values.

Services come from the watches. Values and Helm's records are read with the caller's token for each request, so the
gateway shows nothing that the API server would not show the caller.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, JsonObject, encode_json, integer, obj, text
from xapp_operator.api.models import XAppSpec
from xapp_operator.domain.chart_values.value_layers import CHART_LAYER, USER_LAYER, ValuesLayer, effective_values
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.domain.masking.redaction import redact
from xapp_operator.errors import AccessDenied, KubeError, ValuesInvalid, XAppError
from xapp_operator.gateway.catalog.records import SOURCE_LABELS
from xapp_operator.gateway.charts.descriptions import ChartDescriber
from xapp_operator.gateway.charts.value_sources import ValueSources, source_name
from xapp_operator.gateway.deploy.chart_loading import ChartLoader
from xapp_operator.gateway.deploy.values_input import values_text_of
from xapp_operator.gateway.proxy.targets import ProxyTarget, select_api_target
from xapp_operator.gateway.proxy.xapp_proxy import XAppProxy
from xapp_operator.gateway.xapps.config.own_api import OwnApis
from xapp_operator.gateway.xapps.config.service_addresses import services_with_addresses
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.release.chart import load_chart, values_schema
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.helm.releases.release_storage import ReleaseRecord
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.resources import SERVICES

CHART_SECONDS: Final = 3.0
"""Time to read the archive of the chart, which may be a download; without it, the release has the chart's values."""
METADATA_PATHS: Final = ("/metadata", "/config/metadata")
METADATA_SECONDS: Final = 1.5
METADATA_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class ConfigurationSources:
    """Where the parts of a configuration come from."""

    advertise: AdvertiseAddress
    proxy: XAppProxy
    own_apis: OwnApis
    loader: ChartLoader
    describer: ChartDescriber
    values: ValueSources


async def get_configuration(context: XAppContext, sources: ConfigurationSources) -> bytes:
    """Return the JSON of an xApp's configuration.

    Raises:
        GatewayNotFound: when the XApp was deleted meanwhile.
        HelmError: for a Helm record that cannot be read.
    """
    entry = context.entry
    xapp = None if entry.source == SOURCE_LABELS else await context.get_xapp()
    target, may_ask = _api_target(context), await _may_ask(context)
    release, chart, advertise_address, metadata, own_api = await asyncio.gather(
        _readable_release(context),
        _chart_layer(context, xapp, sources),
        _optional_address(sources.advertise),
        _fetch_metadata(context, sources.proxy, target if may_ask else None),
        sources.own_apis.describe(context, target, may_ask=may_ask),
    )
    if chart is None:
        chart = ValuesLayer(CHART_LAYER, None if release is None else release.chart.values)
    layers = (chart, *await _layers_above(context, xapp, release, chart, sources.values))
    services = services_with_addresses(
        context.live_objects,
        namespace=entry.namespace,
        name=entry.name,
        advertise_address=advertise_address,
        gateway_host=context.host,
    )

    def encode_configuration() -> bytes:
        return encode_json(
            {
                "uid": None if xapp is None else text(obj(xapp, "metadata"), "uid"),
                "generation": None if xapp is None else integer(obj(xapp, "metadata"), "generation"),
                "services": list[Json](services),
                "values": layers[-1].masked,
                "effective": effective_values(layers),
                "layers": [{"from": layer.origin, "text": layer.shown_text} for layer in layers],
                "defaults": None if release is None else ValuesLayer(CHART_LAYER, release.chart.values).masked,
                "schema": None if release is None else values_schema(release.chart),
                "metadata": _redacted(metadata),
                "ownApi": own_api,
            }
        )

    return await asyncio.to_thread(encode_configuration)


async def get_values_text(context: XAppContext) -> str:
    """Return the user's values as they were written, secrets masked.

    Raises:
        GatewayNotFound: when the XApp was deleted meanwhile.
        AccessDenied: for an xApp known by its labels, when the caller may not read its release.
        HelmError: for a Helm record that cannot be read.
    """
    if context.entry.source != SOURCE_LABELS:
        return await asyncio.to_thread(values_text_of, await context.get_xapp())
    release = await get_deployed_release(context.caller.client, context.entry)
    layer = ValuesLayer(USER_LAYER, {} if release is None else release.config)
    return await asyncio.to_thread(lambda: layer.shown_text) or ""


async def _chart_layer(
    context: XAppContext, xapp: JsonObject | None, sources: ConfigurationSources
) -> ValuesLayer | None:
    """Return the values of the chart that the spec asks for, or None if its archive cannot be read in time."""
    if xapp is None:
        return None
    try:
        async with asyncio.timeout(CHART_SECONDS):
            chart = await load_chart(context, xapp, loader=sources.loader)
            return ValuesLayer(CHART_LAYER, chart.info.values, await sources.describer.read_values_text(chart))
    except (XAppError, TimeoutError):
        return None


async def _layers_above(
    context: XAppContext,
    xapp: JsonObject | None,
    release: ReleaseRecord | None,
    chart: ValuesLayer,
    sources: ValueSources,
) -> tuple[ValuesLayer, ...]:
    if xapp is None:
        return (ValuesLayer(USER_LAYER, None if release is None else release.config),)
    text, spec = await asyncio.to_thread(values_text_of, xapp), XAppSpec.model_validate(obj(xapp, "spec"))
    try:
        sourced = await sources.read(
            context.caller.client, spec, chart_values=chart.values or {}, text=text, invalid_as_unread=True
        )
    except ValuesInvalid:  # kubectl may have written values that are nested too deeply, or too long
        unread = (ValuesLayer(source_name(each), None) for each in spec.values_from or ())
        return (*unread, ValuesLayer(USER_LAYER, spec.user_values, text))
    return sourced.layers


async def _readable_release(context: XAppContext) -> ReleaseRecord | None:
    try:
        return await get_deployed_release(context.caller.client, context.entry)
    except AccessDenied:
        return None


async def _optional_address(advertise: AdvertiseAddress) -> str | None:
    try:
        return await advertise.get()
    except KubeError:
        return None


def _api_target(context: XAppContext) -> ProxyTarget | None:
    entry = context.entry
    try:
        return select_api_target(context.live_objects, namespace=entry.namespace, names=(entry.name, entry.release))
    except XAppError:
        return None


async def _may_ask(context: XAppContext) -> bool:
    return await context.caller.is_allowed("get", namespace=context.namespace, resource=SERVICES, subresource="proxy")


async def _fetch_metadata(context: XAppContext, proxy: XAppProxy, target: ProxyTarget | None) -> JsonObject | None:
    """Return what the xApp's own API answers about itself."""
    if target is None:
        return None
    try:
        async with asyncio.timeout(METADATA_SECONDS):
            for path in METADATA_PATHS:
                found = await proxy.fetch_json(
                    context.caller, target, path, seconds=METADATA_SECONDS, max_bytes=METADATA_MAX_BYTES
                )
                if found is not None:
                    return found
    except TimeoutError:
        pass
    return None


def _redacted(values: JsonObject | None) -> JsonObject | None:
    return None if values is None or deeper_than(values, MAX_DEPTH) else redact(values)
