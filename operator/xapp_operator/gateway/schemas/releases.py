"""Models of one revision of a release, of the diff of two, and of the tests of a chart."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel


class RevisionDetails(ResponseModel):
    """What Helm keeps of one revision."""

    revision: int
    status: str | None
    chart: str | None
    chart_version: str | None
    app_version: str | None
    deployed_at: datetime | None = Field(description="When helm made it, also if it failed.")
    description: str | None = Field(
        description="Helm's description of it, which is the whole error if it failed; known secrets masked."
    )
    values: dict[str, Any] | None = Field(description="The user's values, secrets masked; null if nested too deeply.")
    values_text: str | None = Field(
        description="The same as YAML, with all digits of whole numbers, which JSON in a browser rounds."
    )
    manifest: str = Field(description="The rendered objects as YAML documents, secrets masked.")
    notes: str = Field(description="The chart's NOTES, known secrets masked.")


class RevisionDiff(ResponseModel):
    """The unified diffs of two revisions; an empty text for what is equal, null for what was not asked for."""

    from_revision: int = Field(alias="from")
    to_revision: int = Field(alias="to")
    values: str | None
    manifest: str | None = Field(description="Objects are compared by kind and name, without hooks.")
    notes: str | None
    truncated: list[Literal["values", "manifest", "notes"]] = Field(
        description="Diffs that were cut after 1 MiB; null instead of a diff: too large to be compared."
    )


class ReleaseTest(ResponseModel):
    """One test of a chart (`helm.sh/hook: test`)."""

    name: str
    kind: str | None
    phase: str | None = Field(description="Unknown, Running, Succeeded or Failed; null before its first run.")
    started_at: datetime | None
    completed_at: datetime | None
    log: str | None = Field(
        description="The end of the log, at most 64 KiB; null without permission to list pods and to get "
        "pods/log, and if the pod is gone."
    )
