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
from xapp_operator.charts.model import parse_address
from xapp_operator.config import Settings
from xapp_operator.errors import (
    AddressRefused,
    AlreadyExists,
    FieldError,
    FormInvalid,
    Invalid,
    KubeError,
    NotFound,
    NotFoundHere,
)
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.bodies import ERRORS_MAX, shown_field
from xapp_operator.gateway.query import nearest, shown
from xapp_operator.gateway.schemas.repositories import NewRepository
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS
from xapp_operator.telemetry.logs import get_logger

SECRET_FIELDS: Final = ("username", "password", "token", "caBundle")
"""What needs a Secret, as the request spells it."""

CA_KEY: Final = "ca.crt"
SUFFIX_BYTES: Final = 4

_FIELDS: Final = tuple(field.alias or name for name, field in NewRepository.model_fields.items())
_DNS_LABEL: Final = "must be a name of at most 63 lower-case letters, digits and '-', none of the '-' at an end"
_RULES: Final = {
    "name": _DNS_LABEL,
    "namespace": _DNS_LABEL,
    "url": "must begin with http://, https:// or oci://, name a host, and have no spaces and none but ASCII characters",
    "token": "must be of visible ASCII characters, without spaces or line breaks",
}
_USER_INFO: Final = re.compile(r"[a-z]+://[^/?#]*@")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_IN_REQUEST: Final = {"metadata": "name", "metadata.name": "name", "metadata.namespace": "namespace", "spec": "url"}

_log = get_logger(__name__)


def needs_secret(body: Mapping[str, object]) -> bool:
    """Tell whether a request, be the rest of it right or wrong, brings what is kept in a Secret."""
    return any(body.get(field) is not None for field in SECRET_FIELDS)


def checked_repository(body: JsonObject, *, settings: Settings) -> NewRepository:
    """Return the repository that a request describes when every rule is kept.

    Raises:
        FormInvalid: naming all fields that are wrong, and what mends them, and no value.
    """
    try:
        wanted = NewRepository.model_validate(body)
    except ValidationError as error:
        errors = [_field_error(each) for each in error.errors(include_url=False, include_input=False)]
        raise _refused(errors) from None
    errors = [*_address(wanted), *_place(wanted, settings), *_credentials(wanted), *_trust(wanted)]
    if errors:
        raise _refused(errors)
    return wanted


async def save(caller: Caller, wanted: NewRepository) -> JsonObject:
    """Create the ChartRepository, and the Secret that it needs, as the caller; return the former as stored.

    Raises:
        AlreadyExists: when there is one of that name.
        NotFoundHere: when there is no such namespace.
        KubeError: what else the cluster refuses; then nothing is left behind.
    """
    secret = _secret_data(wanted)
    secret_name = f"chart-repository-{wanted.name}-{secrets.token_hex(SUFFIX_BYTES)}"
    client = caller.client
    try:
        made = await client.create(CHART_REPOSITORIES, _body(wanted, secret_name))
    except AlreadyExists:
        raise await _taken(client, wanted) from None
    except NotFound:
        message = f"does not exist: create the namespace {wanted.namespace}, or name another"
        raise NotFoundHere(f"the namespace {message}", errors=(FieldError("namespace", message),)) from None
    except Invalid as error:
        raise _told(error) from None
    if secret:
        try:
            await client.create(SECRETS, _secret(wanted, secret_name, secret, owner=obj(made, "metadata")))
        except (KubeError, asyncio.CancelledError):
            await _undo(client, wanted, uid=text(obj(made, "metadata"), "uid"))
            raise
    return made


async def remove(client: KubeClient, *, namespace: str, name: str) -> None:
    """Delete a ChartRepository; the garbage collector takes the Secret that was made for it.

    Raises:
        NotFoundHere: when there is none of that name.
    """
    try:
        await client.delete(CHART_REPOSITORIES, name, namespace=namespace)
    except (NotFound, Invalid):  # what can be no name is the name of nothing
        raise no_repository(namespace, name) from None


def no_repository(namespace: str, name: str) -> NotFoundHere:
    """Return the refusal to speak of a repository that does not exist."""
    return NotFoundHere(
        f"there is no repository {shown(name)} in the namespace {shown(namespace)}: GET /api/repositories lists what "
        "there is"
    )


def _body(wanted: NewRepository, secret: str) -> JsonObject:
    spec: JsonObject = {"url": wanted.url}
    if wanted.token is not None or wanted.username is not None:
        spec["secretRef"] = {"name": secret}
    if wanted.ca_bundle is not None:
        spec["caSecretRef"] = {"name": secret, "key": CA_KEY}
    if wanted.insecure_skip_tls_verify:
        spec["insecureSkipTLSVerify"] = True
    return {
        "apiVersion": API_VERSION,
        "kind": REPOSITORY_KIND,
        "metadata": {"name": wanted.name, "namespace": wanted.namespace},
        "spec": spec,
    }


