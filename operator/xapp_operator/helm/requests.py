"""What the engine is asked for and what it answers: plain frozen data, no process, no cluster.

Lives apart from the engine so that the verbs of the reconciler and the gateway's dry run can be typed by it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xapp_operator.api.json import JsonObject

DEFAULT_TIMEOUT_SECONDS: Final = 300.0
DEFAULT_HISTORY_MAX: Final = 5
TEMPLATE_TIMEOUT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """An install or an upgrade of one release.

    `user` is impersonated (`system:serviceaccount:<namespace>:<name>`); None acts as the kubeconfig's own identity.
    `timeout` is in seconds, for each hook and for the whole process. `labels` go onto the release Secret and last
    through upgrades. `replace` and `take_ownership` are `install --replace` and `--take-ownership`. `skip_schema` is
    for charts whose schema refers outside (helm would fetch it). `history_max` counts for upgrades only: an install
    has no such limit in Helm. `chart_name` lets errors of subcharts name the right path of the values. `secrets` are
    texts that errors must not quote, beside the values whose keys tell that they are secret.
    """

    name: str
    namespace: str
    chart: Path
    values: JsonObject = field(repr=False)
    labels: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    replace: bool = False
    take_ownership: bool = False
    skip_schema: bool = False
    no_hooks: bool = False
    history_max: int = DEFAULT_HISTORY_MAX
    chart_name: str = ""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallRequest:
    """The removal of one release and of its whole history; `timeout` is in seconds."""

    name: str
    namespace: str
    user: str | None = None
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    no_hooks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """The return of one release to `revision`, as a new revision; `timeout` is in seconds."""

    name: str
    namespace: str
    revision: int
    user: str | None = None
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    no_hooks: bool = False
    history_max: int = DEFAULT_HISTORY_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRequest:
    """A run of the test hooks of one release; `timeout` is in seconds, for each hook and for the whole process."""

    __test__ = False

    name: str
    namespace: str
    user: str | None = None
    timeout: float = DEFAULT_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRequest:
    """A rendering of a chart without a cluster, for the cluster that `kube_version` and `api_versions` describe.

    `kube_version` is like `v1.36.3`; `api_versions` like `apps/v1` and `apps/v1/Deployment`. `notes` asks for NOTES.txt
    as well, at the price of a second helm process. `timeout` is in seconds.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseResult:
    """A release as helm left it. Times are RFC 3339; `first_deployed` and `notes` are empty where helm does not say."""

    revision: int
    status: str
    manifest: str
    chart_name: str
    chart_version: str
    app_version: str
    last_deployed: str
    first_deployed: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallResult:
    """How an uninstall ended. `found` is False where there was no such release, which is as good as done.

    `kept` are the objects that helm left on purpose (resource policy, or owned by another release), `unverified` those
    that it left because it could not read them; each as `Kind/name`.
    """

    found: bool
    kept: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderResult:
    """A rendered chart. Where the templates themselves stopped (`fail`, `required`), all but `warnings` is empty."""

    manifest: str
    notes: str
    warnings: tuple[str, ...]
