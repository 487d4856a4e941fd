"""The chart of an xApp: the archive that its spec asks for, or else what Helm keeps of the deployed one.

Both are read with the caller's token.
"""

from __future__ import annotations

import asyncio
from typing import Final

import orjson

from xapp_operator.api.json import Json, JsonObject, obj
from xapp_operator.charts.archives.chart_texts import README_FILES, TEXT_MAX
from xapp_operator.common.text import shorten
from xapp_operator.domain.chart_values.values_text import dump_values_text
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.domain.masking.redaction import redact
from xapp_operator.errors import AccessDenied, GatewayNotFound, HelmError, XAppError
from xapp_operator.gateway.catalog.records import SOURCE_LABELS
from xapp_operator.gateway.charts.descriptions import ChartDescriber, PackedChart, encode_description
from xapp_operator.gateway.deploy.chart_loading import ChartLoader
from xapp_operator.gateway.deploy.desired_xapp import desired_with_values
from xapp_operator.gateway.deploy.values_input import SentValues
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.helm.releases.release_storage import ChartMetadata

FROM_RELEASE_WARNING: Final = "this is what Helm keeps of the deployed chart, because its archive cannot be read"


async def describe_xapp_chart(context: XAppContext, *, loader: ChartLoader, describer: ChartDescriber) -> bytes:
    """Return the description of an xApp's chart as JSON, secrets masked.

    Raises:
        GatewayNotFound: when neither an archive nor a release is there.
        XAppError: for the archive, when it cannot be read and no release can be read either.
    """
    refusal: XAppError | None = None
    if context.entry.source != SOURCE_LABELS:
        xapp = await context.get_xapp()
        try:
            chart = await load_chart(context, xapp, loader=loader)
            warnings = await describer.find_problems(chart, namespace=context.namespace)
            return await describer.describe(chart, warnings=warnings, masked=True)
        except XAppError as error:
            refusal = error
    try:
        release = await get_deployed_release(context.caller.client, context.entry)
    except (AccessDenied, HelmError) as error:
        raise refusal or error from None
    if release is None:
        raise refusal or GatewayNotFound("no revision of this xApp is deployed, so nothing is known of its chart")
    reason = FROM_RELEASE_WARNING if refusal is None else f"{FROM_RELEASE_WARNING}: {refusal.message}"
    return await asyncio.to_thread(_describe_deployed, release.chart, warnings=(reason,))


async def load_chart(context: XAppContext, xapp: JsonObject, *, loader: ChartLoader) -> PackedChart:
    """Return the chart that the spec of an XApp asks for.

    Raises:
        XAppError: as `ChartLoader.load`.
    """
    desired = desired_with_values(xapp, SentValues(obj(obj(xapp, "spec"), "values")))
    return await loader.load(context.caller.client, desired, desired.form.spec)


def _describe_deployed(chart: ChartMetadata, *, warnings: tuple[str, ...]) -> bytes:
    readme = next((found for name in README_FILES if (found := chart.read_text(name)) is not None), None)
    values = {} if deeper_than(chart.values, MAX_DEPTH) else redact(chart.values)
    return encode_description(
        {
            "archive": None,
            "name": chart.name,
            "version": chart.version,
            "appVersion": chart.app_version or None,
            "description": chart.description or None,
            "digest": None,
            "size": None,
            "dependencies": list[Json](chart.dependencies),
            "values": values,
            "valuesText": shorten(dump_values_text(values), TEXT_MAX),
            "schema": values_schema(chart),
            "readme": None if readme is None else shorten(readme, TEXT_MAX),
        },
        warnings=warnings,
    )


def values_schema(chart: ChartMetadata) -> Json:
    """Return the schema in a Helm record, or None for one that is missing or cannot be shown."""
    try:
        found: Json = orjson.loads(chart.schema)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict | bool) and not deeper_than(found, MAX_DEPTH) else None
