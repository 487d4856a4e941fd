"""Asking a repository whether it can be used, before it is saved.

The same downloader with the same address rules connects as for every chart, in the share of the namespace.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from xapp_operator.api.chart_repository import ChartRepositorySpec
from xapp_operator.api.json import JsonObject
from xapp_operator.charts.chart_repositories import load_repository
from xapp_operator.charts.chart_request import BasicCredentials, Repository, RepositoryCredentials, TokenCredentials
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import (
    AccessDenied,
    CertificateNotTrusted,
    ChartSourceError,
    FieldError,
    SignatureInvalid,
    SourceAccessDenied,
    SourceTimeout,
)
from xapp_operator.gateway.schemas.repositories import RepositoryRequest
from xapp_operator.kube.client import KubeClient

CHECK_SECONDS: Final = 15.0


async def check_repository(
    client: KubeClient, charts: ChartSources, request: RepositoryRequest, spec: JsonObject | None = None
) -> JsonObject:
    """Return what a repository answers now, in the shape of the API.

    Args:
        client: the caller's; it reads the Secrets that the repository refers to.
        charts: connects.
        request: the settings, and the credentials to use.
        spec: the spec of a saved repository after the change; what it keeps of Secrets is used too.

    Raises:
        ChartSourceError: when the repository cannot be used with these settings; `errors` names the field.
        SignatureInvalid: when the keys of `verify` cannot be read.
        AccessDenied: when the caller may not read credentials that are kept.
    """
    repository, warnings = await _repository(client, request, spec or {})
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            found = await charts.check_access(repository)
    except TimeoutError:
        message = f"did not answer within {CHECK_SECONDS:g} s: check host and port, or try again"
        raise SourceTimeout.for_field("url", message, subject="the repository") from None
    except ChartSourceError as error:
        raise refusal_for_field(error, request, has_credentials=repository.credentials is not None) from None
    if found is not None:
        message = f"the repository answers and has {found} charts"
    elif repository.credentials is not None:
        message = "the registry answers and accepts the credentials; a registry cannot list its charts"
    else:
        message = "the registry answers; whether it requires credentials depends on the chart"
    return {
        "url": request.url,
        "type": "oci" if repository.is_oci else "http",
        "charts": found,
        "message": message,
        "warnings": list(warnings),
    }


async def _repository(
    client: KubeClient, request: RepositoryRequest, spec: JsonObject
) -> tuple[Repository, tuple[str, ...]]:
    kept = {key: spec[key] for key in _kept_references(request, spec)}
    settings: JsonObject = {
        "url": request.url,
        "insecureSkipTLSVerify": bool(request.insecure_skip_tls_verify),
        "allowPlainHTTP": bool(request.allow_plain_http),
    }
    loaded = await load_repository(
        client, ChartRepositorySpec.model_validate({**settings, **kept}), namespace=request.namespace
    )
    warnings = await _check_keys(client, request, settings)
    return (
        replace(
            loaded,
            credentials=loaded.credentials or credentials_of(request),
            ca_bundle=loaded.ca_bundle or request.ca_bundle,
        ),
        warnings,
    )


def _kept_references(request: RepositoryRequest, spec: JsonObject) -> list[str]:
    given = {"secretRef": request.token or request.password, "caSecretRef": request.ca_bundle}
    return [key for key, value in given.items() if value is None and key in spec]


def credentials_of(request: RepositoryRequest) -> RepositoryCredentials | None:
    """Return the credentials in a request, or None without any."""
    if request.token is not None:
        return TokenCredentials(request.token)
    if request.username is not None and request.password is not None:
        return BasicCredentials(request.username, request.password)
    return None


async def _check_keys(client: KubeClient, request: RepositoryRequest, settings: JsonObject) -> tuple[str, ...]:
    """Read the keys of `verify`; return a warning if the caller may not."""
    if request.verify is None:
        return ()
    spec = ChartRepositorySpec.model_validate({**settings, "verify": request.verify.model_dump(by_alias=True)})
    try:
        await load_repository(client, spec, namespace=request.namespace)
    except AccessDenied:
        return (f"the keys in the Secret {request.verify.secret_ref.name} were not checked: you may not get secrets",)
    except SignatureInvalid as error:
        raise SignatureInvalid(error.message, errors=(FieldError("verify", error.message),)) from None
    return ()


def refusal_for_field(
    error: ChartSourceError, request: RepositoryRequest, *, has_credentials: bool
) -> ChartSourceError:
    """Return the error with the field of the request that has to be changed."""
    field, message = "url", error.message
    if isinstance(error, SourceAccessDenied) and has_credentials:
        field, message = (
            "token" if request.token is not None else "password",
            "is refused by the repository: correct the credentials",
        )
    elif isinstance(error, SourceAccessDenied):
        field, message = (
            "username",
            "is required: the repository denies access without credentials. Send username and password, or token",
        )
    elif isinstance(error, CertificateNotTrusted):
        field, message = "caBundle", "is required: the certificate of the repository is not trusted. Send its CA"
    text = message if field == "url" else f"{field} {message}"
    return type(error)(text, errors=(FieldError(field, message),), permanent=error.permanent)
