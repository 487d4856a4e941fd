"""Parts of the status of an XApp that tell what the operator did, does and waits for."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from xapp_operator.api.spec_parts import Model
from xapp_operator.api.status_texts import CauseMessage, DigestText, StatusMessage, StatusText


class HookReference(Model):
    """A hook of the chart, by the object that it creates."""

    kind: StatusText = Field(description="Kind of the object.")
    name: StatusText = Field(description="Name of the object.")


class RollbackCause(Model):
    """Why the operator rolls an upgrade back that nobody asked to undo."""

    revision: int = Field(description="Revision that is deployed again.")
    reason: StatusText = Field(description="The condition reason of the upgrade's failure.")
    message: CauseMessage = Field(description="Why the upgrade failed.")


class LastAttempt(Model):
    """The last operation that Helm was asked for."""

    generation: int | None = Field(None, description="Newest generation whose chart and values have these digests.")
    chart_digest: DigestText | None = Field(None, description="First 40 hex digits of the archive's sha256.")
    values_digest: DigestText | None = Field(
        None, description="First 40 hex digits of the sha256 of the merged values."
    )
    action: StatusText | None = Field(None, description="Install, Upgrade, Rollback or Uninstall.")
    outcome: StatusText | None = Field(
        None,
        description="Running, Released (not yet healthy), Succeeded, Failed, Unhealthy or Interrupted.",
    )
    permanent: bool | None = Field(None, description="true: trying again without a change cannot help.")
    message: CauseMessage | None = Field(None, description="Helm's own error, trimmed.")
    reason: StatusText | None = Field(None, description="The condition reason of a failure.")
    rollback_to: StatusMessage | None = Field(
        None, description="The value of rollback-to that asked for it, or the revision that is held."
    )
    request_digest: DigestText | None = Field(
        None, description="First 40 hex digits of the sha256 of retry-at and force-at when it began: it answers them."
    )
    hook: HookReference | None = Field(None, description="The hook that Helm waits for, or that failed.")
    rollback_cause: RollbackCause | None = Field(
        None, description="Why an upgrade is rolled back that nobody asked to undo, until that has succeeded."
    )
    count: int | None = Field(None, description="How often it was tried in a row.")
    revision_before: int | None = Field(None, description="Newest revision when the last try began.")
    first_at: datetime | None = Field(None, description="When the first try began.")
    last_at: datetime | None = Field(None, description="When the outcome was recorded.")


class LastTest(Model):
    """The last run of the tests of the chart."""

    revision: int | None = Field(None, description="Revision that was tested.")
    secret_uid: StatusText | None = Field(None, description="UID of the Secret that records that revision.")
    outcome: StatusText | None = Field(None, description="Running, Interrupted, Succeeded or Failed.")
    requested: bool | None = Field(None, description="true: somebody asked for it with test-at.")
    message: CauseMessage | None = Field(None, description="What failed, and where its logs are.")
    count: int | None = Field(None, description="How often the run was begun.")
    first_at: datetime | None = Field(None, description="When it was first begun.")
    last_at: datetime | None = Field(None, description="When the outcome was recorded.")


class TerminatingObject(Model):
    """An object of the release that was being deleted already when Helm applied it."""

    kind: StatusText = Field(description="Kind of the object.")
    namespace: StatusText = Field("", description="Namespace of the object; empty if it has none.")
    name: StatusText = Field(description="Name of the object.")
    deleted_at: datetime = Field(description="When its deletion was asked for.")


class HandledAnnotations(Model):
    """The last value of each annotation that was handled."""

    reconcile_at: StatusMessage | None = Field(None, description="Last reconcile-at that was handled.")
    retry_at: StatusMessage | None = Field(None, description="Last retry-at that was handled.")
    force_at: StatusMessage | None = Field(None, description="Last force-at that was handled.")
    test_at: StatusMessage | None = Field(None, description="Last test-at that was handled.")
    rollback_to: StatusMessage | None = Field(None, description="Last rollback-to that was handled.")


class Step(StrEnum):
    """The steps of a deployment, in their order; a status has only those before `ready`."""

    QUEUED = "queued"
    CHART = "chart"
    RENDER = "render"
    HELM = "helm"
    OBJECTS = "objects"
    READY = "ready"


class Progress(Model):
    """Where a deployment is, or where it stopped."""

    step: StatusText = Field(
        description="queued (not begun, or waiting for other XApps or another helm), chart (fetching it), render "
        "(values and templates), helm, or objects (becoming healthy)."
    )
    started_at: datetime | None = Field(None, description="When this step began.")
    deadline: datetime | None = Field(None, description="When the operator gives this step up, or gave it up.")
    attempt: int | None = Field(None, description="How often it was tried in a row.")
    next_try_at: datetime | None = Field(None, description="When the operator tries again after a passing failure.")
