"""Models of dry runs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from xapp_operator.gateway.schemas.records import ResponseModel


class DryRunObject(ResponseModel):
    """One object of the release; hooks are left out."""

    api_version: str | None
    kind: str
    namespace: str | None = Field(description="Null if the manifest names none.")
    name: str
    change: Literal["create", "change", "remove", "unchanged"] | None = Field(
        description="What becomes of it; null without permission to read the deployed release, or the object that "
        "adopt takes over."
    )


class DryRun(ResponseModel):
    """What a deployment, an upgrade, a change of values or a rollback would do; nothing has been changed."""

    manifest: str = Field(description="The rendered objects, as YAML documents, secrets masked.")
    notes: str = Field(description="The chart's NOTES, rendered, known secrets masked.")
    values: dict[str, Any] = Field(description="The merged values, secrets masked, those from Secrets wholly.")
    warnings: list[str]
    diff: str | None = Field(
        description="Unified diff from the objects of the release to the new ones, one file for each object, secrets "
        "masked. Null for a new xApp that adopts no release, without permission to get Secrets, and if a template "
        "stopped."
    )
    objects: list[DryRunObject] = Field(description="Empty if a template stopped.")
    rendered: Literal["server", "offline"] = Field(
        description="server: with the cluster, so that lookup finds what you may read. offline: without it."
    )
