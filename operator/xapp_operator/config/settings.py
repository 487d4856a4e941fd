"""All settings of operator and gateway, with their defaults, read from the environment.

A variable is the field name in capitals after `XAPP_`; `KUBECONFIG` is Kubernetes' own. Durations are seconds, sizes
bytes. The text below a field is its row in `docs/reference/settings.md` (`make reference`). Links in it start in
`docs/`.
"""

from __future__ import annotations

import ipaddress
import re
import tempfile
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from xapp_operator.label_sets import DRAX_LABEL_SET, LabelSet, parse_label_sets

MIB = 1024 * 1024

HOST_NAME_MAX: Final = 253
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
CLUSTER_NETWORKS: Final = ("apiserver", "services", "nodes", "pods")
"""Networks of the cluster itself, which are looked up."""

CommaList = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """Settings of both processes. A wrong value stops the start with an error that names the variable."""

    model_config = SettingsConfigDict(env_prefix="XAPP_", extra="ignore", frozen=True)

    # Cluster
    kubeconfig: str | None = Field(None, validation_alias=AliasChoices("XAPP_KUBECONFIG", "KUBECONFIG"))
    """Path of the kubeconfig. Default: the service account of the pod."""
    namespaces: CommaList = ()
    """Namespaces to monitor. Empty: all."""
    cluster_advertise_address: str | None = None
    """Address of the cluster that charts receive. Empty: the address of the first ready node."""
    advertise_address_values: CommaList = ("global.kubeIp",)
    """Paths in the values that receive the address, if the chart declares them."""
    label_sets: Annotated[tuple[LabelSet, ...], NoDecode] = (DRAX_LABEL_SET,)
    """Labels that identify xApps of other origin, as JSON. See [Label sets](operations.md#label-sets)."""

    # Identity and access
    auth: Literal["kubernetes", "none"] = "kubernetes"
    """`kubernetes`: callers authenticate with tokens of the cluster. `none`: everybody acts as the gateway; only
    allowed on loopback.
    """
    default_service_account: str | None = None
    """Service account that helm acts as, in the namespace of the XApp. The gateway creates it in a namespace that it
    creates, if the caller may. The manifests set `xapp-deployer` for both.
    """
    allow_operator_identity: bool = False
    """Allow helm to act as the operator. Then anyone who can create an XApp gets the operator's permissions."""
    require_sandbox: bool = False
    """Do not start if the kernel has no Landlock (Linux 5.13). See [Rendering of
    charts](operations.md#rendering-of-charts).
    """
    secrets_watch: Literal["namespaced", "cluster"] = "namespaced"
    """`namespaced`: the operator has one watch of Secrets for each namespace with XApps. `cluster`: one watch of all
    Secrets, unless `XAPP_NAMESPACES` is set. See [Secrets](operations.md#secrets).
    """
    allow_loopback_repositories: bool = False
    """Allow repositories at loopback addresses."""
    repository_denied_networks: CommaList = CLUSTER_NETWORKS
    """Networks that no repository may be in. See [Repository addresses](operations.md#repository-addresses)."""
    namespace_pod_security: Literal["privileged", "baseline", "restricted"] = "baseline"
    """Pod Security level of namespaces that the gateway creates: `privileged`, `baseline` or `restricted`. See
    [Namespaces that the gateway creates](operations.md#namespaces-that-the-gateway-creates).
    """
    allowed_hosts: CommaList = ()
    """Host headers that the gateway accepts. Empty: all, or loopback names only if `XAPP_AUTH` is `none`."""

    # Operator
    workers: int = Field(10, ge=1, le=200)
    """XApps that are reconciled at the same time."""
    leader_election: bool = True
    """Elect one active operator with a Lease."""
    leader_election_namespace: str = "xapp-operator-system"
    """Namespace of the operator, with its Lease and its service account."""
    lease_seconds: float = Field(15.0, ge=3)
    """Time after which another replica replaces a leader that does not renew its Lease."""
    resync_seconds: float = Field(600.0, ge=10)
    """Interval at which each XApp is reconciled without an event."""
    backoff_first_seconds: float = Field(1.0, gt=0)
    """Pause after the first failure. It doubles with each failure."""
    backoff_max_seconds: float = Field(300.0, gt=0)
    """Longest pause."""
    probe_host: str = "0.0.0.0"  # noqa: S104 - the kubelet probes a pod from its node
    """Address of the probes of both processes."""
    probe_port: int = Field(8080, ge=0, le=65535)
    """Port of `/healthz` and `/readyz` of the operator."""

    # helm
    helm: str = "helm"
    """Path of the helm 4 program."""
    helm_concurrency: int = Field(8, ge=1, le=64)
    """helm processes that run at the same time. The gateway runs at most 4. One namespace never gets the last two
    places.
    """
    helm_memory: int = Field(1024 * MIB, ge=64 * MIB)
    """Memory limit of one helm process of the operator. The gateway has `XAPP_RENDER_MEMORY`."""
    helm_waiting: int = Field(64, ge=0, le=1024)
    """Places of 64 MiB for helm processes that only wait for a hook, in addition. One namespace gets at most half of
    them. Tests of charts get at most half of them, and a quarter in one namespace. When all are taken, the longest are
    ended for namespaces that hold fewer.
    """
    helm_term_seconds: float = Field(10.0, ge=0)
    """Time between SIGTERM and SIGKILL."""

    # Charts
    cache_dir: Path = Path(tempfile.gettempdir()) / "xapp-operator"
    """Folder of the chart cache. Default: `xapp-operator` in the folder for temporary files."""
    work_dir: Path | None = None
    """Folder for the working files of helm, which are small. Default: `helm` in the folder of the chart cache. A folder
    in memory saves processor time.
    """
    chart_max_bytes: int = Field(MIB, ge=1024)
    """Largest chart archive."""
    chart_max_unpacked_bytes: int = Field(20 * MIB, ge=1024)
    """Largest unpacked chart."""
    chart_max_files: int = Field(5000, ge=1)
    """Most files in a chart."""
    index_max_bytes: int = Field(64 * MIB, ge=1024)
    """Largest repository index, unpacked. All indexes in memory together have this size too, and one of them at most
    half of it.
    """
    index_ttl_seconds: float = Field(300.0, ge=0)
    """Time for which an index counts as current, unless a ChartRepository sets `interval`."""
    fetch_timeout_seconds: float = Field(60.0, gt=0)
    """Time limit of one download. A download also ends if fewer than 10 KiB arrive in 10 seconds."""
    download_concurrency: int = Field(16, ge=4, le=256)
    """Downloads at the same time. One namespace gets a quarter of them."""
    chart_cache_max_bytes: int = Field(1024 * MIB, ge=MIB)
    """Size of the chart cache."""

    require_signatures: bool = False
    """Install only charts that are signed with a key of the cluster. See [Chart
    signatures](operations.md#chart-signatures).
    """
    signature_keys: Path = Path("/etc/xapp-operator/signature-keys")
    """Folder with these public keys. The manifests mount the Secret `xapp-signature-keys` there."""

    # Gateway
    commit: str | None = None
    """Commit that the image was built from. `GET /api/about` shows it."""
    host: str = "127.0.0.1"
    """Address that the gateway listens on. The manifests set `0.0.0.0`."""
    port: int = Field(31315, ge=0, le=65535)
    """Port that the gateway listens on."""
    min_items_per_page: int = Field(1, ge=1)
    """Smallest `per_page`."""
    max_items_per_page: int = Field(100, ge=1)
    """Largest `per_page`."""
    default_items_per_page: int = Field(10, ge=1)
    """Default of `per_page`."""
    unpaginated_lists: CommaList = ()
    """Lists that answer with a bare array: `xapps`, `history`, `events`, `repositories`, `charts`, `versions`,
    `archives` (GET `/api/charts`), `services`, `namespaces`.
    """
    values_max_bytes: int = Field(MIB, ge=1024)
    """Largest values file."""
    values_from_max_bytes: int = Field(2 * MIB, ge=1024)
    """All values files in `valuesFrom` of one XApp together. The operator uses it too."""
    form_max_bytes: int = Field(64 * 1024, ge=1024)
    """Largest deployment form."""
    render_memory: int = Field(256 * MIB, ge=64 * MIB)
    """Memory limit of one helm process of the gateway, which checks a chart."""
    wait_max_seconds: float = Field(300.0, ge=0)
    """Largest `?wait=`."""

    # Session cookies
    session_secret: str = "xapp-gateway-session"  # noqa: S105 - the name of a Secret
    """Name of the Secret with the keys of the cookies. The gateway creates it."""
    session_namespace: str = "xapp-operator-system"
    """Namespace of that Secret. No tenant may have rights there."""
    session_max_seconds: int = Field(12 * 3600, ge=60, le=30 * 24 * 3600)
    """Longest session. A token that expires earlier ends the session earlier."""
    session_key_seconds: int = Field(24 * 3600, ge=3600)
    """Age at which a key gets a successor."""
    insecure_sessions: bool = False
    """Allow sessions over plain HTTP from other machines. The gateway warns about it when it starts."""

    # HTTPS
    tls_cert: Path | None = None
    """PEM file with the certificate of the gateway and the intermediate ones. Empty: plain HTTP. Set it together with
    `XAPP_TLS_KEY`.
    """
    tls_key: Path | None = None
    """PEM file with the key of the certificate, without a password."""
    trust_forwarded_proto: bool = False
    """Trust `X-Forwarded-Proto`. Set it only behind a proxy that overwrites this header."""

    # APIs of xApps
    proxy: Literal["auto", "service", "apiserver"] = "auto"
    """How the gateway reaches the API of an xApp. `service`: connect to the Service. `apiserver`: go through the API
    server. `auto`: `service` in a pod, otherwise `apiserver`.
    """
    proxy_timeout: float = Field(60.0, gt=0)
    """Time for an xApp to begin its answer. The answer itself can take longer."""
    proxy_concurrency: int = Field(256, ge=1)
    """Requests and WebSockets to xApps at the same time."""
    proxy_request_headers: CommaList = ()
    """Further request headers that xApps receive, such as `x-api-key`. See [what the gateway
    changes](api.md#what-the-gateway-changes).
    """
    proxy_response_headers: CommaList = ()
    """Further response headers that callers receive."""

    # Limits of the gateway
    trusted_proxies: CommaList = ()
    """Networks of proxies in front of the gateway, such as `10.0.0.0/8`. The limit for one address does not apply to
    them, and the last address in their `X-Forwarded-For` that is not one of them is the client, in limits, audit lines
    and the `X-Forwarded-For` that xApps get.
    """
    connections: int = Field(4096, ge=16)
    """Connections at the same time."""
    connections_per_address: int = Field(2048, ge=8)
    """Connections at the same time from one address (IPv6: from one /64 network)."""
    proxy_per_caller: int = Field(64, ge=1)
    """Requests and WebSockets to xApps at the same time of one caller."""
    logs_per_caller: int = Field(32, ge=1)
    """Open logs of one caller."""
    streams_per_caller: int = Field(64, ge=1)
    """Open streams of changes of one caller."""
    snapshots_per_caller: int = Field(16, ge=1)
    """[Walks through lists](api.md#walks-through-a-list) of one caller. A further one ends the walk that was not used
    for the longest time.
    """
    deployments_concurrency: int = Field(16, ge=1)
    """Uploads and other deployment requests that are checked and rendered at the same time. Twice as many are received.
    Others wait.
    """
    deployments_per_caller: int = Field(4, ge=1)
    """Those of one caller."""
    unknown_tokens_per_address: int = Field(200, ge=1)  # in UNKNOWN_TOKEN_SECONDS
    """Tokens unknown to the cluster that one address (IPv6: one /64 network) may send in 10 seconds. Beyond it, new
    tokens from there are checked one after another, 10 in a second. Tokens that were accepted before do not wait.
    """

    # Probes of the gateway
    gateway_probe_port: int | None = Field(None, ge=0, le=65535)
    """Port of `/healthz` and `/readyz` of the gateway for the kubelet, in addition to that of the API. Empty: none.
    `manifests/` set 8080.
    """

    # Metrics
    metrics_host: str = "127.0.0.1"
    """Address of the metrics. The manifests set `0.0.0.0`."""
    metrics_port: int = Field(9090, ge=0, le=65535)
    """Port of the metrics. 0 means any free port; the log names it."""

    # Logs
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """`DEBUG`, `INFO`, `WARNING` or `ERROR`."""
    log_format: Literal["json", "console"] = "json"
    """`json` for machines, `console` for people."""
    audit_log: str = "stderr"
    """Where the gateway writes its [audit log](operations.md#audit-log): `stderr`, `stdout`, `off`, or the absolute
    path of a file.
    """

    @field_validator(
        "namespaces",
        "advertise_address_values",
        "allowed_hosts",
        "unpaginated_lists",
        "repository_denied_networks",
        "trusted_proxies",
        "proxy_request_headers",
        "proxy_response_headers",
        mode="before",
    )
    @classmethod
    def _split_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("cluster_advertise_address", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("cluster_advertise_address")
    @classmethod
    def _check_advertise_address(cls, value: str | None) -> str | None:
        if value is not None and not _is_host(value):
            raise ValueError("must be an IP address or a host name, without scheme and port")
        return value

    @field_validator("repository_denied_networks")
    @classmethod
    def _check_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            if each not in CLUSTER_NETWORKS:
                ipaddress.ip_network(each, strict=False)
        return value

    @field_validator("audit_log")
    @classmethod
    def _check_audit_log(cls, value: str) -> str:
        if value not in {"stdout", "stderr", "off"} and not Path(value).is_absolute():
            raise ValueError("must be stdout, stderr, off, or the absolute path of a file")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _check_trusted_proxies(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            ipaddress.ip_network(network)
        return value

    @field_validator("label_sets", mode="before")
    @classmethod
    def _parse_label_sets_setting(cls, value: object) -> object:
        return parse_label_sets(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_tls(self) -> Settings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("XAPP_TLS_CERT and XAPP_TLS_KEY belong together: set both of them or none")
        return self

    @model_validator(mode="after")
    def _check_bounds(self) -> Settings:
        if not self.min_items_per_page <= self.default_items_per_page <= self.max_items_per_page:
            raise ValueError(
                "XAPP_DEFAULT_ITEMS_PER_PAGE must be between XAPP_MIN_ITEMS_PER_PAGE and XAPP_MAX_ITEMS_PER_PAGE"
            )
        return self


def _is_host(value: str) -> bool:
    """Return whether this is an IP address or a DNS name; one whose last label is a number is neither."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        labels = value.removesuffix(".").split(".")
        return len(value) <= HOST_NAME_MAX and all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdecimal()
    return True
