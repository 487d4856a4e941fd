"""The `ChartRepository` resource: the saved address of a chart repository, and where its credentials are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from xapp_operator.api.models import Condition, Metadata
from xapp_operator.api.names import ANNOTATION_ORIGIN, BASIC_AUTH_TYPE, REPOSITORY_CREDENTIALS_TYPE
from xapp_operator.api.rules import CelRule, cel_rules, duration_rule, parse_duration
from xapp_operator.api.spec_parts import REPOSITORY_PREFIXES_TEXT, URL_RULES, Model, ObjectName
from xapp_operator.api.status_texts import CONDITIONS_MAX

DEFAULT_INTERVAL = "5m"


class SecretRef(Model):
    """A Secret in the same namespace."""

    name: ObjectName = Field(description="Name of the Secret.")


class CaSecretRef(SecretRef):
    """A Secret that holds a CA bundle."""

    key: ObjectName = Field("ca.crt", description="Key that holds the PEM bundle. Default ca.crt.")


class SignatureCheck(Model):
    """How charts of this repository must be signed."""

    provider: Literal["provenance", "cosign"] = Field(
        description="provenance: a provenance file of helm (.prov), signed with OpenPGP; cosign: a signature in the "
        "registry, made with a key."
    )
    secret_ref: SecretRef = Field(
        description="Secret with the public keys, one or more in each entry: OpenPGP keys for provenance, PEM keys for "
        "cosign."
    )


class ChartRepositorySpec(Model):
    """Where the charts are, and how to authenticate."""

    model_config = ConfigDict(
        json_schema_extra=cel_rules(
            CelRule(
                "!(has(self.insecureSkipTLSVerify) && self.insecureSkipTLSVerify && has(self.caSecretRef))",
                "insecureSkipTLSVerify and caSecretRef cannot be used together: remove one of them",
            ),
            CelRule(
                "!has(self.verify) || self.verify.provider != 'cosign' || self.url.startsWith('oci://')",
                "cosign signs charts in OCI registries: use a url that begins with oci://, or the provider provenance",
                ".verify",
            ),
        )
    )

    url: Annotated[str, *URL_RULES] = Field(
        description=f"Address of the repository: {REPOSITORY_PREFIXES_TEXT}.",
        min_length=1,
        max_length=2048,
    )
    secret_ref: SecretRef | None = Field(
        None,
        description=(
            f"Secret in this namespace with the keys username and password, or token. Its type is "
            f"{REPOSITORY_CREDENTIALS_TYPE} or {BASIC_AUTH_TYPE}, and its annotation {ANNOTATION_ORIGIN} is scheme, "
            "host and port of url."
        ),
    )
    ca_secret_ref: CaSecretRef | None = Field(None, description="Secret with a CA bundle, in this namespace.")
    insecure_skip_tls_verify: bool = Field(
        False,  # noqa: FBT003
        alias="insecureSkipTLSVerify",
        description="true: accept any certificate. Default false.",
    )
    allow_plain_http: bool = Field(
        False,  # noqa: FBT003
        alias="allowPlainHTTP",
        description="true: send the credentials over http, where others can read them. Default false.",
    )
    interval: Annotated[str, duration_rule("10s", "168h", examples="5m or 1h")] = Field(
        DEFAULT_INTERVAL,
        description="How often the index is checked. Default 5m.",
        max_length=32,
    )

    verify: SignatureCheck | None = Field(
        None, description="Install only charts that are signed with one of these keys. Default: signatures are ignored."
    )

    @property
    def interval_seconds(self) -> float:
        return parse_duration(self.interval)

    @property
    def is_configured(self) -> bool:
        """Return whether access or signatures are configured: the url alone cannot replace it."""
        return self != ChartRepositorySpec(url=self.url, interval=self.interval)


class ChartRepositoryStatus(Model):
    """The observed state of the repository."""

    observed_generation: int = Field(-1, description="Generation of the spec that this status is about.")
    charts: int | None = Field(None, description="Number of charts in the index; absent for oci.")
    last_fetched: datetime | None = Field(None, description="When the index was last read or found unchanged.")
    conditions: list[Condition] | None = Field(
        None,
        description="Ready; Stalled and Reconciling only while True.",
        json_schema_extra={
            "maxItems": CONDITIONS_MAX,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    )


class ChartRepository(Model):
    """A saved chart repository: its address, and where its credentials are."""

    metadata: Metadata
    spec: ChartRepositorySpec
    status: ChartRepositoryStatus = Field(default_factory=ChartRepositoryStatus)

    @property
    def key(self) -> tuple[str, str]:
        return self.metadata.namespace, self.metadata.name
