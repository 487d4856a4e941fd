"""The only reader of the environment: every setting of operator and gateway, with its default and its unit.

Lowest layer but one, so that every other module can be handed a `Settings` and none needs `os.environ`. A variable is
the field name in capitals behind `XAPP_`; `KUBECONFIG` is Kubernetes' own name. Durations are seconds, sizes bytes.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIB = 1024 * 1024

CommaList = Annotated[tuple[str, ...], NoDecode]

MAX_LABEL_SETS: Final = 8  # each costs a watch for every kind
LABEL_KEY: Final = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.A
)
LABEL_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?", re.A)
_LABEL_SET_EXAMPLE: Final = '[{"selector": "drax/role=xapp", "name": "drax/xapp-name", "component": "…"}]'


@dataclass(frozen=True, slots=True)
class LabelSet:
    """Labels by which charts made for some RIC mark what belongs to an xApp.

    `selector` is an equality selector of Kubernetes (`key` or `key=value`, comma-separated) that picks the objects;
    `name` and `component` are the keys of the labels that name the xApp and its part, empty where the set has none.
    """

    selector: str
    name: str = ""
    component: str = ""

    def __str__(self) -> str:
        """Return it as JSON, as it stands in the setting."""
        return json.dumps({name: value for name, value in asdict(self).items() if value})

    @property
    def required_labels(self) -> tuple[tuple[str, str | None], ...]:
        """Return the labels that the selector asks for; None stands for any value."""
        pairs = (term.partition("=") for term in self.selector.split(","))
        return tuple((key, value if equals else None) for key, equals, value in pairs)


DRAX_LABEL_SET: Final = LabelSet(selector="drax/role=xapp", name="drax/xapp-name", component="drax/xapp-component-name")


class Settings(BaseSettings):
    """Settings of both processes; a wrong value ends the start with a sentence that names the variable."""

    model_config = SettingsConfigDict(env_prefix="XAPP_", extra="ignore", frozen=True)

    # Cluster
    kubeconfig: str | None = Field(None, validation_alias=AliasChoices("XAPP_KUBECONFIG", "KUBECONFIG"))
    namespaces: CommaList = ()  # namespaces to care for; empty: all
    cluster_advertise_address: str | None = None
    advertise_address_values: CommaList = ("global.kubeIp",)

    label_sets: Annotated[tuple[LabelSet, ...], NoDecode] = (
        DRAX_LABEL_SET,
    )  # by which foreign charts register themselves

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
    session_secret: str = "xapp-gateway-session"  # noqa: S105 - the name of a Secret
    session_namespace: str = "xapp-operator-system"
    session_max_seconds: int = Field(12 * 3600, ge=60, le=30 * 24 * 3600)
    trust_forwarded_proto: bool = False  # a proxy in front sets X-Forwarded-Proto, and drops what clients send
    proxy: Literal["auto", "service", "apiserver"] = "auto"  # the way to xApps' own APIs; auto: service in a pod
    proxy_timeout: float = Field(60.0, gt=0)  # until an xApp begins to answer
    proxy_concurrency: int = Field(256, ge=1)

    # Telemetry
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"

    @field_validator("namespaces", "advertise_address_values", "allowed_hosts", "unpaginated_lists", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("label_sets", mode="before")
    @classmethod
    def _parse_label_sets_setting(cls, value: object) -> object:
        return _parse_label_sets(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_bounds(self) -> Settings:
        if not self.min_items_per_page <= self.default_items_per_page <= self.max_items_per_page:
            raise ValueError(
                "XAPP_DEFAULT_ITEMS_PER_PAGE must lie between XAPP_MIN_ITEMS_PER_PAGE and XAPP_MAX_ITEMS_PER_PAGE"
            )
        return self


def _parse_label_sets(text: str) -> tuple[LabelSet, ...]:
    """Return the sets that a JSON text describes; the message of a ValueError says what is wrong with which."""
    try:
        listed = json.loads(text) if text.strip() else []
    except ValueError:
        raise ValueError(f"it is no JSON: write a list such as {_LABEL_SET_EXAMPLE}") from None
    if not isinstance(listed, list) or len(listed) > MAX_LABEL_SETS:
        raise ValueError(f"it must be a list of at most {MAX_LABEL_SETS} sets, such as {_LABEL_SET_EXAMPLE}")
    return tuple(_parse_label_set(each, at=at) for at, each in enumerate(listed, 1))


def _parse_label_set(value: object, *, at: int) -> LabelSet:
    known = {"selector", "name", "component"}
    if not isinstance(value, dict) or not value.get("selector") or not value.keys() <= known:
        raise ValueError(f"set {at} must have a selector, and may have name and component, as in {_LABEL_SET_EXAMPLE}")
    if not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"set {at}: selector, name and component are texts, as in {_LABEL_SET_EXAMPLE}")
    label_set = LabelSet(**value)
    for key, text in label_set.required_labels:
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(text or ""):
            raise ValueError(
                f"set {at}: its selector must be labels to be equal to, key=value or key, comma-separated, without "
                "spaces: drax/role=xapp"
            )
    for field in ("name", "component"):
        key = getattr(label_set, field)
        if key and not LABEL_KEY.fullmatch(key):
            raise ValueError(f"set {at}: its {field} must be the key of a label, such as drax/xapp-name")
    return label_set