def _secret_data(wanted: NewRepository) -> dict[str, str]:
    given = {
        "username": wanted.username,
        "password": wanted.password,
        "token": wanted.token,
        CA_KEY: wanted.ca_bundle,
    }
    return {key: value for key, value in given.items() if value is not None}


def _secret(wanted: NewRepository, name: str, data: Mapping[str, str], *, owner: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": wanted.namespace,
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": REPOSITORY_KIND,
                    "name": wanted.name,
                    "uid": text(owner, "uid"),
                }
            ],
        },
        "type": "Opaque",
        "stringData": {**data},
    }


async def _taken(client: KubeClient, wanted: NewRepository) -> AlreadyExists:
    url = ""
    try:
        current = await client.get(CHART_REPOSITORIES, wanted.name, namespace=wanted.namespace)
        url = text(obj(current, "spec"), "url")
    except KubeError:
        pass  # gone again, or not for this caller to see
    said = "" if not url else " with that url" if url == wanted.url else f" with another url ({url})"
    message = f"is saved in this namespace already{said}: use it as it is, delete it first, or choose another name"
    return AlreadyExists(f"the repository {wanted.name} {message}", errors=(FieldError("name", message),))


async def _undo(client: KubeClient, wanted: NewRepository, *, uid: str) -> None:
    try:
        await client.delete(CHART_REPOSITORIES, wanted.name, namespace=wanted.namespace, uid=uid)
    except KubeError as error:
        _log.warning("ChartRepository left behind", namespace=wanted.namespace, name=wanted.name, error=error.message)


def _told(error: Invalid) -> Invalid:
    errors = tuple(
        FieldError(_IN_REQUEST.get(each.field) or each.field.removeprefix("spec."), each.message)
        for each in error.errors
    )
    return Invalid(error.message, errors=errors)


def _address(wanted: NewRepository) -> Iterator[FieldError]:
    if _USER_INFO.match(wanted.url):
        yield FieldError("url", "must not carry credentials: send them as username and password, or as token")
        return
    try:
        parse_address(wanted.url)
    except AddressRefused as error:
        yield FieldError("url", f"must be a URL with a host: {error.message}")


def _place(wanted: NewRepository, settings: Settings) -> Iterator[FieldError]:
    if settings.namespaces and wanted.namespace not in settings.namespaces:
        known = ", ".join(settings.namespaces)
        yield FieldError("namespace", f"must be one of the namespaces that are cared for here: {known}")


def _credentials(wanted: NewRepository) -> Iterator[FieldError]:
    if wanted.token is not None:
        for field in ("username", "password"):
            if getattr(wanted, field) is not None:
                yield FieldError(field, "is not sent together with a token: send the one or the other")
    elif wanted.username is not None and wanted.password is None:
        yield FieldError("password", "is required with a username: send both, or neither")
    elif wanted.password is not None and wanted.username is None:
        yield FieldError("username", "is required with a password: send both, or neither")
    if wanted.username is not None and (":" in wanted.username or _CONTROL.search(wanted.username)):
        # RFC 7617, 2: the first colon ends the user-id.
        yield FieldError("username", "must have no colon and no control characters: HTTP cannot carry them")
    if wanted.password is not None and _CONTROL.search(wanted.password):
        yield FieldError("password", "must have no control characters such as line breaks: HTTP cannot carry them")


def _trust(wanted: NewRepository) -> Iterator[FieldError]:
    if wanted.ca_bundle is None:
        return
    if wanted.insecure_skip_tls_verify:
        yield FieldError("caBundle", "and insecureSkipTLSVerify exclude each other: leave one of them out")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=wanted.ca_bundle)
    except (ssl.SSLError, ValueError, TypeError):
        yield FieldError("caBundle", "must be PEM: -----BEGIN CERTIFICATE----- and what follows, one or more times")


def _field_error(error: Mapping[str, Any]) -> FieldError:
    field, kind = ".".join(map(str, error["loc"])), error["type"]
    name = str(error["loc"][0])
    if kind == "missing":
        return FieldError(field, "is required")
    if kind == "extra_forbidden":
        known = ", ".join(_FIELDS)
        return FieldError(
            shown_field(field), f"is no field here{nearest(name, _FIELDS) or ':'} known fields are {known}"
        )
    if kind == "string_pattern_mismatch":
        return FieldError(field, _RULES[name])
    return FieldError(field, str(error["msg"]).replace("String should", "must").replace("Input should", "must"))


def _refused(errors: list[FieldError]) -> FormInvalid:
    del errors[ERRORS_MAX:]
    first = errors[0]
    more = f" ({len(errors) - 1} more in errors)" if len(errors) > 1 else ""
    return FormInvalid(f"{first.field} {first.message}{more}", errors=tuple(errors))
