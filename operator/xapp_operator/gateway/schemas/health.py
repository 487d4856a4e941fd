"""The shapes of an xApp's health: its objects, its pods and their containers, and what was said of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from xapp_operator.api.models import HealthStatus
from xapp_operator.gateway.schemas.logs import EventModel
from xapp_operator.gateway.schemas.records import ResponseModel


class ResourceHealthModel(ResponseModel):
    """The verdict on one object."""

    kind: str
    name: str
    namespace: str | None = Field(description="Null for an object of no namespace.")
    status: HealthStatus
    message: str | None = Field(description="Why; of a healthy object, what is to be known of it nevertheless.")


class ContainerModel(ResponseModel):
    """One container of a pod; sidecars and those of its start come first."""

    name: str
    ready: bool
    state: Literal["waiting", "running", "terminated"]
    reason: str | None = Field(
        description="The kubelet's; CrashLoopBackOff also while one that crashes shows as ended."
    )
    exit_code: int | None = Field(description="Of one that is terminated, or waits to be started again.")
    message: str | None


class PodModel(ResponseModel):
    """One pod."""

    name: str
    phase: str | None
    ready: bool
    restarts: int = Field(description="Of all its containers.")
    node: str | None
    containers: list[ContainerModel]


class HealthReport(ResponseModel):
    """How an xApp fares."""

    status: HealthStatus
    message: str | None = Field(description="The root cause where something is wrong.")
    resources: list[ResourceHealthModel]
    pods: list[PodModel] = Field(description="At most 100; empty for who may not list pods.")
    events: list[EventModel] = Field(description="At most 50, newest first; empty for who may not list events.")
