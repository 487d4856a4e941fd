"""Creating and deleting saved chart repositories with their credentials, with the caller's token.

The ChartRepository is created first, then the Secret that it refers to, owned by it. So credentials never remain
without an owner, and are deleted with the repository. The operator may see the ChartRepository first; it reads it again
when the Secret appears. Credentials never appear in responses, errors or logs.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import ssl
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import ValidationError

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import ANNOTATION_ORIGIN, API_VERSION, REPOSITORY_CREDENTIALS_TYPE, REPOSITORY_KIND
from xapp_operator.api.spec_parts import REPOSITORY_PREFIXES_TEXT
from xapp_operator.charts.chart_repositories import create_chart_repository
from xapp_operator.charts.chart_request import format_origin, parse_repository_url
from xapp_operator.common.text import quote_input
from xapp_operator.config.settings import Settings
from xapp_operator.errors import (
    AddressRefused,
    AlreadyExists,
    Conflict,
    FieldError,
    GatewayNotFound,
    Invalid,
    KubeError,
    NextRequest,
    NotFound,
)
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.http.requests.validation import (
    DNS_LABEL_RULE,
    field_errors,
    form_invalid,
    namespace_errors,
    require_no_control_characters,
)
from xapp_operator.gateway.repositories.preconditions import ExpectedRepositoryUid
from xapp_operator.gateway.schemas.repositories import RepositoryRequest
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.created_objects import delete_created
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS

CREDENTIAL_FIELDS: Final = ("username", "password", "token", "caBundle")
"""Fields of the request that are stored in a Secret."""

MULTILINE_FIELDS: Final = ("caBundle",)
CA_KEY: Final = "ca.crt"
NAME_PREFIX: Final = "chart-repository-"
SECRET_SUFFIX_BYTES: Final = 4

PLAIN_HTTP_REFUSED: Final = (
    "must be https with credentials, because others can read http: use https, or let them be sent over http "
    "(allowPlainHTTP)"
)

_FIELD_RULES: Final = {
    "name": DNS_LABEL_RULE,
    "namespace": DNS_LABEL_RULE,
    "url": f"must start with {REPOSITORY_PREFIXES_TEXT}, name a host, and have only visible ASCII characters",
    "token": "must have only visible ASCII characters, without spaces and line breaks",
}
_USER_INFO: Final = re.compile(r"[a-z]+://[^/?#]*@")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_REQUEST_FIELDS: Final = {"metadata": "name", "metadata.name": "name", "metadata.namespace": "namespace", "spec": "url"}


def needs_secret(body: Mapping[str, object]) -> bool:
    """Return whether a request has fields that are stored in a Secret, whether or not it is valid."""
    return any(body.get(field) is not None for field in CREDENTIAL_FIELDS)


def validate_repository(body: JsonObject, *, settings: Settings) -> RepositoryRequest:
    """Return the valid repository that a request describes.

    Raises:
        FormInvalid: naming all invalid fields and none of their values.
    """
    require_no_control_characters(body, multiline=MULTILINE_FIELDS)
    try:
        repository = RepositoryRequest.model_validate(body)
    except ValidationError as error:
        raise form_invalid(list(field_errors(error, RepositoryRequest, pattern_rules=_FIELD_RULES))) from None
    errors = [
        *_url_errors(repository),
        *namespace_errors(repository.namespace, settings, field="namespace"),
        *_credential_errors(repository),
        *_tls_errors(repository),
    ]
    if errors:
        raise form_invalid(errors)
    return repository


async def create_repository(caller: Caller, repository: RepositoryRequest, *, dry_run: bool = False) -> JsonObject:
    """Create the ChartRepository and its Secret with the caller's token; return the ChartRepository as stored.

    With `dry_run`, nothing is stored, and the Secret is not checked.

    Raises:
        AlreadyExists: when the name is taken.
        GatewayNotFound: when the namespace does not exist.
        KubeError: for any other refusal by the cluster; nothing is left behind.
    """
    secret = secret_data(repository)
    secret_name = new_secret_name(repository.name)
    client = caller.client
    try:
        created = await create_chart_repository(
            client,
            repository_spec(repository, secret_name),
            namespace=repository.namespace,
            name=repository.name,
            dry_run=dry_run,
        )
    except AlreadyExists:
        raise await _already_exists(client, repository) from None
    except NotFound:
        message = f"does not exist: create {repository.namespace}, or choose another namespace"
        raise GatewayNotFound.for_field("namespace", message, subject="the namespace") from None
    except Invalid as error:
        raise as_request_error(error) from None
    if secret and not dry_run:
        try:
            await client.create(SECRETS, secret_body(repository, secret_name, secret, owner=obj(created, "metadata")))
        except (KubeError, asyncio.CancelledError):
            await delete_created(client, CHART_REPOSITORIES, obj(created, "metadata"))
            raise
    return created


async def delete_repository(client: KubeClient, *, namespace: str, name: str, expected: ExpectedRepositoryUid) -> None:
    """Delete a ChartRepository; the garbage collector deletes its Secret.

    Raises:
        GatewayNotFound: when there is no such repository.
        ReplacedMeanwhile: when it has another uid than expected.
    """
    try:
        await client.delete(CHART_REPOSITORIES, name, namespace=namespace, uid=expected.value)
    except Conflict:
        if expected.value is not None:
            raise expected.refusal(name) from None
        raise
    except (NotFound, Invalid):  # Invalid: the name is not a valid object name
        raise repository_not_found(namespace, name) from None


def repository_not_found(namespace: str, name: str) -> GatewayNotFound:
    return GatewayNotFound(
        f"there is no repository {quote_input(name)} in the namespace {quote_input(namespace)}: look for it in the "
        "list of all repositories"
    ).with_next(NextRequest("GET", "/api/repositories"))


def new_secret_name(repository: str) -> str:
    """Return the name of a new Secret for a repository."""
    return f"{NAME_PREFIX}{repository}-{secrets.token_hex(SECRET_SUFFIX_BYTES)}"


def repository_spec(repository: RepositoryRequest, secret_name: str) -> JsonObject:
    """Return the spec of a ChartRepository; it refers to a Secret only for what the request has."""
    spec: JsonObject = {"url": repository.url}
    if repository.token is not None or repository.username is not None:
        spec["secretRef"] = {"name": secret_name}
    if repository.ca_bundle is not None:
        spec["caSecretRef"] = {"name": secret_name, "key": CA_KEY}
    if repository.insecure_skip_tls_verify:
        spec["insecureSkipTLSVerify"] = True
    if repository.allow_plain_http:
        spec["allowPlainHTTP"] = True
    if repository.interval is not None:
        spec["interval"] = repository.interval
    if repository.verify is not None:
        spec["verify"] = repository.verify.model_dump(by_alias=True)
    return spec


def secret_data(repository: RepositoryRequest) -> dict[str, str]:
    """Return what the request has for a Secret, by key; empty if there is nothing."""
    given = {
        "username": repository.username,
        "password": repository.password,
        "token": repository.token,
        CA_KEY: repository.ca_bundle,
    }
    return {key: value for key, value in given.items() if value is not None}


def secret_body(repository: RepositoryRequest, name: str, data: Mapping[str, str], *, owner: JsonObject) -> JsonObject:
    """Return the Secret `name` for a repository, which owns it; `owner` is its metadata."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": repository.namespace,
            "annotations": {ANNOTATION_ORIGIN: format_origin(parse_repository_url(repository.url))},
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": REPOSITORY_KIND,
                    "name": repository.name,
                    "uid": text(owner, "uid"),
                }
            ],
        },
        "type": REPOSITORY_CREDENTIALS_TYPE,
        "stringData": {**data},
    }


