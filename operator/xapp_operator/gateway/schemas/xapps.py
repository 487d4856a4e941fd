"""Models of what one xApp has: its configuration, its health with pods and events, and its Helm release."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from xapp_operator.api.models import HealthStatus
from xapp_operator.gateway.schemas.records import ResponseModel, ServiceModel


class ServiceAddress(ResponseModel):
    """One address of a port of a Service."""

    url: str = Field(description="An absolute URL; via proxy, a path of this gateway.")
    via: Literal["nodePort", "loadBalancer", "ingress", "clusterDNS", "proxy"]
    same_host: bool = Field(
        description="Warning: another server on the host name of this request. A browser sends it the gateway's "
        "cookies, so a page should not offer it as a plain link."
    )


class ServiceWithAddresses(ServiceModel):
    """One Service with the addresses of its ports."""

    addresses: list[ServiceAddress]


class ValuesLayerModel(ResponseModel):
    """One of the layers that are merged into the values of a chart."""

    from_: str = Field(alias="from", description="chart, address, Secret/<name>, ConfigMap/<name> or yours.")
    text: str | None = Field(
        description="YAML, secrets masked, of a Secret every value; null if it cannot be read. Comments are kept."
    )


class OwnApi(ResponseModel):
    """The xApp's own API, as far as it is known."""

    base: str | None = Field(
        description="Its path at this gateway, without the last slash; null if it is not clear which port serves it."
    )
    config: bool | None = Field(
        description="Whether it answers GET /config with JSON; null if it was not asked or has not answered."
    )
    json_schema: bool | None = Field(alias="schema", description="The same of GET /config/schema.")


class XAppConfiguration(ResponseModel):
    """The addresses and the configuration of an xApp."""

    uid: str | None = Field(description="Of the XApp with these values; null for one known by its labels.")
    generation: int | None = Field(description="Of the XApp with these values; null for one known by its labels.")
    services: list[ServiceWithAddresses]
    values: dict[str, Any] | None = Field(
        description="The user's values, secrets masked. For an xApp known by its labels: null without permission to "
        "get Secrets."
    )
    effective: dict[str, Any] | None = Field(
        description="What the chart gets from all layers, secrets masked; null if a layer cannot be read."
    )
    layers: list[ValuesLayerModel] = Field(description="What is merged, from low to high.")
    defaults: dict[str, Any] | None = Field(
        description="The chart's own values, secrets masked; null before the first revision, or without permission to "
        "get Secrets."
    )
    json_schema: dict[str, Any] | bool | None = Field(
        alias="schema", description="The chart's values.schema.json; null if it has none or defaults is null."
    )
    metadata: dict[str, Any] | None = Field(
        description="The response of the xApp's own API to /metadata or /config/metadata; null if there is none, if it "
        "takes too long, or without permission on services/proxy."
    )
    own_api: OwnApi


class XAppSpecification(ResponseModel):
    """The spec of an XApp, as a deployment or an upgrade sends it."""

    uid: str = Field(description="Of the XApp: another one of the same name has another.")
    generation: int = Field(description="Of the XApp; each change of the spec increases it.")
    form: dict[str, Any] = Field(description="What the part xAppForm takes; fields that are not set are left out.")
    values: dict[str, Any] | None = Field(description="The user's values, secrets masked.")
    archive: dict[str, Any] | None = Field(description="Where the uploaded chart is; null for a remote chart.")


class ValuesRequest(BaseModel):
    """Values that replace the current ones."""

    model_config = ConfigDict(extra="forbid")

    values: dict[str, Any] = Field(description="All of the user's values; a mask keeps the current value.")


class EventObjectModel(ResponseModel):
    """The object of an event."""

    kind: str | None
    name: str | None


class EventModel(ResponseModel):
    """One Kubernetes event."""

    type: str | None = Field(description="Normal or Warning.")
    reason: str | None
    message: str | None
    object: EventObjectModel
    count: int = Field(description="Number of occurrences.")
    last_seen: datetime | None


class ResourceHealthModel(ResponseModel):
    """The health of one object."""

    kind: str
    name: str
    namespace: str | None = Field(description="Null for a cluster-scoped object.")
    status: HealthStatus
    message: str | None = Field(description="The reason; for a healthy object, a remark.")


class TerminationModel(ResponseModel):
    """How a run of a container ended."""

    reason: str | None
    exit_code: int
    signal: int | None
    started_at: datetime | None
    finished_at: datetime | None


class ContainerResources(ResponseModel):
    """What a container asks for, by resource, as quantities of Kubernetes such as `250m`."""

    requests: dict[str, str]
    limits: dict[str, str]


class ContainerModel(ResponseModel):
    """One container of a pod; sidecars and init containers come first."""

    name: str
    init: bool = Field(description="An init container or a sidecar.")
    image: str | None
    ready: bool
    state: Literal["waiting", "running", "terminated"]
    reason: str | None = Field(
        description="The kubelet's reason; also CrashLoopBackOff while a crashing container is terminated."
    )
    exit_code: int | None = Field(description="If it is terminated, or waits for its restart.")
    message: str | None
    restarts: int
    last_state: TerminationModel | None = Field(description="How the run before this one ended.")
    resources: ContainerResources


class PodOwner(ResponseModel):
    """The workload that created a pod."""

    kind: str
    name: str


class PodModel(ResponseModel):
    """One pod."""

    name: str
    phase: str | None
    ready: bool
    restarts: int = Field(description="Restarts of all its containers.")
    node: str | None
    owner: PodOwner | None = Field(
        description="The Deployment of its ReplicaSet, or else its controller; null for a pod of its own."
    )
    containers: list[ContainerModel]


class HealthReport(ResponseModel):
    """The health of an xApp."""

    status: HealthStatus
    message: str | None = Field(description="The root cause, if something is wrong.")
    resources: list[ResourceHealthModel]
    pods: list[PodModel] = Field(description="At most 100; empty without permission to list pods.")
    pods_total: int | None = Field(
        description="All pods, counting at most 500 of one workload; null without permission to list pods."
    )
    events: list[EventModel] = Field(description="At most 50, newest first; empty without permission to list events.")
    events_total: int | None = Field(description="All events; null without permission to list events.")


class ReleaseManifest(ResponseModel):
    """The objects of the current revision."""

    manifest: str = Field(description="The rendered objects as YAML documents, secrets masked.")


class ReleaseNotes(ResponseModel):
    """The notes of the current revision."""

    notes: str = Field(description="The chart's NOTES, known secrets masked.")


XAPP_ACTIONS: Final = ("reconcile", "retry", "force", "test", "suspend", "resume")


class ActionBody(BaseModel):
    """What to do with an xApp."""

    model_config = ConfigDict(extra="forbid", strict=True)

    action: str = Field(description="See the API reference.", json_schema_extra={"enum": list(XAPP_ACTIONS)})


class RollbackBody(BaseModel):
    """The revision to roll back to."""

    model_config = ConfigDict(extra="forbid", strict=True)

    revision: int = Field(ge=1, description="Number of a revision in the history.")
