"""Creating, upgrading and deleting XApps: all checks, then writes that are undone when a later one fails.

The gateway writes XApps and the objects that they refer to, never a release. Order: all checks, a dry run of the XApp,
the ChartArchive, the saved repository, the XApp. Everything is written with the caller's token.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.api.models import XAppSpec
from xapp_operator.api.names import XAPP_KIND
from xapp_operator.errors import (
    AccessDenied,
    AlreadyExists,
    ChartInvalid,
    ChartSourceError,
    Conflict,
    FieldError,
    FormInvalid,
    KubeError,
    NextRequest,
    NotFound,
    SignatureInvalid,
    ValuesInvalid,
)
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.catalog.xapp_store import XAppRecordStore
from xapp_operator.gateway.charts.rendering import ChartRenderer, RenderedChart
from xapp_operator.gateway.charts.uploads import ArchiveStorage
from xapp_operator.gateway.deploy.chart_loading import ChartLoader
from xapp_operator.gateway.deploy.desired_xapp import (
    DesiredXApp,
    desired_new_xapp,
    desired_upgrade,
    desired_with_values,
    replacement_body,
    require_name_free,
    xapp_body,
)
from xapp_operator.gateway.deploy.form_repository import (
    delete_form_repository,
    ensure_form_repository,
    get_form_repository,
)
from xapp_operator.gateway.deploy.forms import FORM_PART, to_form_error
from xapp_operator.gateway.deploy.namespaces import XAppNamespaces
from xapp_operator.gateway.deploy.new_repository import save_new_repository
from xapp_operator.gateway.deploy.preconditions import ANY_XAPP, ExpectedXApp, ExpectedXAppUid
from xapp_operator.gateway.deploy.submission import (
    FILE_PART,
    PROVENANCE_PART,
    VALUES_PART,
    Submission,
    with_field_error,
)
from xapp_operator.gateway.deploy.values_input import SentValues, locate, text_warnings
from xapp_operator.gateway.http.requests.preconditions import replace_spec
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.created_objects import cleanup_on_failure, delete_created
from xapp_operator.kube.resources import CHART_ARCHIVES, XAPPS


class Deployer:
    def __init__(
        self,
        *,
        kube: KubeClient,
        store: XAppRecordStore,
        namespaces: XAppNamespaces,
        renderer: ChartRenderer,
        charts: ChartLoader,
        archives: ArchiveStorage,
    ) -> None:
        self._kube = kube
        self._store = store
        self._namespaces = namespaces
        self._archives = archives
        self._renderer = renderer
        self._charts = charts

    async def create(self, caller: Caller, submission: Submission) -> JsonObject:
        """Create an XApp and return it as stored.

        Raises:
            AlreadyExists, IdentityConflict: when the name is taken, or repoName has another url.
            InputError: when the chart cannot be rendered, or its schema rejects the values.
            KubeError: when the cluster refuses the XApp; errors name fields of the form.
        """
        desired = desired_new_xapp(submission)
        if desired.chart is not None:
            await self._render(caller, desired, for_display=False)
        elif desired.repository is None:
            await get_form_repository(caller.client, desired.form)
        async with cleanup_on_failure() as cleanup:
            await self._namespaces.ensure(caller, desired.namespace, cleanup)
            await self._dry_run_create(caller, desired)
            await self._create_referenced_objects(caller, desired, cleanup)
            return await _explain_refusal(caller.client.create(XAPPS, xapp_body(desired)), desired)

    async def preview(self, caller: Caller, submission: Submission, *, adopts: bool = False) -> RenderedChart:
        """Return what `create` would deploy, not masked; nothing is changed.

        Args:
            caller: the user.
            submission: what was sent.
            adopts: whether there is a release that the XApp takes over, so that helm would upgrade it.

        Raises:
            XAppError: as `create`, and for a remote chart that is not available.
        """
        desired = desired_new_xapp(submission)
        warnings: tuple[str, ...] = ()
        if await self._namespaces.exists(desired.namespace):
            await self._dry_run_create(caller, desired)
            if desired.repository is not None:
                await save_new_repository(caller, desired.repository, dry_run=True)
        else:
            warnings = (await self._namespaces.preview(caller, desired.namespace),)
        rendered = await self._render(caller, desired, for_display=True, upgrade=adopts)
        return replace(rendered, warnings=(*warnings, *rendered.warnings))

    async def upgrade(
        self, caller: Caller, current: JsonObject, submission: Submission, *, expected: ExpectedXApp
    ) -> JsonObject:
        """Replace the spec of an XApp and return it as stored; the values and the chart are kept if none were sent.

        Raises:
            FormInvalid: when the identity would change.
            ValuesInvalid: when no values were sent and the current ones are nested too deep.
            PreconditionFailed: when it is not the expected XApp any more.
            XAppError: as `create`.
        """
        desired = await asyncio.to_thread(desired_upgrade, current, submission)
        if desired.chart is not None or desired.form.is_upload:
            await self._render(caller, desired, for_display=False, upgrade=True)
        else:
            await get_form_repository(caller.client, desired.form)
        async with cleanup_on_failure() as cleanup:
            await self._replace_spec(caller, current, desired, dry_run=True, expected=expected)
            await self._create_referenced_objects(caller, desired, cleanup)
            return await self._replace_spec(caller, current, desired, expected=expected)

    async def preview_upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> RenderedChart:
        """Return what `upgrade` would deploy, not masked; nothing is changed. Raises as `upgrade`."""
        desired = await asyncio.to_thread(desired_upgrade, current, submission)
        await self._replace_spec(caller, current, desired, dry_run=True)
        return await self._render(caller, desired, for_display=True, upgrade=_is_released(current))

    async def replace_values(self, caller: Caller, current: JsonObject, values: SentValues) -> JsonObject:
        """Replace the values of an XApp and return it as stored.

        Raises:
            ValuesInvalid: when the schema of its chart rejects them.
            ChartSourceError, ChartInvalid: when the chart to check them with is not available or cannot be rendered.
            Conflict: when another client changed the spec at the same time.
            KubeError: when the cluster refuses the change.
        """
        desired = desired_with_values(current, values)
        with _as_values_error(desired):
            await self._render(caller, desired, for_display=False, upgrade=True)
        return await self._replace_spec(caller, current, desired)

    async def preview_values(self, caller: Caller, current: JsonObject, values: SentValues) -> RenderedChart:
        """Return the chart rendered with other values, not masked. Raises as `replace_values`."""
        desired = desired_with_values(current, values)
        await self._replace_spec(caller, current, desired, dry_run=True)
        with _as_values_error(desired):
            return await self._render(caller, desired, for_display=True, upgrade=_is_released(current))

    async def delete(
        self, caller: Caller, *, namespace: str, name: str, expected: ExpectedXAppUid, dry_run: bool = False
    ) -> JsonObject:
        """Delete an XApp and return it with its deletionTimestamp; a dry run returns it as it is.

        Raises:
            NotFound: when there is no such XApp.
            PreconditionFailed: when it has another uid than expected.
        """
        current = await caller.client.get(XAPPS, name, namespace=namespace)
        expected.require(current)
        try:
            deleted = await caller.client.delete(XAPPS, name, namespace=namespace, uid=expected.value, dry_run=dry_run)
        except Conflict:
            if expected.value is not None:
                raise expected.refusal(name) from None
            raise
        if dry_run:
            return current
        return deleted if text(deleted, "kind") == XAPP_KIND else _as_deleting(current)

    async def _replace_spec(
        self,
        caller: Caller,
        current: JsonObject,
        desired: DesiredXApp,
        *,
        dry_run: bool = False,
        expected: ExpectedXApp = ANY_XAPP,
    ) -> JsonObject:
        """Replace the spec, even if the status changed since `current` was read.

        Raises:
            Conflict: when another client changed the spec at the same time, or replaced the XApp by another one.
        """
        return await replace_spec(
            current,
            expected=expected,
            write=lambda xapp: _explain_refusal(
                caller.client.replace(XAPPS, replacement_body(xapp, desired), dry_run=dry_run), desired
            ),
            read=lambda: caller.client.get(XAPPS, desired.name, namespace=desired.namespace),
        )

    async def _create_referenced_objects(self, caller: Caller, desired: DesiredXApp, cleanup: AsyncExitStack) -> None:
        """Create the objects that the XApp refers to; `cleanup` deletes them if a later step fails."""
        chart = desired.chart
        if chart is not None:
            upload = await self._archives.ensure(caller.client, chart, namespace=desired.namespace)
            if upload.created:
                # If this fails or does not run, the operator deletes the ChartArchive later.
                cleanup.push_async_callback(
                    delete_created, caller.client, CHART_ARCHIVES, upload.metadata, if_unchanged=True
                )
        repository: JsonObject | None = None
        if desired.repository is not None:
            repository = await save_new_repository(caller, desired.repository)
        elif not desired.form.is_upload:
            repository = await ensure_form_repository(
                caller.client, desired.form, is_configured=self._store.is_repository_configured
            )
        if repository is not None:
            cleanup.push_async_callback(
                delete_form_repository,
                caller.client,
                repository,
                xapp=desired.name,
                kube=self._kube,
                store=self._store,
            )

    async def _dry_run_create(self, caller: Caller, desired: DesiredXApp) -> None:
        try:
            await _explain_refusal(caller.client.create(XAPPS, xapp_body(desired), dry_run=True), desired)
        except AlreadyExists:
            with contextlib.suppress(AccessDenied, NotFound):
                current = await caller.client.get(XAPPS, desired.name, namespace=desired.namespace)
                require_name_free(obj(current, "spec"), desired)
                _require_not_deleting(current, desired)
            raise

    async def _render(
        self, caller: Caller, desired: DesiredXApp, *, for_display: bool, upgrade: bool = False
    ) -> RenderedChart:
        spec = XAppSpec.model_validate(desired.spec)
        try:
            chart = await self._charts.load(caller.client, desired, spec)
            rendered = await self._renderer.render(
                caller.client,
                spec,
                name=desired.name,
                chart=chart.path,
                info=chart.info,
                upgrade=upgrade,
                for_display=for_display,
                text=desired.sent_text,
            )
        except ValuesInvalid as error:
            named = with_field_error(error, VALUES_PART)
            raise await asyncio.to_thread(locate, named, desired.sent_text) from None
        except ChartInvalid as error:
            file_part = PROVENANCE_PART if isinstance(error, SignatureInvalid) else FILE_PART
            raise with_field_error(
                error, file_part if desired.chart is not None else f"{FORM_PART}.chartName"
            ) from None
        return replace(rendered, warnings=(*text_warnings(desired.sent_text, desired.kept_text), *rendered.warnings))


@contextmanager
def _as_values_error(desired: DesiredXApp) -> Iterator[None]:
    """Translate errors about the form and the file for a request that has values only."""
    try:
        yield
    except FormInvalid:
        raise ChartSourceError(
            "the values cannot be checked, because the chart of this xApp is not available: upload it again in an "
            "upgrade"
        ).with_next(_upgrade_request(desired)) from None
    except (ChartSourceError, ChartInvalid) as error:
        raise type(error)(f"the values cannot be checked, so nothing was changed: {error.message}") from None


def _upgrade_request(desired: DesiredXApp) -> NextRequest:
    return NextRequest("PUT", f"/api/deployment/xapp/{desired.namespace}/{desired.name}")


def _is_released(xapp: JsonObject) -> bool:
    """Return whether helm would upgrade: a revision is deployed."""
    return integer(obj(obj(xapp, "status"), "release"), "revision") > 0


def _as_deleting(xapp: JsonObject) -> JsonObject:
    """Return an XApp that had no finalizer and is already gone as one that is being deleted."""
    metadata = obj(xapp, "metadata")
    return {**xapp, "metadata": {**metadata, "deletionTimestamp": metadata.get("creationTimestamp")}}


def _require_not_deleting(current: JsonObject, desired: DesiredXApp) -> None:
    if "deletionTimestamp" in obj(current, "metadata"):
        message = (
            f"the xApp {desired.name} in the namespace {desired.namespace} is being uninstalled: deploy it again when "
            "it is gone, or choose another xAppName"
        )
        raise AlreadyExists(message, errors=(FieldError(f"{FORM_PART}.xAppName", message),))


async def _explain_refusal(write: Awaitable[JsonObject], desired: DesiredXApp) -> JsonObject:
    """Return the result of a write of the XApp; errors name fields of the form."""
    try:
        return await write
    except AlreadyExists:
        message = (
            f"the xApp {desired.name} already exists in the namespace {desired.namespace}: upgrade it, uninstall it "
            "first, or choose another xAppName"
        )
        raise AlreadyExists(message, errors=(FieldError(f"{FORM_PART}.xAppName", message),)).with_next(
            _upgrade_request(desired)
        ) from None
    except KubeError as error:
        raise to_form_error(error) from None
