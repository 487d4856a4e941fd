"""The shapes of answers, as the API's documentation states them.

Nothing is serialised through these models, since lists answer with bytes; a test holds every answer against them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from xapp_operator.api.models import HealthStatus, Phase

T = TypeVar("T")


class ResponseModel(BaseModel):
    """Base of the shapes: camelCase on the wire, every member there, absent values null."""

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
    """The Helm release in force; all null before the first one."""

    name: str | None
    revision: int | None
    chart: str | None
    chart_version: str | None
    app_version: str | None
    last_deployed: datetime | None


class ChartModel(ResponseModel):
    """The chart that is asked for; of an uploaded one, name and version are known once it is deployed."""

    name: str | None
    version: str | None = Field(description="Exact version or range.")
    repo_name: str | None
    url: str | None


class XAppRecord(ResponseModel):
    """One xApp as lists show it."""

    name: str = Field(description="metadata.name of the XApp; used in every path.")
    namespace: str
    uid: str
    x_app_name: str | None
    organization: str | None
    team: str | None
    version: str | None
    owner: str | None
    method: Literal["Remote Chart Repository", "Upload Chart"] | None
    source: Literal["xapp", "labels"] = Field(description="labels: installed by other means, known by its labels only.")
    phase: Phase
    ready: bool = Field(description="Deployed and healthy, as of the newest spec.")
    health: HealthStatus
    message: str | None = Field(description="Why it is as it is: the root cause where something is wrong.")
    release: ReleaseModel
    chart: ChartModel
    services: list[ServiceModel]
    created_at: datetime | None
    updated_at: datetime | None


class ConditionModel(ResponseModel):
    """A condition by the conventions of Kubernetes."""

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


class ResourceCountModel(ResponseModel):
    """How many objects of the release there are, and how many of them are healthy."""

    total: int
    ready: int


class XAppDetails(XAppRecord):
    """One xApp with its conditions, its history (newest first) and its resources."""

    conditions: list[ConditionModel]
    history: list[RevisionModel]
    resources: ResourceCountModel


class Page(BaseModel, Generic[T]):
    """One page of a list; an empty list is one empty page."""

    model_config = ConfigDict(extra="forbid")

    page: int = Field(description="Number of this page, from 1.")
    total_count: int = Field(description="Items in the whole list.")
    last_page: int = Field(description="Number of the last page.")
    is_last_page: bool
    content: list[T]


class DeploymentDryRun(ResponseModel):
    """What would be deployed; nothing has been changed."""

    manifest: str = Field(description="The rendered objects, as YAML documents.")
    notes: str = Field(description="The chart's NOTES, rendered.")
    values: dict[str, Any] = Field(description="The merged values, secrets masked.")
    warnings: list[str]


class ProblemFieldError(BaseModel):
    """One refused field."""

    field: str
    message: str = Field(description="The rule, and what mends it.")


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="about:blank, or a URN that names the kind of problem.")
    title: str
    status: int
    detail: str = Field(description="What was refused, the rule or bound, and what mends it.")
    instance: str = Field(description="The path that was asked for.")
    errors: list[ProblemFieldError] = Field(description="The fields that were refused, if it was fields.")


class DeletionRequest(BaseModel):
    """Which xApp to delete."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(description="`name` of its record.", max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    namespace: str = Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")


class ProbeStatus(BaseModel):
    """The answer of a probe."""

    status: Literal["ok"]
