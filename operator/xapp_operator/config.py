"""All settings of operator, gateway and command line, with their defaults; the only reader of the environment.

A variable is the field name in capitals after `XAPP_`; `KUBECONFIG` is Kubernetes' own. Durations are seconds, sizes
bytes.
"""

from __future__ import annotations

import ipaddress
import os
import tempfile
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from xapp_operator.label_sets import DRAX_LABEL_SET, LabelSet, parse_label_sets

MIB = 1024 * 1024

CLUSTER_NETWORKS: Final = ("apiserver", "services", "nodes", "pods")
"""Networks of the cluster itself, which are looked up."""

CommaList = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """Settings of both processes. A wrong value stops the start with an error that names the variable."""

    model_config = SettingsConfigDict(env_prefix="XAPP_", extra="ignore", frozen=True)

    # Cluster
    kubeconfig: str | None = Field(None, validation_alias=AliasChoices("XAPP_KUBECONFIG", "KUBECONFIG"))
    namespaces: CommaList = ()  # to watch; empty: all
    cluster_advertise_address: str | None = None
    advertise_address_values: CommaList = ("global.kubeIp",)

    # labels by which charts of other RICs register themselves
    label_sets: Annotated[tuple[LabelSet, ...], NoDecode] = (DRAX_LABEL_SET,)

    # Identity and safety
    auth: Literal["kubernetes", "none"] = "kubernetes"
    default_service_account: str | None = None
    allow_operator_identity: bool = False
    require_sandbox: bool = False  # refuse to start if the kernel has no Landlock
    secrets_watch: Literal["namespaced", "cluster"] = "namespaced"
    allow_loopback_repositories: bool = False
    repository_denied_networks: CommaList = CLUSTER_NETWORKS
    namespace_pod_security: Literal["privileged", "baseline", "restricted"] = "baseline"  # of namespaces made here
    allowed_hosts: CommaList = ()  # empty: every Host header (loopback names only with auth=none)

    # Operator
    workers: int = Field(10, ge=1, le=200)
    leader_election: bool = True
    leader_election_namespace: str = "xapp-operator-system"
    lease_seconds: float = Field(15.0, ge=3)
    resync_seconds: float = Field(600.0, ge=10)
    backoff_first_seconds: float = Field(1.0, gt=0)
    backoff_max_seconds: float = Field(300.0, gt=0)
    probe_host: str = "0.0.0.0"  # noqa: S104 - the kubelet probes a pod from its node
    probe_port: int = Field(8080, ge=0, le=65535)

    # Helm
    helm: str = "helm"
    helm_concurrency: int = Field(8, ge=1, le=64)
    helm_memory: int = Field(1024 * MIB, ge=64 * MIB)  # of the operator's helm; the gateway's: render_memory
    helm_waiting: int = Field(64, ge=0, le=1024)
    helm_term_seconds: float = Field(10.0, ge=0)

    # Charts
    cache_dir: Path = Path(tempfile.gettempdir()) / "xapp-operator"
    chart_max_bytes: int = Field(MIB, ge=1024)
    chart_max_unpacked_bytes: int = Field(20 * MIB, ge=1024)
    chart_max_files: int = Field(5000, ge=1)
    index_max_bytes: int = Field(64 * MIB, ge=1024)
    index_ttl_seconds: float = Field(300.0, ge=0)
    fetch_timeout_seconds: float = Field(60.0, gt=0)
    download_concurrency: int = Field(16, ge=4, le=256)
    chart_cache_max_bytes: int = Field(1024 * MIB, ge=MIB)

    require_signatures: bool = False
    signature_keys: Path = Path("/etc/xapp-operator/signature-keys")  # a folder, such as a mounted Secret

    # Gateway
    commit: str | None = None  # shown by GET /api/about
    host: str = "127.0.0.1"
    port: int = Field(31315, ge=0, le=65535)
    min_items_per_page: int = Field(1, ge=1)
    max_items_per_page: int = Field(100, ge=1)
    default_items_per_page: int = Field(10, ge=1)
    unpaginated_lists: CommaList = ()  # names of lists that return a bare array: xapps, history, …
    values_max_bytes: int = Field(MIB, ge=1024)
    values_from_max_bytes: int = Field(2 * MIB, ge=1024)
    form_max_bytes: int = Field(64 * 1024, ge=1024)
    render_memory: int = Field(256 * MIB, ge=64 * MIB)
    wait_max_seconds: float = Field(300.0, ge=0)
    session_secret: str = "xapp-gateway-session"  # noqa: S105 - the name of a Secret
    session_namespace: str = "xapp-operator-system"
    session_max_seconds: int = Field(12 * 3600, ge=60, le=30 * 24 * 3600)
    session_key_seconds: int = Field(24 * 3600, ge=3600)  # until a key gets a successor
    insecure_sessions: bool = False  # sessions over plain http from other machines
    tls_cert: Path | None = None  # PEM, with the intermediate certificates; without it, the gateway speaks plain HTTP
    tls_key: Path | None = None
    trust_forwarded_proto: bool = False  # a proxy in front sets X-Forwarded-Proto and removes what clients send
    proxy: Literal["auto", "service", "apiserver"] = "auto"  # route to the xApps' own APIs; auto: service in a pod
    proxy_timeout: float = Field(60.0, gt=0)  # until an xApp starts its response
    proxy_concurrency: int = Field(256, ge=1)
    proxy_request_headers: CommaList = ()  # forwarded to xApps besides the usual ones
    proxy_response_headers: CommaList = ()

    # Limits of the gateway
    trusted_proxies: CommaList = ()  # networks of proxies in front, which set X-Forwarded-For
    connections: int = Field(4096, ge=16)
    connections_per_address: int = Field(2048, ge=8)
    proxy_per_caller: int = Field(64, ge=1)
    logs_per_caller: int = Field(32, ge=1)
    streams_per_caller: int = Field(64, ge=1)
    snapshots_per_caller: int = Field(16, ge=1)
    deployments_concurrency: int = Field(16, ge=1)  # deployment requests that are read and rendered
    deployments_per_caller: int = Field(4, ge=1)
    unknown_tokens_per_address: int = Field(200, ge=1)  # in UNKNOWN_TOKEN_SECONDS

    # Probes of the gateway
    gateway_probe_port: int | None = Field(None, ge=0, le=65535)  # None: only on the port of the API

    # Metrics
    metrics_host: str = "127.0.0.1"
    metrics_port: int = Field(9090, ge=0, le=65535)  # 0: any free port

    # Telemetry
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"
    audit_log: str = "stderr"  # stdout, stderr, off, or the absolute path of a file

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


class CommandLineSettings(BaseSettings):
    """Environment of the command line `xapp`. Variables without XAPP_ are those that other programs read too."""

    model_config = SettingsConfigDict(env_prefix="XAPP_", extra="ignore", frozen=True)

    gateway: str | None = None
    token: SecretStr | None = None
    kubeconfig: str | None = Field(None, validation_alias="KUBECONFIG")  # files, separated by colons
    no_color: str | None = Field(None, validation_alias="NO_COLOR")  # any text but an empty one
    editor: str | None = Field(None, validation_alias=AliasChoices("VISUAL", "EDITOR"))
    config_home: str | None = Field(None, validation_alias="XDG_CONFIG_HOME")


def inherited_environment() -> dict[str, str]:
    """Return the environment of this process, for a program that the user starts through it."""
    return dict(os.environ)
