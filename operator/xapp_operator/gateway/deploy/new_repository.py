"""The new repository that a deployment saves under its repoName: the part `repository` of the request.

The part has the settings of POST /api/repositories, credentials too; name, namespace and url come from the form. A dry
run connects with them and stores nothing. They never appear in responses, errors or logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from xapp_operator.api.chart_repository import ChartRepositorySpec
from xapp_operator.api.json import JsonObject, obj
from xapp_operator.charts.chart_repositories import load_repository
from xapp_operator.charts.chart_request import Repository
from xapp_operator.config.settings import Settings
from xapp_operator.errors import (
    CertificateNotTrusted,
    ChartSourceError,
    FieldError,
    FormInvalid,
    SignatureInvalid,
    SourceAccessDenied,
    XAppError,
)
from xapp_operator.gateway.auth.actions import Action
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.deploy.forms import FORM_PART, Form
from xapp_operator.gateway.http.requests.bodies import decode_json_object
from xapp_operator.gateway.http.requests.multipart import ReceivedParts
from xapp_operator.gateway.http.requests.validation import form_invalid
from xapp_operator.gateway.repositories.checks import credentials_of, refusal_for_field
from xapp_operator.gateway.repositories.writes import (
    create_repository,
    needs_secret,
    repository_spec,
    validate_repository,
)
from xapp_operator.gateway.schemas.repositories import RepositoryRequest
from xapp_operator.kube.client import KubeClient

REPOSITORY_PART: Final = "repository"

_FIELDS_OF_THE_FORM: Final = {"name": "repoName", "namespace": "namespace", "url": "url"}
_REFERENCES: Final = ("secretRef", "caSecretRef")


def read_repository_part(parts: ReceivedParts) -> JsonObject | None:
    """Return the JSON object in the part `repository`, or None if there is none.

    Raises:
        MalformedRequest, FormInvalid: when it is not a JSON object.
    """
    data = parts.data.get(REPOSITORY_PART)
    return None if data is None else decode_json_object(data, what=REPOSITORY_PART)


def repository_actions(part: JsonObject | None) -> tuple[Action, ...]:
    """Return what the part needs, in a dry run too, whether or not it is valid."""
    if part is None:
        return ()
    return (Action.ADD_REPOSITORY, *((Action.STORE_CREDENTIALS,) if needs_secret(part) else ()))


def validate_repository_part(part: JsonObject, form: Form, *, settings: Settings) -> RepositoryRequest:
    """Return the repository that the part and the form describe.

    Raises:
        FormInvalid: naming all invalid fields and none of their values.
    """
    if form.is_upload:
        message = "is for a chart of a new repository: leave it out with method 'Upload Chart'"
        raise FormInvalid.for_field(REPOSITORY_PART, message, subject=f"the part {REPOSITORY_PART}")
    misplaced = [
        FieldError(f"{REPOSITORY_PART}.{name}", f"comes from {FORM_PART}.{field}: leave it out here")
        for name, field in _FIELDS_OF_THE_FORM.items()
        if name in part
    ]
    if misplaced:
        raise form_invalid(misplaced)
    spec = form.spec
    body: JsonObject = {**part, "name": spec.repo_name, "namespace": spec.namespace, "url": spec.url}
    with _naming_fields():
        return validate_repository(body, settings=settings)


async def save_new_repository(caller: Caller, repository: RepositoryRequest, *, dry_run: bool = False) -> JsonObject:
    """Create the ChartRepository and its Secret, and return the metadata of the ChartRepository.

    With `dry_run`, nothing is stored, and the Secret is not checked.

    Raises:
        AlreadyExists: when its name is taken, whatever the url.
        KubeError: when the cluster refuses it; nothing is left behind.
    """
    with _naming_fields():
        return obj(await create_repository(caller, repository, dry_run=dry_run), "metadata")


async def load_new_repository(client: KubeClient, repository: RepositoryRequest) -> Repository:
    """Return the repository as it will be once it is saved, with the credentials of the request.

    Raises:
        SignatureInvalid: when the keys of `verify` cannot be read.
        AccessDenied: when the caller may not read them.
    """
    spec = repository_spec(repository, "not-saved")
    settings = {key: value for key, value in spec.items() if key not in _REFERENCES}
    try:
        loaded = await load_repository(
            client, ChartRepositorySpec.model_validate(settings), namespace=repository.namespace
        )
    except SignatureInvalid as error:
        raise SignatureInvalid(
            error.message, errors=(FieldError(f"{REPOSITORY_PART}.verify", error.message),)
        ) from None
    return replace(loaded, credentials=credentials_of(repository), ca_bundle=repository.ca_bundle)


def refusal_of_new_repository(error: ChartSourceError, repository: RepositoryRequest) -> ChartSourceError | None:
    """Return an error about the credentials or the certificate with the field to correct; None for any other error."""
    if not isinstance(error, SourceAccessDenied | CertificateNotTrusted):
        return None
    [named] = refusal_for_field(error, repository, has_credentials=credentials_of(repository) is not None).errors
    # A wrong setting in the request is more likely than an outage, so an untrusted certificate is not a 5xx either.
    kind = SourceAccessDenied if isinstance(error, SourceAccessDenied) else ChartSourceError
    [found] = _in_request((named,))
    return kind(f"{found.field} {found.message}", errors=(found,), permanent=error.permanent)


@contextmanager
def _naming_fields() -> Iterator[None]:
    """Translate errors about a repository to the fields of the form and of the part."""
    try:
        yield
    except FormInvalid as error:
        raise form_invalid(list(_in_request(error.errors))) from None
    except XAppError as error:
        if not error.errors:
            raise
        raise type(error)(error.message, errors=_in_request(error.errors)) from None


def _in_request(errors: tuple[FieldError, ...]) -> tuple[FieldError, ...]:
    return tuple(replace(each, field=_field_in_request(each.field)) for each in errors)


def _field_in_request(field: str) -> str:
    in_form = _FIELDS_OF_THE_FORM.get(field)
    return f"{REPOSITORY_PART}.{field}" if in_form is None else f"{FORM_PART}.{in_form}"