async def _already_exists(client: KubeClient, repository: RepositoryRequest) -> AlreadyExists:
    url = ""
    try:
        current = await client.get(CHART_REPOSITORIES, repository.name, namespace=repository.namespace)
        url = text(obj(current, "spec"), "url")
    except KubeError:
        pass  # deleted meanwhile, or the caller may not read it
    detail = "" if not url else " with that url" if url == repository.url else f" with another url ({url})"
    message = f"already exists in this namespace{detail}: use it, delete it first, or choose another name"
    return AlreadyExists.for_field("name", message, subject=f"the repository {repository.name}")


def as_request_error(error: Invalid) -> Invalid:
    """Return a refusal by the API server with the fields of the request."""
    errors = tuple(
        FieldError(_REQUEST_FIELDS.get(each.field) or each.field.removeprefix("spec."), each.message)
        for each in error.errors
    )
    return Invalid(error.message, errors=errors)


def _url_errors(repository: RepositoryRequest) -> Iterator[FieldError]:
    if _USER_INFO.match(repository.url):
        yield FieldError("url", "must not contain credentials: send them as username and password, or as token")
        return
    try:
        parse_repository_url(repository.url)
    except AddressRefused as error:
        yield FieldError("url", f"must be a URL with a host: {error.message}")
        return
    has_credentials = repository.token is not None or repository.password is not None
    if has_credentials and repository.url.startswith("http://") and not repository.allow_plain_http:
        yield FieldError("url", PLAIN_HTTP_REFUSED)


def _credential_errors(repository: RepositoryRequest) -> Iterator[FieldError]:
    if repository.token is not None:
        for field in ("username", "password"):
            if getattr(repository, field) is not None:
                yield FieldError(field, "cannot be combined with token: send only one of them")
    elif repository.username is not None and repository.password is None:
        yield FieldError("password", "is required with username: send both or neither")
    elif repository.password is not None and repository.username is None:
        yield FieldError("username", "is required with password: send both or neither")
    if repository.username is not None and (":" in repository.username or _CONTROL.search(repository.username)):
        # RFC 7617, section 2: the first colon ends the user-id.
        yield FieldError(
            "username", "must not have a colon or control characters: HTTP basic authentication does not allow them"
        )
    if repository.password is not None and _CONTROL.search(repository.password):
        yield FieldError("password", "must not have control characters such as line breaks: HTTP does not allow them")


def _tls_errors(repository: RepositoryRequest) -> Iterator[FieldError]:
    if repository.ca_bundle is None:
        return
    if repository.insecure_skip_tls_verify:
        yield FieldError("caBundle", "cannot be combined with insecureSkipTLSVerify: send only one of them")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=repository.ca_bundle)
    except (ssl.SSLError, ValueError, TypeError):
        yield FieldError("caBundle", "must be one or more PEM certificates (-----BEGIN CERTIFICATE-----…)")
