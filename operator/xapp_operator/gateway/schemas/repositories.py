"""Models of saved repositories, their charts and versions."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from xapp_operator.api.spec_parts import REPOSITORY_PREFIXES_TEXT, REPOSITORY_SCHEMES_PATTERN, RepositoryType
from xapp_operator.gateway.schemas.records import ResponseModel

CREDENTIAL_MAX = 8192
CA_BUNDLE_MAX = 60_000
"""Keeps the whole request below the maximum size of JSON bodies."""


class RepositoryRequest(BaseModel):
    """A repository to save; credentials go into a Secret of the same namespace and never come back."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, hide_input_in_errors=True)

    name: str = Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", description="Value of repoName.")
    namespace: str = Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    url: str = Field(
        max_length=2048,
        pattern=f"{REPOSITORY_SCHEMES_PATTERN}[!-~]+$",
        description=f"{REPOSITORY_PREFIXES_TEXT}, without credentials.",
    )
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


class RepositoryRecord(ResponseModel):
    """One saved repository."""

    name: str
    namespace: str
    url: str
    type: RepositoryType
    charts: int | None = Field(description="Charts in its index, as of lastFetched; null for oci.")
    last_fetched: datetime | None = Field(description="When the operator last fetched it.")
    ready: bool = Field(description="The operator has fetched it with its current settings.")
    message: str | None = Field(description="The result of the last fetch; null before the first one.")


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
