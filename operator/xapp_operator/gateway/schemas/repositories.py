"""Models of saved repositories, their charts and versions."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from xapp_operator.api.spec_parts import REPOSITORY_PREFIXES_TEXT, REPOSITORY_SCHEMES_PATTERN, RepositoryType
from xapp_operator.gateway.schemas.records import ResponseModel

CREDENTIAL_MAX = 8192
CA_BUNDLE_MAX = 60_000
"""Keeps the whole request below the maximum size of JSON bodies."""


_REQUEST_CONFIG: Final = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, hide_input_in_errors=True)
_DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class SecretName(BaseModel):
    """A Secret of the same namespace."""

    model_config = _REQUEST_CONFIG

    name: str = Field(min_length=1, max_length=253)


class SignatureCheckRequest(BaseModel):
    """How charts of the repository must be signed."""

    model_config = _REQUEST_CONFIG

    provider: Literal["provenance", "cosign"]
    secret_ref: SecretName = Field(description="Secret with the public keys.")


class NewRepository(BaseModel):
    """A repository that is saved with a deployment; name, namespace and url come from the form."""

    model_config = _REQUEST_CONFIG

    username: str | None = Field(None, min_length=1, max_length=CREDENTIAL_MAX, description="Requires password.")
    password: str | None = Field(None, min_length=1, max_length=CREDENTIAL_MAX, description="Requires username.")
    token: str | None = Field(
        None,
        max_length=CREDENTIAL_MAX,
        pattern="^[!-~]+$",
        description="Bearer token in place of the two.",
    )
    ca_bundle: str | None = Field(
        None,
        min_length=1,
        max_length=CA_BUNDLE_MAX,
        description="Further PEM certificates to trust.",
    )
    insecure_skip_tls_verify: bool | None = Field(
        None, alias="insecureSkipTLSVerify", description="true: accept any certificate."
    )
    allow_plain_http: bool | None = Field(
        None, alias="allowPlainHTTP", description="true: send the credentials over http, where others can read them."
    )
    verify: SignatureCheckRequest | None = Field(
        None, description="Install only charts that are signed with one of these keys; cosign requires an oci url."
    )
    interval: str | None = Field(
        None,
        min_length=1,
        max_length=32,
        description="How often the index is checked, such as 5m, which is the default.",
    )


class RepositorySettings(NewRepository):
    """What can be changed of a saved repository."""

    url: str = Field(
        max_length=2048,
        pattern=f"{REPOSITORY_SCHEMES_PATTERN}[!-~]+$",
        description=f"{REPOSITORY_PREFIXES_TEXT}, without credentials.",
    )


class RepositoryRequest(RepositorySettings):
    """A repository to save; credentials go into a Secret of the same namespace and never come back."""

    name: str = Field(max_length=63, pattern=_DNS_LABEL, description="Value of repoName.")
    namespace: str = Field(max_length=63, pattern=_DNS_LABEL)


class RepositoryChange(RepositorySettings):
    """The new settings of a saved repository: what is left out has its default.

    Only username, password, token and caBundle are kept if they are left out; null removes them.
    """

    name: str | None = Field(None, description="If given, the name in the path: a repository keeps its name.")
    namespace: str | None = Field(None, description="If given, the namespace in the path.")


class RepositoryCheck(ResponseModel):
    """What a repository answered; nothing is saved."""

    url: str
    type: RepositoryType
    charts: int | None = Field(description="Charts in its index; null for oci.")
    message: str
    warnings: list[str] = Field(description="What was not checked.")


class SignatureCheckModel(ResponseModel):
    """How charts of a repository must be signed."""

    provider: Literal["provenance", "cosign"]
    secret_ref: SecretName


class RepositoryUsage(ResponseModel):
    """The XApps whose charts come from a repository."""

    count: int
    names: list[str] = Field(description="At most 10, sorted.")


class RepositoryRecord(ResponseModel):
    """One saved repository."""

    name: str
    namespace: str
    uid: str
    generation: int = Field(description="Number of changes of its settings.")
    updated_at: datetime | None = Field(
        description="When somebody last wrote it; the operator's status does not count."
    )
    url: str
    type: RepositoryType
    charts: int | None = Field(description="Charts in its index, as of lastFetched; null for oci.")
    last_fetched: datetime | None = Field(description="When the operator last fetched it.")
    ready: bool = Field(description="The operator has fetched it with its current settings.")
    message: str | None = Field(description="The result of the last fetch; null before the first one.")
    interval: str = Field(description="How often the index is checked.")
    has_credentials: bool = Field(description="It refers to a Secret with credentials.")
    has_ca_bundle: bool = Field(description="It refers to a Secret with further certificates to trust.")
    insecure_skip_tls_verify: bool = Field(alias="insecureSkipTLSVerify")
    allow_plain_http: bool = Field(alias="allowPlainHTTP")
    verify: SignatureCheckModel | None
    used_by: RepositoryUsage | None = Field(
        description="XApps of its namespace that name it in repoName; null without permission to list XApps there."
    )


class ChartRecord(ResponseModel):
    """One chart of a repository, described by its newest release."""

    name: str
    description: str | None
    versions: int = Field(description="Number of versions.")
    latest: str = Field(description="The newest release, or else the newest pre-release.")
    app_version: str | None
    icon: str | None = Field(description="An http(s) URL.")


class ChartVersionRecord(ResponseModel):
    """One version of a chart; in an OCI registry, only `version` is known."""

    version: str
    app_version: str | None
    created: datetime | None
    digest: str | None = Field(description="Digest of the archive: sha256: and 64 hex digits.")
    description: str | None
