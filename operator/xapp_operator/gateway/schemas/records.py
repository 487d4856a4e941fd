"""Models of an xApp's record and of what all responses share.

Responses are not serialised with these models: lists are made of bytes. The record of an xApp takes its fields from
them, and the tests validate every response with them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from xapp_operator.api.models import HealthStatus, Phase

T = TypeVar("T")


class ResponseModel(BaseModel):
    """Base of the response models: camelCase names, every field present, missing values null."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        arbitrary_types_allowed=True,
        json_schema_serialization_defaults_required=True,
    )


class PortModel(ResponseModel):
    """One port of a Service."""

    name: str | None
    port: int
    target_port: int | str | None
    node_port: int | None
    protocol: str | None
    app_protocol: str | None


class ServiceModel(ResponseModel):
    """One Service of an xApp."""

    name: str
    type: str | None
    cluster_ip: str | None = Field(alias="clusterIP")
    ports: list[PortModel]


class ReleaseModel(ResponseModel):
    """The current Helm release; all fields are null before the first one."""

    name: str | None
    revision: int | None
    chart: str | None
    chart_version: str | None
    app_version: str | None
    last_deployed: datetime | None


class ChartModel(ResponseModel):
    """The requested chart; for an uploaded one, name and version are null until it is deployed."""

    name: str | None
    version: str | None = Field(description="Exact version or range.")
    repo_name: str | None
    url: str | None


class ProgressModel(ResponseModel):
    """Where the deployment of the current spec is, or where it stopped."""

    step: Literal["queued", "chart", "render", "helm", "objects", "ready"] = Field(
        description="queued: not begun, or waiting for other XApps or another helm. chart: the chart is not available. "
        "render: values or templates are refused. helm: an operation of helm. objects: they are becoming healthy, or "
        "are not healthy. ready: done."
    )
    started_at: datetime | None = Field(description="When this step began.")
    deadline: datetime | None = Field(
        description="When the operator gives this step up, or gave it up; null if nothing ends it."
    )
    attempt: int | None = Field(description="Number of tries in a row, from 1.")
    next_try_at: datetime | None = Field(description="When the operator tries again after a passing failure.")


class XAppRecord(ResponseModel):
    """One xApp in a list. Its fields before `chart` are its summary."""

    name: str = Field(description="metadata.name of the XApp, as used in paths.")
    namespace: str
    uid: str
    x_app_name: str | None
    organization: str | None
    team: str | None
    version: str | None
    owner: str | None
    method: Literal["Remote Chart Repository", "Upload Chart"] | None
    source: Literal["xapp", "labels"] = Field(description="labels: known only by the labels of its objects.")
    phase: Phase
    ready: bool = Field(description="Deployed and healthy, with the current spec.")
    health: HealthStatus
    reason: str | None = Field(
        description="The reason of the condition Ready; null before the operator has reported on the current spec."
    )
    stalled: bool = Field(description="The operator does nothing more until a person changes something.")
    drifted: bool | None = Field(
        description="Objects of the release differ from its manifest: the condition Drifted is True. Null: it is "
        "Unknown, driftDetection is disabled, or the xApp is known by its labels only."
    )
    message: str | None = Field(description="The reason for its state; the root cause, if something is wrong.")
    generation: int | None = Field(description="Number of changes of its spec.")
    progress: ProgressModel | None = Field(description="Null while suspended, and if known by its labels only.")
    release: ReleaseModel
    created_at: datetime | None
    updated_at: datetime | None
    chart: ChartModel
    services: list[ServiceModel]


