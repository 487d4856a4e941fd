"""Models of an xApp's health: its objects, pods and containers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from xapp_operator.api.models import HealthStatus
from xapp_operator.gateway.schemas.logs import EventModel
from xapp_operator.gateway.schemas.records import ResponseModel


class ResourceHealthModel(ResponseModel):
    """The health of one object."""

    kind: str
    name: str
    namespace: str | None = Field(description="Null for a cluster-scoped object.")
    status: HealthStatus
    message: str | None = Field(description="The reason; for a healthy object, a remark.")


class ContainerModel(ResponseModel):
    """One container of a pod; sidecars and init containers come first."""

    name: str
    ready: bool
    state: Literal["waiting", "running", "terminated"]
    reason: str | None = Field(
        description="The kubelet's reason; also CrashLoopBackOff while a crashing container is terminated."
    )
    exit_code: int | None = Field(description="If it is terminated, or waits for its restart.")
    message: str | None


class PodModel(ResponseModel):
    """One pod."""

    name: str
    phase: str | None
    ready: bool
    restarts: int = Field(description="Restarts of all its containers.")
    node: str | None
    containers: list[ContainerModel]


class HealthReport(ResponseModel):
    """The health of an xApp."""

    status: HealthStatus
    message: str | None = Field(description="The root cause, if something is wrong.")
    resources: list[ResourceHealthModel]
    pods: list[PodModel] = Field(description="At most 100; empty without permission to list pods.")
    events: list[EventModel] = Field(description="At most 50, newest first; empty without permission to list events.")
