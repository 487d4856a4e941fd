"""Models of uploaded charts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel


class ArchivedChartModel(ResponseModel):
    """What the ChartArchive says about its chart; null where it says nothing."""

    name: str | None
    version: str | None
    app_version: str | None
    description: str | None


class ChartArchiveRecord(ResponseModel):
    """One uploaded chart."""

    name: str = Field(description="Name of the ChartArchive, for archive.chartArchiveRef of an XApp.")
    namespace: str
    uid: str
    chart: ArchivedChartModel
    digest: str | None = Field(description="Digest of the archive: sha256: and 64 hex digits.")
    size: int | None = Field(description="Bytes of the archive.")
    keep: bool = Field(description="It stays until somebody deletes it, although nothing uses it.")
    created_at: datetime | None


class ChartArchiveDetails(ChartArchiveRecord):
    """One uploaded chart, and what uses it."""

    used_by: list[str] | None = Field(description="XApps that use it; null if you may not list XApps there.")


class ChartDescription(ResponseModel):
    """What a packed chart is."""

    archive: str | None = Field(description="Name that its ChartArchive has or would have; null without an archive.")
    name: str
    version: str
    app_version: str | None
    description: str | None
    digest: str | None = Field(description="sha256: and 64 hex digits; null without an archive.")
    size: int | None = Field(description="Bytes of the archive; null without an archive.")
    dependencies: list[str] = Field(description="Names of the charts that it contains as dependencies.")
    values: dict[str, Any] = Field(description="The default values.")
    values_text: str | None = Field(
        description="values.yaml with its comments, at most 256 KiB; without comments if there is no archive."
    )
    schema_: dict[str, Any] | bool | None = Field(alias="schema", description="The schema of the values.")
    readme: str | None = Field(description="At most 256 KiB of it.")
    warnings: list[str] = Field(description="What would be a problem with the default values, and other remarks.")
