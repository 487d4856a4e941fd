"""The saved ChartRepository that a deployment form names with repoName, read and created with the caller's token."""

from __future__ import annotations

from xapp_operator.api.chart_repository import ChartRepository
from xapp_operator.api.json import obj, text
from xapp_operator.charts.chart_repositories import create_chart_repository, load_repository
from xapp_operator.charts.chart_request import Repository
from xapp_operator.errors import (
    AlreadyExists,
    ChartSourceError,
    FieldError,
    FormInvalid,
    IdentityConflict,
    KubeError,
    NotFound,
)
from xapp_operator.gateway.deploy.forms import FORM_PART, Form
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES
from xapp_operator.telemetry.logs import get_logger

_log = get_logger(__name__)


async def get_form_repository(client: KubeClient, form: Form) -> ChartRepository | None:
    """Return the ChartRepository with the form's repoName, or None.

    Raises:
        IdentityConflict: when it has another url.
    """
    name, url = form.spec.repo_name or "", form.spec.url or ""
    try:
        raw = await client.get(CHART_REPOSITORIES, name, namespace=form.spec.namespace)
    except NotFound:
        return None
    found = ChartRepository.model_validate(raw)
    if found.spec.url != url:
        message = f"is saved in this namespace with another url ({found.spec.url}): use that url, or another repoName"
        raise IdentityConflict(f"repoName {name} {message}", errors=(FieldError(f"{FORM_PART}.repoName", message),))
    return found


async def ensure_form_repository(client: KubeClient, form: Form) -> str | None:
    """Save the form's url under its repoName; return the uid of the ChartRepository if this created it.

    Raises:
        IdentityConflict: when the name is saved with another url.
        AccessDenied: when the caller may not save it.
    """
    if await get_form_repository(client, form) is not None:
        return None
    try:
        created = await create_chart_repository(
            client, {"url": form.spec.url}, namespace=form.spec.namespace, name=form.spec.repo_name or ""
        )
        return text(obj(created, "metadata"), "uid")
    except AlreadyExists:
        await get_form_repository(client, form)
        return None


async def delete_form_repository(client: KubeClient, form: Form, *, uid: str) -> None:
    """Delete the ChartRepository that this request created, if the caller may."""
    try:
        await client.delete(CHART_REPOSITORIES, form.spec.repo_name or "", namespace=form.spec.namespace, uid=uid)
    except KubeError as error:
        _log.warning("ChartRepository not deleted", namespace=form.spec.namespace, error=error.message)


async def load_form_repository(client: KubeClient, form: Form) -> Repository:
    """Return the repository that the form names, with its saved credentials.

    Raises:
        IdentityConflict: when repoName is saved with another url.
        FormInvalid: when its credentials are incomplete.
        KubeError: when the caller may not read them.
    """
    saved = await get_form_repository(client, form)
    if saved is None:
        return Repository(url=form.spec.url or "")
    try:
        return await load_repository(client, saved.spec, namespace=form.spec.namespace)
    except ChartSourceError as error:
        raise FormInvalid(error.message, errors=(FieldError(f"{FORM_PART}.repoName", error.message),)) from None
