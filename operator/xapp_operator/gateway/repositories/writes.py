"""Saving a chart repository with its credentials, and removing it, as the caller.

The ChartRepository is written first and the Secret that it names second, owned by it: so credentials never lie about
without an owner, whatever breaks in between, and go when the repository goes. The operator may see the one before the
other, and looks again as soon as the Secret is there. Nothing of the credentials gets into an answer, error or log.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import API_VERSION, REPOSITORY_KIND
from xapp_operator.charts.chart_request import parse_repository_url
from xapp_operator.common.text import escape_input, quote_input
from xapp_operator.config import Settings
from xapp_operator.errors import (
    AddressRefused,
    AlreadyExists,
    FieldError,
    FormInvalid,
    GatewayNotFound,
    Invalid,
    KubeError,
    NotFound,
)
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.http.bodies import BODY_ERRORS_MAX
from xapp_operator.gateway.http.query import suggest_name
from xapp_operator.gateway.schemas.repositories import RepositoryRequest
from xapp_operator.kube.chart_repositories import create_chart_repository
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS
from xapp_operator.telemetry.logs import get_logger

CREDENTIAL_FIELDS: Final = ("username", "password", "token", "caBundle")
"""What needs a Secret, as the request spells it."""

CA_KEY: Final = "ca.crt"
SECRET_SUFFIX_BYTES: Final = 4

_KNOWN_FIELDS: Final = tuple(field.alias or name for name, field in RepositoryRequest.model_fields.items())
_DNS_LABEL_RULE: Final = "must be a name of at most 63 lower-case letters, digits and '-', none of the '-' at an end"
_FIELD_RULES: Final = {
    "name": _DNS_LABEL_RULE,
    "namespace": _DNS_LABEL_RULE,
    "url": "must begin with http://, https:// or oci://, name a host, and have no spaces and none but ASCII characters",
    "token": "must be of visible ASCII characters, without spaces or line breaks",
}
_USER_INFO: Final = re.compile(r"[a-z]+://[^/?#]*@")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_REQUEST_FIELDS: Final = {"metadata": "name", "metadata.name": "name", "metadata.namespace": "namespace", "spec": "url"}

_log = get_logger(__name__)


def needs_secret(body: Mapping[str, object]) -> bool:
    """Tell whether a request, be the rest of it right or wrong, brings what is kept in a Secret."""
    return any(body.get(field) is not None for field in CREDENTIAL_FIELDS)


def validate_repository(body: JsonObject, *, settings: Settings) -> RepositoryRequest:
    """Return the repository that a request describes when every rule is kept.

    Raises:
        FormInvalid: naming all fields that are wrong, and what mends them, and no value.
    """
    try:
        repository = RepositoryRequest.model_validate(body)
    except ValidationError as error:
        errors = [_field_error(each) for each in error.errors(include_url=False, include_input=False)]
        raise _repository_invalid(errors) from None
    errors = [
        *_url_errors(repository),
        *_namespace_errors(repository, settings),
        *_credential_errors(repository),
        *_tls_errors(repository),
    ]
    if errors:
        raise _repository_invalid(errors)
    return repository


async def create_repository(caller: Caller, repository: RepositoryRequest) -> JsonObject:
    """Create the ChartRepository, and the Secret that it needs, as the caller; return the former as stored.

    Raises:
        AlreadyExists: when there is one of that name.
        NotFoundHere: when there is no such namespace.
        KubeError: what else the cluster refuses; then nothing is left behind.
    """
    secret = _secret_data(repository)
    secret_name = f"chart-repository-{repository.name}-{secrets.token_hex(SECRET_SUFFIX_BYTES)}"
    client = caller.client
    try:
        created = await create_chart_repository(
            client,
            _repository_spec(repository, secret_name),
            namespace=repository.namespace,
            name=repository.name,
        )
    except AlreadyExists:
        raise await _already_exists(client, repository) from None
    except NotFound:
        message = f"does not exist: create the namespace {repository.namespace}, or name another"
        raise GatewayNotFound(f"the namespace {message}", errors=(FieldError("namespace", message),)) from None
    except Invalid as error:
        raise _as_request_error(error) from None
    if secret:
        try:
            await client.create(SECRETS, _secret_body(repository, secret_name, secret, owner=obj(created, "metadata")))
        except (KubeError, asyncio.CancelledError):
            await _delete_created(client, repository, uid=text(obj(created, "metadata"), "uid"))
            raise
    return created


async def delete_repository(client: KubeClient, *, namespace: str, name: str) -> None:
    """Delete a ChartRepository; the garbage collector takes the Secret that was made for it.

    Raises:
        NotFoundHere: when there is none of that name.
    """
    try:
        await client.delete(CHART_REPOSITORIES, name, namespace=namespace)
    except (NotFound, Invalid):  # what can be no name is the name of nothing
        raise repository_not_found(namespace, name) from None


def repository_not_found(namespace: str, name: str) -> GatewayNotFound:
    """Return the refusal to speak of a repository that does not exist."""
    return GatewayNotFound(
        f"there is no repository {quote_input(name)} in the namespace {quote_input(namespace)}: GET "
        "/api/repositories lists what "
        "there is"
    )


def _repository_spec(repository: RepositoryRequest, secret_name: str) -> JsonObject:
    spec: JsonObject = {"url": repository.url}
    if repository.token is not None or repository.username is not None:
        spec["secretRef"] = {"name": secret_name}
    if repository.ca_bundle is not None:
        spec["caSecretRef"] = {"name": secret_name, "key": CA_KEY}
    if repository.insecure_skip_tls_verify:
        spec["insecureSkipTLSVerify"] = True
    return spec


def _secret_data(repository: RepositoryRequest) -> dict[str, str]:
    given = {
        "username": repository.username,
        "password": repository.password,
        "token": repository.token,
        CA_KEY: repository.ca_bundle,
    }
    return {key: value for key, value in given.items() if value is not None}


def _secret_body(repository: RepositoryRequest, name: str, data: Mapping[str, str], *, owner: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": repository.namespace,
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": REPOSITORY_KIND,
                    "name": repository.name,
                    "uid": text(owner, "uid"),
                }
            ],
        },
        "type": "Opaque",
        "stringData": {**data},
    }


async def _already_exists(client: KubeClient, repository: RepositoryRequest) -> AlreadyExists:
    url = ""
    try:
        current = await client.get(CHART_REPOSITORIES, repository.name, namespace=repository.namespace)
        url = text(obj(current, "spec"), "url")
    except KubeError:
        pass  # gone again, or not for this caller to see
    detail = "" if not url else " with that url" if url == repository.url else f" with another url ({url})"
    message = f"is saved in this namespace already{detail}: use it as it is, delete it first, or choose another name"
    return AlreadyExists(f"the repository {repository.name} {message}", errors=(FieldError("name", message),))


async def _delete_created(client: KubeClient, repository: RepositoryRequest, *, uid: str) -> None:
    try:
        await client.delete(CHART_REPOSITORIES, repository.name, namespace=repository.namespace, uid=uid)
    except KubeError as error:
        _log.warning(
            "ChartRepository not deleted", namespace=repository.namespace, name=repository.name, error=error.message
        )


def _as_request_error(error: Invalid) -> Invalid:
    errors = tuple(
        FieldError(_REQUEST_FIELDS.get(each.field) or each.field.removeprefix("spec."), each.message)
        for each in error.errors
    )
    return Invalid(error.message, errors=errors)


def _url_errors(repository: RepositoryRequest) -> Iterator[FieldError]:
    if _USER_INFO.match(repository.url):
        yield FieldError("url", "must not carry credentials: send them as username and password, or as token")
        return
    try:
        parse_repository_url(repository.url)
    except AddressRefused as error:
        yield FieldError("url", f"must be a URL with a host: {error.message}")


def _namespace_errors(repository: RepositoryRequest, settings: Settings) -> Iterator[FieldError]:
    if settings.namespaces and repository.namespace not in settings.namespaces:
        known = ", ".join(settings.namespaces)
        yield FieldError("namespace", f"must be one of the namespaces that are cared for here: {known}")


def _credential_errors(repository: RepositoryRequest) -> Iterator[FieldError]:
    if repository.token is not None:
        for field in ("username", "password"):
            if getattr(repository, field) is not None:
                yield FieldError(field, "is not sent together with a token: send the one or the other")
    elif repository.username is not None and repository.password is None:
        yield FieldError("password", "is required with a username: send both, or neither")
    elif repository.password is not None and repository.username is None:
        yield FieldError("username", "is required with a password: send both, or neither")
    if repository.username is not None and (":" in repository.username or _CONTROL.search(repository.username)):
        # RFC 7617, 2: the first colon ends the user-id.
        yield FieldError("username", "must have no colon and no control characters: HTTP cannot carry them")
    if repository.password is not None and _CONTROL.search(repository.password):
        yield FieldError("password", "must have no control characters such as line breaks: HTTP cannot carry them")


def _tls_errors(repository: RepositoryRequest) -> Iterator[FieldError]:
    if repository.ca_bundle is None:
        return
    if repository.insecure_skip_tls_verify:
        yield FieldError("caBundle", "and insecureSkipTLSVerify exclude each other: leave one of them out")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=repository.ca_bundle)
    except (ssl.SSLError, ValueError, TypeError):
        yield FieldError("caBundle", "must be PEM: -----BEGIN CERTIFICATE----- and what follows, one or more times")


def _field_error(error: Mapping[str, Any]) -> FieldError:
    field, kind = ".".join(map(str, error["loc"])), error["type"]
    name = str(error["loc"][0])
    if kind == "missing":
        return FieldError(field, "is required")
    if kind == "extra_forbidden":
        known = ", ".join(_KNOWN_FIELDS)
        return FieldError(
            escape_input(field), f"is no field here{suggest_name(name, _KNOWN_FIELDS) or ':'} known fields are {known}"
        )
    if kind == "string_pattern_mismatch":
        return FieldError(field, _FIELD_RULES[name])
    return FieldError(field, str(error["msg"]).replace("String should", "must").replace("Input should", "must"))


def _repository_invalid(errors: list[FieldError]) -> FormInvalid:
    del errors[BODY_ERRORS_MAX:]
    first = errors[0]
    more = f" ({len(errors) - 1} more in errors)" if len(errors) > 1 else ""
    return FormInvalid(f"{first.field} {first.message}{more}", errors=tuple(errors))
