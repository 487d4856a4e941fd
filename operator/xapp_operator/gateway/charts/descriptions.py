"""What a packed chart is: the same description for an upload, a version in a repository, and the chart of an xApp."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol

from xapp_operator.api.json import Json, JsonObject, encode_json
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.archives.chart_texts import TEXT_MAX, read_chart_texts
from xapp_operator.common.text import shorten
from xapp_operator.config.settings import Settings
from xapp_operator.domain.chart_values.values_text import dump_values_text, mask_values_text
from xapp_operator.domain.masking.redaction import redact
from xapp_operator.domain.naming import archive_name
from xapp_operator.errors import ChartInvalid, HelmError, HelmTimeout
from xapp_operator.gateway.charts.rendering import ChartRenderer


class PackedChart(Protocol):
    """A valid chart in a file."""

    @property
    def path(self) -> Path:
        """Return where the archive is."""

    @property
    def info(self) -> ChartInfo:
        """Return what is in it."""


class ChartDescriber:
    """Describes charts; `threads` unpack them for their texts, a bounded number at a time."""

    def __init__(self, settings: Settings, *, renderer: ChartRenderer, threads: ThreadPoolExecutor) -> None:
        self._limits = ArchiveLimits.from_settings(settings)
        self._renderer = renderer
        self._threads = threads

    async def describe(self, chart: PackedChart, *, warnings: Sequence[str], masked: bool = False) -> bytes:
        """Return the description of a chart as JSON; with `masked`, secrets in its values are masked."""
        work = partial(_describe, chart, limits=self._limits, warnings=warnings, masked=masked)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def read_values_text(self, chart: PackedChart) -> str | None:
        """Return the values.yaml of a chart, with its secrets, unless it has none or a very long one."""

        def read() -> str | None:
            found = read_chart_texts(chart.path.read_bytes(), limits=self._limits).values
            return found if found is not None and len(found) < TEXT_MAX else None

        return await asyncio.get_running_loop().run_in_executor(self._threads, read)

    async def find_problems(self, chart: PackedChart, *, namespace: str) -> tuple[str, ...]:
        """Render a chart with its default values in a namespace, and return what would be a problem."""
        try:
            return await self._renderer.check(chart.path, chart.info, namespace=namespace)
        except (ChartInvalid, HelmError, HelmTimeout) as error:
            return (error.message,)


def _describe(chart: PackedChart, *, limits: ArchiveLimits, warnings: Sequence[str], masked: bool) -> bytes:
    info, texts = chart.info, read_chart_texts(chart.path.read_bytes(), limits=limits)
    values_text = texts.values
    if masked and values_text is not None:
        values_text = mask_values_text(values_text)
        if values_text is None:  # it cannot be masked where it stands
            values_text = shorten(dump_values_text(redact(info.values)), TEXT_MAX)
    return encode_description(
        {
            "archive": archive_name(info.name, info.version, info.digest),
            "name": info.name,
            "version": info.version,
            "appVersion": info.app_version or None,
            "description": info.description or None,
            "digest": f"sha256:{info.digest}",
            "size": info.size,
            "dependencies": list[Json](info.dependencies),
            "values": redact(info.values) if masked else info.values,
            "valuesText": values_text,
            "schema": info.schema,
            "readme": texts.readme,
        },
        warnings=warnings,
    )


def encode_description(description: JsonObject, *, warnings: Sequence[str]) -> bytes:
    return encode_json({**description, "warnings": list[Json](warnings)})
