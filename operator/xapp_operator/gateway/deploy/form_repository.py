"""The saved ChartRepository that a deployment form names with repoName, read and created with the caller's token."""

from __future__ import annotations

from collections.abc import Callable

from xapp_operator.api.chart_repository import ChartRepository
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.charts.chart_repositories import (
    configured_repository_deleted,
    create_chart_repository,
    load_repository,
)
from xapp_operator.charts.chart_request import Repository
from xapp_operator.common.text import display_url
from xapp_operator.errors import (
    AlreadyExists,
    ChartSourceError,
    FieldError,
    FormInvalid,
    IdentityConflict,
    KubeError,
    NotFound,
)
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.deploy.forms import FORM_PART, Form
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.created_objects import delete_created
from xapp_operator.kube.resources import CHART_REPOSITORIES, XAPPS


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
        shown = display_url(Repository(url=found.spec.url, namespace=form.spec.namespace).location)
        message = f"is saved in this namespace with another url ({shown}): use that url, or another repoName"
        raise IdentityConflict.for_field(f"{FORM_PART}.repoName", message, subject=f"repoName {name}")
    return found


async def ensure_form_repository(
    client: KubeClient, form: Form, *, is_configured: Callable[[str, str], bool]
) -> JsonObject | None:
    """Save the form's url under its repoName; return its metadata if this created the ChartRepository.

    `is_configured` tells whether one with this namespace and name had more than a url: it is not created again.

    Raises:
        IdentityConflict: when the name is saved with another url.
        ChartSourceError: when it was deleted, and had more than a url.
        AccessDenied: when the caller may not save it.
    """
    if await get_form_repository(client, form) is not None:
        return None
    if is_configured(form.spec.namespace, form.spec.repo_name or ""):
        error = configured_repository_deleted(form.spec.repo_name or "")
        raise ChartSourceError(error.message, errors=(FieldError(f"{FORM_PART}.repoName", error.message),))
    try:
        created = await create_chart_repository(
            client, {"url": form.spec.url}, namespace=form.spec.namespace, name=form.spec.repo_name or ""
        )
        return obj(created, "metadata")
    except AlreadyExists:
        await get_form_repository(client, form)
        return None


async def delete_form_repository(
    client: KubeClient, created: JsonObject, *, xapp: str, kube: KubeClient, store: XAppRecordStore
) -> None:
    """Delete a ChartRepository that this request created, and its Secret with it, unless an XApp uses it by now.

    Another request may have found it, and written its XApp first. If that XApp is the one of this request, `kube` reads
    it from the API server. Others are known from the watch: a list of all could be very large. For an XApp that is
    written between this check and the deletion, the operator saves the url again, without credentials.

    Args:
        client: deletes it; the caller's.
        created: its metadata, as the API server returned them.
        xapp: the name of the XApp that this request wanted to write.
        kube: the gateway's own client, because a caller who may create XApps need not be able to read them.
        store: the XApps that the watch has brought.
    """
    name, namespace = text(created, "name"), text(created, "namespace")
    try:
        winner = await kube.get(XAPPS, xapp, namespace=namespace)
    except NotFound:
        winner = {}
    except KubeError:
        return  # An unused repository can be deleted later; one that is missing breaks an XApp.
    if text(obj(winner, "spec"), "repoName") != name and not store.users_of_repository(namespace, name):
        await delete_created(client, CHART_REPOSITORIES, created)


async def load_form_repository(client: KubeClient, form: Form) -> Repository:
    """Return the repository that the form names, with its saved credentials.

    Raises:
        IdentityConflict: when repoName is saved with another url.
        FormInvalid: when its credentials are incomplete.
        KubeError: when the caller may not read them.
    """
    saved = await get_form_repository(client, form)
    if saved is None:
        return Repository(url=form.spec.url or "", namespace=form.spec.namespace)
    try:
        return await load_repository(client, saved.spec, namespace=form.spec.namespace)
    except ChartSourceError as error:
        raise FormInvalid(error.message, errors=(FieldError(f"{FORM_PART}.repoName", error.message),)) from None
