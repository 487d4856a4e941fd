"""The `XApp` resource as pydantic models, the source of its CRD and of what `kubectl explain` shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import RELEASE_NAME_MAX
from xapp_operator.api.rules import CelRule, cel_rules, duration_rule, one_line_rule, parse_duration, pattern_rule
from xapp_operator.api.spec_parts import (
    REPOSITORY_PREFIXES_TEXT,
    URL_RULES,
    ArchiveSource,
    Dependency,
    DriftDetection,
    HelmTestPolicy,
    Model,
    ObjectName,
    UnvalidatedObject,
    UpgradePolicy,
    ValuesRef,
)
from xapp_operator.api.status_parts import HandledAnnotations, LastAttempt, LastTest, Progress, TerminatingObject
from xapp_operator.api.status_texts import (
    CONDITIONS_MAX,
    STATUS_TEXT_MAX,
    CauseMessage,
    ConditionMessage,
    ConditionType,
    DigestText,
    StatusMessage,
    StatusText,
)

METHOD_REMOTE = "Remote Chart Repository"
METHOD_UPLOAD = "Upload Chart"

RELEASE_NAME_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

XAPP_NAME_MAX = 63
SERVICES_MAX = 50
PORTS_MAX = 100
TERMINATING_MAX = 100

DEFAULT_TIMEOUT = "5m"
DEFAULT_MAX_HISTORY = 5

_IDENTITY_RULE = pattern_rule("[A-Za-z0-9]", "must contain at least one letter or digit (a-z, 0-9)")


def _immutable(field: str) -> CelRule:
    message = f"{field} is part of the xApp's identity and cannot be changed: create a new XApp instead"
    return CelRule("self == oldSelf", message)


class Phase(StrEnum):
    """A summary for people; programs read conditions."""

    PENDING = "Pending"
    DEPLOYING = "Deploying"
    DEPLOYED = "Deployed"
    DEGRADED = "Degraded"
    FAILED = "Failed"
    UNINSTALLING = "Uninstalling"
    SUSPENDED = "Suspended"


class HealthStatus(StrEnum):
    """The health of a resource or of a whole xApp."""

    HEALTHY = "Healthy"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    UNKNOWN = "Unknown"


def _presence_rule(field: str, *, method: str, required: bool, fix: str) -> CelRule:
    return CelRule(
        f"self.method != '{method}' || {'' if required else '!'}has(self.{field})",
        f"{field} is {'required' if required else 'forbidden'} with method '{method}': {fix}",
        f".{field}",
        "FieldValueRequired" if required else "FieldValueForbidden",
    )


def _presence_rules() -> Iterator[CelRule]:
    use_upload, use_remote = f"use method '{METHOD_UPLOAD}'", f"use method '{METHOD_REMOTE}'"
    for field in ("chartName", "url", "repoName"):
        fix = f"add it, or {use_upload} with archive"
        yield _presence_rule(field, method=METHOD_REMOTE, required=True, fix=fix)
    for field in ("chartName", "url", "repoName", "chartVersion"):
        yield _presence_rule(field, method=METHOD_UPLOAD, required=False, fix=f"remove it, or {use_remote}")
    fix = "name the ChartArchive, Secret or ConfigMap that holds the .tgz"
    yield _presence_rule("archive", method=METHOD_UPLOAD, required=True, fix=fix)
    yield _presence_rule("archive", method=METHOD_REMOTE, required=False, fix=f"remove it, or {use_upload}")


class XAppSpec(Model):
    """The desired state: the deployment form, and further options."""

    model_config = ConfigDict(json_schema_extra=cel_rules(*_presence_rules()))

    x_app_name: Annotated[ObjectName, _IDENTITY_RULE, _immutable("xAppName")] = Field(
        description="Name of the xApp. Part of its identity: cannot be changed."
    )
    organization: Annotated[ObjectName, _IDENTITY_RULE, _immutable("organization")] = Field(
        description="Organization that provides the xApp. Part of its identity: cannot be changed."
    )
    team: Annotated[ObjectName, _IDENTITY_RULE, _immutable("team")] = Field(
        description="Team inside the organization. Part of the xApp's identity: cannot be changed."
    )
    version: Annotated[
        str, pattern_rule(r"^[0-9]+(\.[0-9]+)*$", "must be dotted numeric, such as 0.2.1 (no letters, no v)")
    ] = Field(
        description="Version of the xApp, dotted numeric (0.2.1). With a remote chart also the chart's version, "
        "unless chartVersion says otherwise.",
        min_length=1,
        max_length=63,
    )
    owner: ObjectName = Field(description="Person or group that is responsible for this xApp.")
    method: Literal["Remote Chart Repository", "Upload Chart"] = Field(
        description="Where the chart comes from: 'Remote Chart Repository' needs chartName, url and repoName; "
        "'Upload Chart' needs archive, which the gateway fills from an uploaded file."
    )
    namespace: Annotated[str, one_line_rule(), _immutable("namespace")] = Field(
        description="Where the chart is installed: always the XApp's own namespace.",
        min_length=1,
        max_length=63,
    )
    chart_name: ObjectName | None = Field(
        None, description="Chart in the repository. Required with 'Remote Chart Repository', forbidden otherwise."
    )
    url: Annotated[str | None, *URL_RULES] = Field(
        None,
        description=f"Address of the chart repository: {REPOSITORY_PREFIXES_TEXT}. Required with 'Remote Chart "
        "Repository', forbidden otherwise.",
        min_length=1,
        max_length=2048,
    )
    repo_name: Annotated[
        str | None,
        pattern_rule(
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "must be a name of lower-case letters, digits and '-', beginning and ending with a letter or digit",
        ),
    ] = Field(
        None,
        description="Name under which the address is saved as a ChartRepository in this namespace. Required with "
        "'Remote Chart Repository', forbidden otherwise.",
        max_length=63,
    )
    chart_version: ObjectName | None = Field(
        None, description="Version of the chart: exact (0.2.1) or a range ('>=0.2 <1', '~1.4', '^2'). Default: version."
    )
    archive: ArchiveSource | None = Field(
        None, description="Where the uploaded chart is. Required with 'Upload Chart', forbidden otherwise."
    )
    values: UnvalidatedObject | None = Field(
        None, description="Values of the chart: the content of a values file, as an object."
    )
    values_from: list[ValuesRef] | None = Field(
        None,
        description="Values files in Secrets and ConfigMaps, merged in order below values.",
        max_length=32,
    )
    release_name: Annotated[
        str | None,
        pattern_rule(
            RELEASE_NAME_PATTERN,
            "must be a Helm release name: lower-case letters, digits, '-' and '.', beginning and ending with a letter "
            "or digit",
        ),
    ] = Field(
        None,
        description="Name of the Helm release. Default: metadata.name. Cannot be changed.",
        min_length=1,
        max_length=RELEASE_NAME_MAX,
    )
    service_account_name: ObjectName | None = Field(
        None, description="Service account in this namespace that Helm impersonates."
    )
    adopt: bool = Field(
        False,  # noqa: FBT003
        description="true: take over an existing release of that name, and existing objects. Default false.",
    )
    suspend: bool = Field(
        False,  # noqa: FBT003
        description="true: change nothing until it is false again; deletion still works. Default false.",
    )
    timeout: Annotated[str, duration_rule("1s", "24h", examples="90s, 5m or 1h30m")] = Field(
        DEFAULT_TIMEOUT,
        description="Timeout of one Helm operation, and of becoming healthy after it. Default 5m.",
        max_length=32,
    )
    max_history: int = Field(
        DEFAULT_MAX_HISTORY,
        description="How many revisions are kept (default 5). The last one that was healthy is kept too, also with 1; "
        "the status does not list it then.",
        ge=1,
        le=100,
    )
    drift_detection: DriftDetection = Field(
        DriftDetection(), description="What to do when objects differ from the manifest."
    )
    deletion_policy: Literal["Uninstall", "Orphan"] = Field(
        "Uninstall", description="What deleting the XApp does to the release: Uninstall, or Orphan (leave it running)."
    )
    upgrade: UpgradePolicy = Field(UpgradePolicy(), description="What to do when an upgrade fails permanently.")
    test: HelmTestPolicy = Field(HelmTestPolicy(), description="Helm tests of the chart.")
    depends_on: list[Dependency] | None = Field(
        None, description="Other XApps in this namespace that must be Ready first.", max_length=32
    )

    @property
    def timeout_seconds(self) -> float:
        return parse_duration(self.timeout)

    @property
    def user_values(self) -> JsonObject:
        """Return `values`, or an empty object."""
        return self.values or {}


class Condition(Model):
    """A condition as the Kubernetes API conventions define it; kstatus reads Ready, Reconciling and Stalled."""

    type: ConditionType = Field(description="Ready, Released, Drifted, TestSuccess, Reconciling or Stalled.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    observed_generation: int | None = Field(None, description="metadata.generation that this condition describes.")
    last_transition_time: datetime = Field(description="When status last changed.")
    reason: StatusMessage = Field(description="One word for programs.")
    message: ConditionMessage = Field(description="A sentence for people, with the root cause.")


class ReleaseStatus(Model):
    """The Helm release as it is now."""

    name: StatusText | None = Field(None, description="Name of the release.")
    namespace: StatusText | None = Field(None, description="Namespace of the release.")
    revision: int | None = Field(None, description="Number of the revision in force.")
    chart: StatusText | None = Field(None, description="Name of the chart.")
    chart_version: StatusText | None = Field(None, description="Version of the chart.")
    app_version: StatusText | None = Field(None, description="The chart's appVersion.")
    chart_digest: DigestText | None = Field(None, description="First 40 hex digits of the archive's sha256.")
    values_digest: DigestText | None = Field(
        None, description="First 40 hex digits of the sha256 of the merged values."
    )
    first_deployed: datetime | None = Field(None, description="When the release was first installed.")
    last_deployed: datetime | None = Field(None, description="When this revision was installed.")
    description: StatusMessage | None = Field(None, description="Helm's description of this revision.")


class RevisionStatus(Model):
    """One revision of the release."""

    revision: int = Field(description="Number of the revision.")
    secret_uid: StatusText | None = Field(
        None, description="UID of the Secret that records it. The revisions of another release have the same numbers."
    )
    status: StatusText = Field(description="Helm's status: deployed, superseded, failed …")
    chart: StatusText | None = Field(None, description="Name of the chart.")
    chart_version: StatusText | None = Field(None, description="Version of the chart.")
    app_version: StatusText | None = Field(None, description="The chart's appVersion.")
    chart_digest: DigestText | None = Field(None, description="First 40 hex digits of the archive's sha256.")
    values_digest: DigestText | None = Field(
        None, description="First 40 hex digits of the sha256 of the merged values."
    )
    action: StatusText | None = Field(None, description="Install, Upgrade or Rollback.")
    deployed_at: datetime | None = Field(None, description="When it was installed; missing if it failed.")
    description: StatusMessage | None = Field(None, description="Helm's description of it, or why it failed.")
    was_healthy: bool | None = Field(
        None,
        description="Whether its objects were healthy at some time while it was in force. False also if they became "
        "Degraded within 60 seconds after that. Missing: not known.",
    )


class XAppHealth(Model):
    """Health of the whole xApp, from its live objects."""

    status: HealthStatus = Field(HealthStatus.UNKNOWN, description="Healthy, Progressing, Degraded or Unknown.")
    message: CauseMessage | None = Field(None, description="The root cause.")


class ServicePort(Model):
    """One port of a Service."""

    name: StatusText | None = Field(None, description="Name of the port.")
    port: int = Field(description="Port of the Service.")
    target_port: int | str | None = Field(
        None,
        description="Port of the pods, as a number or a name.",
        json_schema_extra={"x-kubernetes-int-or-string": True, "maxLength": STATUS_TEXT_MAX},
    )
    node_port: int | None = Field(None, description="Port on every node, if there is one.")
    protocol: StatusText | None = Field(None, description="TCP, UDP or SCTP.")
    app_protocol: StatusText | None = Field(None, description="Protocol of the application, such as http.")


class ServiceStatus(Model):
    """One Service of the xApp."""

    name: StatusText = Field(description="Name of the Service.")
    type: StatusText | None = Field(None, description="ClusterIP, NodePort, LoadBalancer or ExternalName.")
    cluster_ip: StatusText | None = Field(None, alias="clusterIP", description="Address inside the cluster.")
    ports: list[ServicePort] = Field(
        default_factory=list, description="Its ports.", json_schema_extra={"maxItems": PORTS_MAX}
    )


class ResourceCounts(Model):
    """How many objects of the release there are, and how many of them are healthy."""

    total: int = Field(0, description="Objects in the manifest.")
    ready: int = Field(0, description="Objects that exist and are healthy.")


class XAppStatus(Model):
    """The observed state, as the operator last reported it."""

    observed_generation: int = Field(-1, description="Generation of the spec that this status is about.")
    phase: Phase | None = Field(None, description="A summary for people; programs read conditions.")
    conditions: list[Condition] | None = Field(
        None,
        description="Ready, Released, Drifted, TestSuccess; Reconciling and Stalled only while True.",
        json_schema_extra={
            "maxItems": CONDITIONS_MAX,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    )
    release: ReleaseStatus | None = Field(None, description="The Helm release.")
    history: list[RevisionStatus] | None = Field(
        None, description="Revisions, newest first.", json_schema_extra={"maxItems": 100}
    )
    health: XAppHealth | None = Field(None, description="Health of the live objects.")
    services: list[ServiceStatus] | None = Field(
        None, description="Services and ports.", json_schema_extra={"maxItems": SERVICES_MAX}
    )
    resources: ResourceCounts | None = Field(None, description="Objects of the release, and how many are healthy.")
    last_attempt: LastAttempt | None = Field(None, description="The last operation that Helm was asked for.")
    last_test: LastTest | None = Field(None, description="The last run of the tests of the chart.")
    held_revision: int | None = Field(None, description="Revision held by rollback-to until the spec changes.")
    terminating: list[TerminatingObject] | None = Field(
        None,
        description="Objects that were being deleted when Helm applied them: created again once they are gone.",
        json_schema_extra={"maxItems": TERMINATING_MAX},
    )
    progress: Progress | None = Field(
        None,
        description="What the operator works on or waits for; missing while Ready or suspended.",
    )
    handled: HandledAnnotations | None = Field(None, description="Annotations that were handled.")
    configured_repository: StatusText | None = Field(
        None,
        description="Name of the ChartRepository in spec.repoName, if it has more than a url, such as verify. If it is "
        "deleted, the operator does not create it again.",
    )

    @property
    def ready(self) -> bool:
        """Return whether the condition Ready is True, for any generation."""
        return any(each.type == "Ready" and each.status == "True" for each in self.conditions or ())


class Metadata(Model):
    """The part of an object's metadata that the operator reads."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: list[str] = Field(default_factory=list)


class XApp(Model):
    """An xApp: an application beside a near-RT RIC, shipped as a Helm chart and managed by xapp-operator."""

    metadata: Metadata
    spec: XAppSpec
    status: XAppStatus = Field(default_factory=XAppStatus)

    @property
    def release_name(self) -> str:
        """Return the name of the Helm release: `spec.releaseName`, or else `metadata.name`."""
        return self.spec.release_name or self.metadata.name

    @property
    def key(self) -> tuple[str, str]:
        """Return (namespace, name), the key of queue and caches."""
        return self.metadata.namespace, self.metadata.name
