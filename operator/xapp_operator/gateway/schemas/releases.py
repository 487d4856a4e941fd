"""Models of an xApp's Helm release."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from xapp_operator.gateway.schemas.records import ResponseModel


class ReleaseManifest(ResponseModel):
    """The objects of the current revision."""

    manifest: str = Field(description="The rendered objects as YAML documents, secrets masked.")


class ReleaseNotes(ResponseModel):
    """The notes of the current revision."""

    notes: str = Field(description="The chart's NOTES, known secrets masked.")


class RollbackBody(BaseModel):
    """The revision to roll back to."""

    model_config = ConfigDict(extra="forbid", strict=True)

    revision: int = Field(ge=1, description="Number of a revision in the history.")
