"""Changing a saved chart repository, and asking for a new look at it, with the caller's token.

New credentials go into a new Secret, and the ChartRepository then refers to it: whoever reads both always finds a pair
that belongs together. The Secret before it is deleted if the caller may do that, and otherwise with the repository.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import ANNOTATION_RECONCILE_AT
from xapp_operator.charts.chart_request import format_origin, parse_repository_url
from xapp_operator.common.text import quote_input, timestamp_now
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AddressRefused, Conflict, FieldError, Invalid, KubeError, NotFound
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.http.requests.preconditions import replace_spec
from xapp_operator.gateway.http.requests.validation import form_invalid
from xapp_operator.gateway.repositories.preconditions import ExpectedRepository
from xapp_operator.gateway.repositories.writes import (
    NAME_PREFIX,
    PLAIN_HTTP_REFUSED,
    as_request_error,
    new_secret_name,
    repository_not_found,
    repository_spec,
    secret_body,
    secret_data,
    validate_repository,
)
from xapp_operator.gateway.schemas.repositories import RepositoryRequest
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.created_objects import cleanup_on_failure, delete_created
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS

REFRESH_ATTEMPTS: Final = 5

_CREDENTIALS: Final = frozenset({"username", "password", "token"})
_CA_BUNDLE: Final = "ca_bundle"
_REPLACED: Final = frozenset(
    {"url", "secretRef", "caSecretRef", "insecureSkipTLSVerify", "allowPlainHTTP", "interval", "verify"}
)
"""Fields of the spec that a change writes; others stay as they are."""


@dataclass(frozen=True, slots=True)
class RepositoryUpdate:
    """A change that has been checked: the request, the object as it is, and the spec that replaces its spec.

    `secret_name` is the Secret to create, with `data`, if there is any. `unused_secrets` were made for the repository,
    and nothing refers to them afterwards.
    """

    request: RepositoryRequest
    expected: ExpectedRepository
    current: JsonObject
    spec: JsonObject
    secret_name: str
    data: dict[str, str] = field(repr=False)
    unused_secrets: tuple[str, ...]

    def body(self, current: JsonObject) -> JsonObject:
        """Return the object to write; its resourceVersion makes a concurrent change a conflict."""
        return {**current, "spec": self.spec}


async def prepare_update(
    caller: Caller,
    body: JsonObject,
    *,
    namespace: str,
    name: str,
    expected: ExpectedRepository,
    settings: Settings,
) -> RepositoryUpdate:
    """Return the checked change that a request describes; credentials that it leaves out are kept.

    Raises:
        FormInvalid: naming all invalid fields; also when credentials would go to another origin than they are for.
        GatewayNotFound: when there is no such repository.
        PreconditionFailed: when it is not the expected one.
        KubeError: when the caller may not read it.
    """
    for what, known in (("name", name), ("namespace", namespace)):
        if body.get(what) not in (None, known):
            message = f"must be {quote_input(known)}, as in the path: a repository keeps its name and its namespace"
            raise form_invalid([FieldError(what, message)])
    request = validate_repository({**body, "name": name, "namespace": namespace}, settings=settings)
    current = await _get_current(caller.client, namespace=namespace, name=name)
    expected.require(current)
    before = obj(current, "spec")
    new_name = new_secret_name(name)
    spec: JsonObject = {key: value for key, value in before.items() if key not in _REPLACED}
    spec.update(repository_spec(request, new_name))
    if request.model_fields_set.isdisjoint(_CREDENTIALS) and "secretRef" in before:
        spec["secretRef"] = before["secretRef"]
    if _CA_BUNDLE not in request.model_fields_set and "caSecretRef" in before:
        spec["caSecretRef"] = before["caSecretRef"]
    errors = _kept_errors(request, before, spec)
    if errors:
        raise form_invalid(errors)
    used = _secret_names(spec)
    made = re.compile(rf"{re.escape(NAME_PREFIX + name)}-[0-9a-f]+")
    unused = tuple(sorted(each for each in _secret_names(before) - used if made.fullmatch(each)))
    return RepositoryUpdate(request, expected, current, spec, new_name, secret_data(request), unused)


async def update_repository(client: KubeClient, update: RepositoryUpdate, *, dry_run: bool = False) -> JsonObject:
    """Write a change and return the ChartRepository as stored. With `dry_run`, nothing is stored.

    Raises:
        PreconditionFailed: when it is not the expected repository any more.
        Conflict: when somebody has changed the repository since, and any was expected.
        Invalid: when the API server refuses a field.
        GatewayNotFound: when it was deleted since.
        KubeError: for any other refusal by the cluster; nothing is left behind. If the outcome is unknown, the new
            Secret stays, because the repository may refer to it; it is deleted with the repository.
    """
    namespace, name = update.request.namespace, update.request.name
    async with cleanup_on_failure() as cleanup:
        if update.data and not dry_run:
            owner = obj(update.current, "metadata")
            body = secret_body(update.request, update.secret_name, update.data, owner=owner)
            created = await client.create(SECRETS, body)
            cleanup.push_async_callback(delete_created, client, SECRETS, obj(created, "metadata"))
        try:
            stored = await replace_spec(
                update.current,
                expected=update.expected,
                write=lambda current: client.replace(CHART_REPOSITORIES, update.body(current), dry_run=dry_run),
                read=lambda: client.get(CHART_REPOSITORIES, name, namespace=namespace),
            )
        except NotFound:
            raise repository_not_found(namespace, name) from None
        except Invalid as error:
            raise as_request_error(error) from None
    if not dry_run:
        for secret in update.unused_secrets:
            with suppress(KubeError):
                await client.delete(SECRETS, secret, namespace=namespace)
    return stored


async def request_refresh(client: KubeClient, *, namespace: str, name: str) -> JsonObject:
    """Ask the operator to read the index of a repository again; return the ChartRepository as stored.

    Raises:
        GatewayNotFound: when there is no such repository.
        Conflict: when others change it again and again.
        KubeError: when the caller may not change it.
    """
    for _ in range(REFRESH_ATTEMPTS):
        current = await _get_current(client, namespace=namespace, name=name)
        metadata = obj(current, "metadata")
        annotations = {**obj(metadata, "annotations"), ANNOTATION_RECONCILE_AT: timestamp_now()}
        try:
            return await client.replace(
                CHART_REPOSITORIES, {**current, "metadata": {**metadata, "annotations": annotations}}
            )
        except Conflict:
            continue
        except NotFound:
            raise repository_not_found(namespace, name) from None
    raise Conflict(f"other clients keep changing the repository {name}: send the request again")


async def _get_current(client: KubeClient, *, namespace: str, name: str) -> JsonObject:
    try:
        return await client.get(CHART_REPOSITORIES, name, namespace=namespace)
    except (NotFound, Invalid):  # Invalid: the name is not a valid object name
        raise repository_not_found(namespace, name) from None


def _kept_errors(request: RepositoryRequest, before: JsonObject, spec: JsonObject) -> list[FieldError]:
    """Return why credentials or certificates that are kept do not fit to the other settings."""
    errors = list[FieldError]()
    keeps_credentials = "secretRef" in spec and spec["secretRef"] == before.get("secretRef")
    if keeps_credentials:
        old, new = _origin_text(text(before, "url")), _origin_text(request.url)
        if old != new:
            message = (
                f"is on another server than the saved credentials are for ({old}), and they are sent to no other one. "
                "Enter credentials for this server, or remove the saved ones (in the API, set them to null)."
            )
            errors.append(FieldError("url", message))
        elif request.url.startswith("http://") and not request.allow_plain_http:
            errors.append(FieldError("url", PLAIN_HTTP_REFUSED))
    if "caSecretRef" in spec and request.ca_bundle is None and request.insecure_skip_tls_verify:
        message = "must be null with insecureSkipTLSVerify, because a CA bundle is saved: remove one of them"
        errors.append(FieldError("caBundle", message))
    return errors


def _origin_text(url: str) -> str:
    try:
        return format_origin(parse_repository_url(url))
    except AddressRefused:
        return ""


def _secret_names(spec: JsonObject) -> set[str]:
    return {text(obj(spec, key), "name") for key in ("secretRef", "caSecretRef") if key in spec}
