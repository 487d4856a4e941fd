"""Saved chart repositories, as far as a deployment needs them.

`repoName` is saved with the caller's client, and read back for a dry run with the credentials that the caller may read.
"""

from __future__ import annotations

from xapp_operator.api.chart_repository import ChartRepository
from xapp_operator.api.json import obj, text
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.repository_loader import load_repository
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
from xapp_operator.kube.chart_repositories import create_chart_repository
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES
from xapp_operator.telemetry.logs import get_logger

_log = get_logger(__name__)


async def get_form_repository(client: KubeClient, form: Form) -> ChartRepository | None:
    """Return what is saved under the form's repoName, or None.

    Raises:
        IdentityConflict: when that is another url.
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
    """Have the form's url saved under its repoName; return the uid of the ChartRepository when it had to be made.

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
    """Remove the ChartRepository that this request made, where the caller may."""
    try:
        await client.delete(CHART_REPOSITORIES, form.spec.repo_name or "", namespace=form.spec.namespace, uid=uid)
    except KubeError as error:
        _log.warning("ChartRepository not deleted", namespace=form.spec.namespace, error=error.message)


async def load_form_repository(client: KubeClient, form: Form) -> Repository:
    """Return the address that the form names, with the credentials that are saved for it.

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
