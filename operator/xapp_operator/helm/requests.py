"""What the engine takes and returns: frozen data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.kube.credentials import ConnectionInfo

DEFAULT_TIMEOUT_SECONDS: Final = 300.0
TEMPLATE_TIMEOUT_SECONDS: Final = 60.0
VERIFY_TIMEOUT_SECONDS: Final = 30.0

SecretsReader: TypeAlias = Callable[[], Awaitable[frozenset[str]]]
"""Returns the texts that errors must not contain; raises XAppError when they cannot be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOperation:
    """What every operation on a release needs.

    `user` is impersonated (`system:serviceaccount:<namespace>:<name>`); None acts with the kubeconfig's own identity.
    `timeout`, in seconds, applies to each hook and to the whole process.
    """

    name: str
    namespace: str
    user: str | None = None
    timeout: float = DEFAULT_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest(ReleaseOperation):
    """An install or an upgrade of one release.

    `labels` go onto the release Secret and last through upgrades. `replace` and `take_ownership` are `--replace` and
    `--take-ownership`. `skip_schema` is for charts whose schema refers to other documents, which helm would fetch.
    `values` is the values file, as `dump_values` returns it, and `secrets` are the texts in it that errors must not
    contain. Every object of the release gets `object_metadata`, except hooks.
    """

    chart: Path
    values: bytes = field(repr=False)
    labels: Mapping[str, str] = field(default_factory=dict)
    object_metadata: ObjectMetadata | None = None
    replace: bool = False
    take_ownership: bool = False
    skip_schema: bool = False
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOperation(ReleaseOperation):
    """An operation that takes no values: those of the release are in its records.

    `read_secrets` is called only when helm has failed.
    """

    read_secrets: SecretsReader = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallRequest(RecordedOperation):
    """The removal of one release with its whole history."""

    no_hooks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(RecordedOperation):
    """The return of one release to `revision`, which becomes a new revision."""

    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRequest(RecordedOperation):
    """A run of the test hooks of one release."""

    __test__ = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRequest:
    """A rendering of a chart without a cluster.

    `kube_version` (`v1.36.3`) and `api_versions` (`apps/v1`, `apps/v1/Deployment`) describe the cluster to render for.
    `notes` renders NOTES.txt too, which takes a second helm process. `timeout` is in seconds. `chart_name` lets
    errors of subcharts name the right path of the values. `object_metadata` is that of a ReleaseRequest.
    """

    name: str
    namespace: str
    chart: Path
    values: JsonObject = field(repr=False)
    kube_version: str
    api_versions: tuple[str, ...] = ()
    skip_schema: bool = False
    upgrade: bool = False
    notes: bool = False
    timeout: float = TEMPLATE_TIMEOUT_SECONDS
    chart_name: str = ""
    object_metadata: ObjectMetadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunRequest:
    """A dry run of an install or an upgrade with the cluster.

    helm acts as the user of `connection`, or, without one, as this process, which impersonates `user` if one is named.
    `secrets` are texts that errors must not contain. The other fields are those of a TemplateRequest.
    """

    name: str
    namespace: str
    chart: Path
    values: JsonObject = field(repr=False)
    connection: ConnectionInfo | None = field(default=None, repr=False)
    user: str | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    upgrade: bool = False
    take_ownership: bool = False
    skip_schema: bool = False
    timeout: float = TEMPLATE_TIMEOUT_SECONDS
    chart_name: str = ""
    object_metadata: ObjectMetadata | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """A check of an archive against its provenance file.

    `file_name` is the name by which the provenance file knows the archive. `keyring` has binary OpenPGP public keys.
    Places for helm are shared fairly by `namespace`.
    """

    namespace: str
    file_name: str
    archive: bytes = field(repr=False)
    provenance: bytes = field(repr=False)
    keyring: bytes = field(repr=False)
    timeout: float = VERIFY_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedArchive:
    """Who signed an archive: the fingerprint of the key, and the sha256 (64 hex digits) that is signed."""

    fingerprint: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """A release after an operation. Times are RFC 3339; `first_deployed` is empty if helm omits it.

    `labelled` means that every object was applied with the metadata that the request asked for.
    """

    revision: int
    status: str
    manifest: str
    chart_name: str
    chart_version: str
    app_version: str
    last_deployed: str
    first_deployed: str = ""
    description: str = ""
    labelled: bool = False


class LeftReason(StrEnum):
    """Why helm has not deleted an object of a release that it uninstalled."""

    KEPT = "kept"  # because of its annotation
    NOT_OWNED = "not owned"  # its label and annotations do not assign it to the release
    UNVERIFIED = "unverified"  # it could not be read


@dataclass(frozen=True, slots=True)
class LeftObject:
    """An object (`Kind/name`) that helm has not deleted."""

    name: str
    reason: LeftReason


UninstallResult: TypeAlias = tuple[LeftObject, ...] | None
"""What helm has left; None if it found no record of the release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderResult:
    """A rendered chart. If a template `stopped` (`fail`, `required`), manifest and notes are empty.

    `hooks` are those of a dry run; otherwise the manifest has them.
    """

    manifest: str
    notes: str
    warnings: tuple[str, ...]
    hooks: str = ""
    stopped: bool = False
