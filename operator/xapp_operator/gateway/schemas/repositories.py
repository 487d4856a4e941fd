"""The shapes of saved repositories, their charts and versions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from xapp_operator.gateway.schemas.records import ResponseModel

CREDENTIAL_MAX = 8192
CA_BUNDLE_MAX = 60_000
"""So that a whole request stays below the cap of JSON bodies."""


class RepositoryRequest(BaseModel):
    """A repository to save; credentials go into a Secret of the same namespace and never come back."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, hide_input_in_errors=True)

    name: str = Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", description="What repoName refers to.")
    namespace: str = Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    url: str = Field(
        max_length=2048,
        pattern=r"^(https?|oci)://[!-~]+$",
        description="http://, https:// or oci://, without credentials.",
    )
    username: str | None = Field(None, min_length=1, max_length=CREDENTIAL_MAX, description="With password.")
    password: str | None = Field(None, min_length=1, max_length=CREDENTIAL_MAX, description="With username.")
    token: str | None = Field(
        None, max_length=CREDENTIAL_MAX, pattern="^[!-~]+$", description="Bearer token, instead of the two."
    )
    ca_bundle: str | None = Field(
        None, min_length=1, max_length=CA_BUNDLE_MAX, description="PEM certificates to trust besides the usual ones."
    )
    insecure_skip_tls_verify: bool | None = Field(
        None, alias="insecureSkipTLSVerify", description="true: accept any certificate."
    )


class RepositoryRecord(ResponseModel):
    """One saved repository."""

    name: str
    namespace: str
    url: str
    type: Literal["http", "oci"]
    charts: int | None = Field(description="Charts in its index, as of lastFetched; null for oci.")
    last_fetched: datetime | None = Field(description="When the operator last read it.")
    ready: bool = Field(description="It could be read, as it is saved now.")
    message: str | None = Field(description="What the operator found; null before its first look.")


class ChartRecord(ResponseModel):
    """One chart of a repository, as its newest release describes it."""

    name: str
    description: str | None
    versions: int = Field(description="How many there are.")
    latest: str = Field(description="The newest release; the newest pre-release where there is no release.")
    app_version: str | None
    icon: str | None = Field(description="An http(s) URL.")


class ChartVersionRecord(ResponseModel):
    """One version of a chart; of a chart in a registry only `version` is known."""

    version: str
    app_version: str | None
    created: datetime | None
    digest: str | None = Field(description="sha256: and 64 hex digits, of the archive.")
    description: str | None
