"""The only reader of the environment: every setting of operator and gateway, with its default and its unit.

Lowest layer but one, so that every other module can be handed a `Settings` and none needs `os.environ`. A variable is
the field name in capitals behind `XAPP_`; `KUBECONFIG` is Kubernetes' own name. Durations are seconds, sizes bytes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIB = 1024 * 1024

CommaList = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """Settings of both processes; a wrong value ends the start with a sentence that names the variable."""

    model_config = SettingsConfigDict(env_prefix="XAPP_", extra="ignore", frozen=True)

    # Cluster
    kubeconfig: str | None = Field(None, validation_alias=AliasChoices("XAPP_KUBECONFIG", "KUBECONFIG"))
    namespaces: CommaList = ()  # namespaces to care for; empty: all
    cluster_advertise_address: str | None = None
    advertise_address_values: CommaList = ("global.kubeIp",)

    # Identity and safety
    auth: Literal["kubernetes", "none"] = "kubernetes"
    default_service_account: str | None = None
    allow_operator_identity: bool = False
    allow_loopback_repositories: bool = False
    allowed_hosts: CommaList = ()  # empty: every Host header (loopback names only with auth=none)

    # Operator
    workers: int = Field(10, ge=1, le=200)
    leader_election: bool = True
    leader_election_namespace: str = "xapp-operator-system"
    lease_seconds: float = Field(15.0, ge=3)
    resync_seconds: float = Field(600.0, ge=10)
    backoff_first_seconds: float = Field(1.0, gt=0)
    backoff_max_seconds: float = Field(300.0, gt=0)
    probe_host: str = "0.0.0.0"  # noqa: S104 - the probe of a pod is asked from its node
    probe_port: int = Field(8080, ge=0, le=65535)

    # Helm
    helm: str = "helm"
    helm_concurrency: int = Field(8, ge=1, le=64)
    helm_memory: int = Field(1024 * MIB, ge=64 * MIB)
    helm_term_seconds: float = Field(10.0, ge=0)

    # Charts
    cache_dir: Path = Path(tempfile.gettempdir()) / "xapp-operator"
    chart_max_bytes: int = Field(MIB, ge=1024)
    chart_max_unpacked_bytes: int = Field(20 * MIB, ge=1024)
    chart_max_files: int = Field(5000, ge=1)
    index_max_bytes: int = Field(64 * MIB, ge=1024)
    index_ttl_seconds: float = Field(300.0, ge=0)
    fetch_timeout_seconds: float = Field(60.0, gt=0)
    chart_cache_max_bytes: int = Field(1024 * MIB, ge=MIB)

    # Gateway
    host: str = "127.0.0.1"
    port: int = Field(31315, ge=0, le=65535)
    min_items_per_page: int = Field(1, ge=1)
    max_items_per_page: int = Field(100, ge=1)
    default_items_per_page: int = Field(10, ge=1)
    unpaginated_lists: CommaList = ()  # names of lists that answer a bare array: xapps, history, …
    values_max_bytes: int = Field(MIB, ge=1024)
    form_max_bytes: int = Field(64 * 1024, ge=1024)
    wait_max_seconds: float = Field(300.0, ge=0)

    # Telemetry
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"

    @field_validator("namespaces", "advertise_address_values", "allowed_hosts", "unpaginated_lists", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @model_validator(mode="after")
    def _check_bounds(self) -> Settings:
        if not self.min_items_per_page <= self.default_items_per_page <= self.max_items_per_page:
            raise ValueError(
                "XAPP_DEFAULT_ITEMS_PER_PAGE must lie between XAPP_MIN_ITEMS_PER_PAGE and XAPP_MAX_ITEMS_PER_PAGE"
            )
        return self