class ConditionModel(ResponseModel):
    """A condition, as Kubernetes defines it."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str | None
    message: str | None
    last_transition_time: datetime | None
    observed_generation: int | None


class RevisionModel(ResponseModel):
    """One revision of a release."""

    revision: int
    status: str | None
    chart: str | None
    chart_version: str | None
    app_version: str | None
    chart_digest: str | None
    values_digest: str | None
    action: str | None
    deployed_at: datetime | None
    description: str | None
    was_healthy: bool | None = Field(
        description="Whether its objects were healthy at some time while it was in force; false also if they became "
        "Degraded within 60 seconds after that; null: not known."
    )


class ResourceCountModel(ResponseModel):
    """Number of objects of the release, and of those that are healthy."""

    total: int
    ready: int


class XAppDetails(XAppRecord):
    """One xApp with its conditions, its history (newest first) and its resources."""

    conditions: list[ConditionModel]
    history: list[RevisionModel]
    resources: ResourceCountModel
    held_revision: int | None = Field(
        description="The revision that a requested rollback has put into force instead of the spec; null if none. A "
        "change of the spec ends it."
    )


class Page(BaseModel, Generic[T]):
    """One page of a list; an empty list is one empty page."""

    model_config = ConfigDict(extra="forbid")

    page: int = Field(description="Number of this page, from 1.")
    total_count: int = Field(description="Items in the whole list.")
    last_page: int = Field(description="Number of the last page.")
    is_last_page: bool
    content: list[T]


class FacetCount(BaseModel):
    """A value, and how many xApps have it."""

    model_config = ConfigDict(extra="forbid")

    value: str
    count: int


class FacetCounts(BaseModel):
    """The values of each facet that was asked for, most frequent first, then by value."""

    model_config = ConfigDict(extra="forbid")

    namespace: list[FacetCount] | None = None
    organization: list[FacetCount] | None = None
    team: list[FacetCount] | None = None
    owner: list[FacetCount] | None = None
    phase: list[FacetCount] | None = None
    health: list[FacetCount] | None = None
    source: list[FacetCount] | None = None
    attention: list[FacetCount] | None = None


class ProblemFieldError(BaseModel):
    """One invalid field."""

    field: str
    message: str = Field(description="The rule, and how to fix the value.")
    line: int = Field(0, description="Line of the values that were sent as text, from 1; absent if there is none.")
    column: int = Field(0, description="Column in that line, from 1.")


class MissingRightModel(BaseModel):
    """A right that the caller lacks."""

    verb: str
    group: str = Field(description="API group; empty for the core API of Kubernetes.")
    resource: str
    subresource: str | None


class NextRequestModel(BaseModel):
    """A request that helps after an error."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str = Field(description="Encoded. A part in braces, such as {chart}, is for you to fill in.")


class Problem(BaseModel):
    """The details of an error (RFC 9457)."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="about:blank, or a URN that names the type of problem.")
    title: str
    status: int
    detail: str = Field(description="What happened, the rule or limit, and what to do.")
    instance: str | None = Field(description="The path of the request; null if its head could not be read.")
    errors: list[ProblemFieldError] = Field(description="The invalid fields, if any.")
    missing: list[MissingRightModel] = Field(
        default=[], description="With status 403 only: the rights that the request needs and the caller lacks."
    )
    next: list[NextRequestModel] = Field(
        default=[], description="Requests that help, such as the list of what exists. Absent if there is none."
    )


class ObjectReference(ResponseModel):
    """An object of a release."""

    kind: str
    name: str
    namespace: str | None = Field(description="Null for an object of the whole cluster.")


class RemovalPreview(ResponseModel):
    """What the removal of an xApp deletes. A member is null if the caller may not see it."""

    objects: list[ObjectReference] | None = Field(description="Objects of the release that are deleted.")
    kept: list[ObjectReference] | None = Field(
        description="Objects that stay: because of helm.sh/resource-policy, or all with the deletionPolicy Orphan."
    )
    pods: int | None = Field(description="Number of pods that end.")
    claims_kept: list[str] | None = Field(description="Names of the volume claims whose data stays.")
    deletion_policy: Literal["Uninstall", "Orphan"]
    dependents: list[str] | None = Field(description="Names of the XApps that depend on this one.")


class DeletionRequest(BaseModel):
    """The xApp to delete."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(description="`name` of its record.", max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    namespace: str = Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")


class ProbeStatus(BaseModel):
    """The response of a probe."""

    status: Literal["ok"]


class XAppReference(ResponseModel):
    """A reference to an xApp."""

    namespace: str
    name: str


class DiscoveredService(ServiceModel):
    """One Service of the cluster, whether it belongs to an xApp or not."""

    namespace: str
    external_name: str | None = Field(
        description="The name outside the cluster that an ExternalName Service stands for."
    )
    labels: dict[str, str]
    x_app: XAppReference | None = Field(
        description="The xApp that it belongs to; also null if the caller may not list xApps there."
    )
