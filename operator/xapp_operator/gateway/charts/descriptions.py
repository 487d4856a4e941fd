"""What a packed chart is, as a dry run of an upload tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from xapp_operator.api.json import Json, JsonObject, encode_json
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.chart_texts import read_chart_texts
from xapp_operator.gateway.charts.uploads import UploadedChart


async def describe_chart(
    chart: UploadedChart, *, limits: ArchiveLimits, threads: ThreadPoolExecutor, warnings: Sequence[str]
) -> bytes:
    """Return the description of a valid chart as JSON; `threads` unpack it once more for its texts."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(threads, partial(_describe, chart, limits=limits, warnings=warnings))


def _describe(chart: UploadedChart, *, limits: ArchiveLimits, warnings: Sequence[str]) -> bytes:
    info, texts = chart.info, read_chart_texts(chart.data, limits=limits)
    description: JsonObject = {
        "archive": chart.archive_name,
        "name": info.name,
        "version": info.version,
        "appVersion": info.app_version or None,
        "description": info.description or None,
        "digest": f"sha256:{info.digest}",
        "size": info.size,
        "dependencies": list[Json](info.dependencies),
        "values": info.values,
        "valuesText": texts.values,
        "schema": info.schema,
        "readme": texts.readme,
        "warnings": list[Json](warnings),
    }
    return encode_json(description)
