"""The shapes of what is told about the Helm release behind an xApp."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from xapp_operator.gateway.schemas.records import ResponseModel


class ReleaseManifest(ResponseModel):
    """The objects of the revision in force."""

    manifest: str = Field(description="YAML documents as the chart rendered them; secrets are masked.")


class ReleaseNotes(ResponseModel):
    """The notes of the revision in force."""

    notes: str = Field(description="The chart's NOTES; known secrets are masked.")


class RollbackBody(BaseModel):
    """Which revision to go back to."""

    model_config = ConfigDict(extra="forbid", strict=True)

    revision: int = Field(ge=1, description="Number of a revision in the history.")
