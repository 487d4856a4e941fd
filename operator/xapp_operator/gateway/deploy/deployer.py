"""Deploying, upgrading and removing: from a checked request to the XApp in the cluster, with nothing left half-made.

The XApp is the whole interface to the operator, so this writes an XApp and what it refers to, never a release. Order:
all checks, a dry-run write of the XApp, the chart's Secret, the saved repository, the XApp; what this request made is
removed again when a later step is refused. Every write but that of the Secret is made by the caller's client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import METHOD_REMOTE, ArchiveSource, XAppSpec
from xapp_operator.api.names import XAPP_KIND
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.chart_request import ChartRequest
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.errors import (
    AccessDenied,
    AddressRefused,
    AlreadyExists,
    ChartInvalid,
    ChartSourceError,
    Conflict,
    FieldError,
    FormInvalid,
    KubeError,
    NotFound,
    SourceUnavailable,
    VersionNotFound,
)
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.deploy.desired_xapp import (
    DesiredXApp,
    desired_new_xapp,
    desired_upgrade,
    desired_with_values,
    replacement_body,
    require_name_free,
    xapp_body,
)
from xapp_operator.gateway.deploy.form_errors import to_form_error
from xapp_operator.gateway.deploy.form_repository import (
    delete_form_repository,
    ensure_form_repository,
    get_form_repository,
    load_form_repository,
)
from xapp_operator.gateway.deploy.forms import FORM_PART, Form
from xapp_operator.gateway.deploy.rendering import ChartRenderer, Preview
from xapp_operator.gateway.deploy.submission import FILE_PART, Submission, with_field_error
from xapp_operator.gateway.deploy.uploads import (
    UploadedChart,
    delete_chart_secret,
    ensure_chart_secret,
    read_referenced_chart,
    read_uploaded_chart,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NAMESPACES, XAPPS
from xapp_operator.telemetry.logs import get_logger

REPLACE_ATTEMPTS: Final = 10
"""The operator writes status while an upgrade is being made; only a change of the spec is a conflict."""
FIRST_SERVER_ERROR: Final = 500
NOT_RENDERED_WARNING: Final = "the chart was not rendered: its archive cannot be read with your rights"

_log = get_logger(__name__)


class Deployer:
    """Carries out what callers ask for."""

    def __init__(self, kube: KubeClient, *, renderer: ChartRenderer, charts: ChartSources) -> None:
        self._kube = kube
        self._renderer = renderer
        self._charts = charts

    async def create(self, caller: Caller, submission: Submission) -> JsonObject:
        """Write a new XApp and return it as stored.

        Raises:
            AlreadyExists, IdentityConflict: when the name is taken, or repoName has another url.
            InputError: when the chart cannot be rendered or its schema refuses the values.
            KubeError: what the cluster refuses, said of the form.
        """
        desired = desired_new_xapp(submission)
        if desired.chart is not None:
            await self._render(caller, desired, for_display=False)
        else:
            await get_form_repository(caller.client, desired.form)
        async with _cleanup_on_failure() as cleanup:
            await self._ensure_namespace(caller, desired.namespace, cleanup)
            await self._dry_run_create(caller, desired)
            await self._create_referenced_objects(caller, desired, cleanup)
            return await _explain_refusal(caller.client.create(XAPPS, xapp_body(desired)), desired)

    async def preview(self, caller: Caller, submission: Submission) -> Preview:
        """Return what `create` would deploy; nothing is changed.

        Raises:
            XAppError: as `create`, and for a remote chart that cannot be had.
        """
        desired = desired_new_xapp(submission)
        warnings: tuple[str, ...] = ()
        if await self._namespace_exists(desired.namespace):
            await self._dry_run_create(caller, desired)
        else:
            await _create_namespace(caller.client, desired.namespace, dry_run=True)
            warnings = (f"the namespace {desired.namespace} does not exist yet: it would be created",)
        preview = await self._render(caller, desired, for_display=True)
        return Preview(preview.manifest, preview.notes, preview.values, (*warnings, *preview.warnings))

    async def upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> JsonObject:
        """Write the new spec of an XApp in place and return it as stored; parts that did not come are kept.

        Raises:
            FormInvalid: when the identity would change.
            XAppError: as `create`.
        """
        desired = desired_upgrade(current, submission)
        if desired.chart is not None or desired.form.is_upload:
            await self._render(caller, desired, for_display=False, upgrade=True)
        else:
            await get_form_repository(caller.client, desired.form)
        async with _cleanup_on_failure() as cleanup:
            await self._replace_spec(caller, current, desired, dry_run=True)
            await self._create_referenced_objects(caller, desired, cleanup)
            return await self._replace_spec(caller, current, desired)

    async def preview_upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> Preview:
        """Return what `upgrade` would deploy; nothing is changed. Raises as `upgrade`."""
        desired = desired_upgrade(current, submission)
        await self._replace_spec(caller, current, desired, dry_run=True)
        return await self._render(caller, desired, for_display=True, upgrade=True)

    async def replace_values(self, caller: Caller, current: JsonObject, values: JsonObject) -> JsonObject:
        """Write other values into an XApp and return it as stored.

        Raises:
            ValuesInvalid: when the schema of its chart refuses them.
            ChartSourceError, ChartInvalid: when the chart cannot be had or rendered, so that nobody can tell.
            Conflict: when somebody else changed the spec meanwhile.
            KubeError: what the cluster refuses.
        """
        desired = desired_with_values(current, values)
        with _as_values_error(desired):
            await self._render(caller, desired, for_display=False, upgrade=True)
        return await self._replace_spec(caller, current, desired)

    async def preview_values(self, caller: Caller, current: JsonObject, values: JsonObject) -> Preview:
        """Return the chart rendered with other values, without notes; nothing is changed. Raises as `configure`."""
        desired = desired_with_values(current, values)
        await self._replace_spec(caller, current, desired, dry_run=True)
        with _as_values_error(desired):
            return await self._render(caller, desired, for_display=False, upgrade=True)

    async def delete(self, caller: Caller, *, namespace: str, name: str) -> JsonObject:
        """Have an XApp deleted; return it as it is while it goes.

        Raises:
            NotFound: when there is none.
        """
        current = await caller.client.get(XAPPS, name, namespace=namespace)
        deleted = await caller.client.delete(XAPPS, name, namespace=namespace)
        return deleted if text(deleted, "kind") == XAPP_KIND else _as_deleting(current)

    async def _replace_spec(
        self, caller: Caller, current: JsonObject, desired: DesiredXApp, *, dry_run: bool = False
    ) -> JsonObject:
        """Replace the spec that was read, whatever has been written to the status meanwhile.

        Raises:
            Conflict: when somebody else changed the spec meanwhile.
        """
        generation = obj(current, "metadata").get("generation")
        for _ in range(REPLACE_ATTEMPTS):
            try:
                return await _explain_refusal(
                    caller.client.replace(XAPPS, replacement_body(current, desired), dry_run=dry_run), desired
                )
            except Conflict:
                current = await caller.client.get(XAPPS, desired.name, namespace=desired.namespace)
                if obj(current, "metadata").get("generation") != generation:
                    break
        raise Conflict(
            f"the xApp {desired.name} was changed by somebody else at the same time: look at it and send the "
            "request again"
        )

    async def _create_referenced_objects(self, caller: Caller, desired: DesiredXApp, cleanup: AsyncExitStack) -> None:
        """Write what the XApp refers to, and have it removed again should a later step fail."""
        chart = desired.chart
        if chart is not None:
            created_secret = await ensure_chart_secret(self._kube, chart, namespace=desired.namespace)
            if created_secret is not None:
                _add_cleanup(cleanup, lambda: delete_chart_secret(self._kube, created_secret))
        if not desired.form.is_upload:
            repository_uid = await ensure_form_repository(caller.client, desired.form)
            if repository_uid is not None:
                _add_cleanup(cleanup, lambda: delete_form_repository(caller.client, desired.form, uid=repository_uid))

    async def _ensure_namespace(self, caller: Caller, namespace: str, cleanup: AsyncExitStack) -> None:
        if await self._namespace_exists(namespace):
            return
        uid = await _create_namespace(caller.client, namespace)
        if uid is not None:
            _add_cleanup(cleanup, lambda: self._delete_created_namespace(caller.client, namespace, uid=uid))

    async def _namespace_exists(self, name: str) -> bool:
        try:
            await self._kube.get(NAMESPACES, name, metadata_only=True)
        except NotFound:
            return False
        return True

    async def _delete_created_namespace(self, client: KubeClient, name: str, *, uid: str) -> None:
        try:
            if not (await self._kube.list(XAPPS, namespace=name)).items:
                await client.delete(NAMESPACES, name, uid=uid)
        except KubeError as error:
            _log.warning("namespace not deleted", namespace=name, error=error.message)

    async def _dry_run_create(self, caller: Caller, desired: DesiredXApp) -> None:
        try:
            await _explain_refusal(caller.client.create(XAPPS, xapp_body(desired), dry_run=True), desired)
        except AlreadyExists:
            with contextlib.suppress(AccessDenied, NotFound):
                current = await caller.client.get(XAPPS, desired.name, namespace=desired.namespace)
                require_name_free(obj(current, "spec"), desired)
            raise

    async def _render(
        self, caller: Caller, desired: DesiredXApp, *, for_display: bool, upgrade: bool = False
    ) -> Preview:
        spec = XAppSpec.model_validate(desired.spec)
        chart = await self._get_chart(caller, desired, spec)
        if chart is None:
            return Preview("", "", {}, (NOT_RENDERED_WARNING,))
        try:
            return await self._renderer.render(
                caller.client,
                spec,
                name=desired.name,
                chart=chart.path,
                info=chart.info,
                upgrade=upgrade,
                for_display=for_display,
            )
        except ChartInvalid as error:
            raise with_field_error(
                error, FILE_PART if desired.chart is not None else f"{FORM_PART}.chartName"
            ) from None

    async def _get_chart(
        self, caller: Caller, desired: DesiredXApp, spec: XAppSpec
    ) -> ChartFile | UploadedChart | None:
        if desired.chart is not None:
            return desired.chart
        if spec.method == METHOD_REMOTE:
            return await self._fetch_remote_chart(caller, desired.form, spec)
        data = (
            None
            if spec.archive is None
            else await self._read_archive(caller, spec.archive, namespace=desired.namespace)
        )
        return None if data is None else await self._charts.store_archive(data)

    async def _read_archive(self, caller: Caller, archive: ArchiveSource, *, namespace: str) -> bytes | None:
        reference = archive.secret_ref
        try:
            if reference is not None:
                data = await read_uploaded_chart(self._kube, reference.name, key=reference.key, namespace=namespace)
                if data is not None:
                    return data
            return await read_referenced_chart(caller.client, archive, namespace=namespace)
        except AccessDenied:
            return None
        except NotFound:
            message = "is needed: the chart that was uploaded before is gone, send it again"
            raise FormInvalid(f"the part {FILE_PART} {message}", errors=(FieldError(FILE_PART, message),)) from None

    async def _fetch_remote_chart(self, caller: Caller, form: Form, spec: XAppSpec) -> ChartFile:
        try:
            request = ChartRequest(
                repository=await load_form_repository(caller.client, form),
                chart=spec.chart_name or "",
                version=spec.chart_version or spec.version,
            )
            return await self._charts.fetch(await self._charts.resolve(request))
        except SourceUnavailable as error:
            # To the caller of a dry run this is a wrong url as often as a fault that passes: no answer of 5xx.
            refusal = ChartSourceError(error.message, errors=error.errors)
            raise with_field_error(refusal, f"{FORM_PART}.url") from None
        except ChartSourceError as error:
            raise with_field_error(error, f"{FORM_PART}.{_field_at_fault(error, spec)}") from None


@contextmanager
def _as_values_error(desired: DesiredXApp) -> Iterator[None]:
    """Say of a request that has values only what a deployment would be told of its form and its file."""
    try:
        yield
    except FormInvalid:
        raise ChartSourceError(
            "the values cannot be checked, because the chart of this xApp cannot be had: send it again with PUT "
            f"/api/deployment/xapp/{desired.namespace}/{desired.name}"
        ) from None
    except (ChartSourceError, ChartInvalid) as error:
        raise type(error)(f"the values cannot be checked, nothing was changed: {error.message}") from None


def _field_at_fault(error: ChartSourceError, spec: XAppSpec) -> str:
    """Return the field of the form that a chart source's refusal is about."""
    if isinstance(error, AddressRefused):
        return "url"
    if isinstance(error, VersionNotFound):
        return "chartVersion" if spec.chart_version is not None else "version"
    return "chartName"


def _as_deleting(xapp: JsonObject) -> JsonObject:
    """Return an XApp that nothing held back, and that is gone by now, as it was last."""
    metadata = obj(xapp, "metadata")
    return {**xapp, "metadata": {**metadata, "deletionTimestamp": metadata.get("creationTimestamp")}}


async def _explain_refusal(write: Awaitable[JsonObject], desired: DesiredXApp) -> JsonObject:
    """Return what a write of the XApp returns; a refusal is said of the form."""
    try:
        return await write
    except AlreadyExists:
        message = (
            f"there is an xApp {desired.name} in the namespace {desired.namespace} already: upgrade it with "
            "PUT, delete it, "
            "or choose another name"
        )
        raise AlreadyExists(message, errors=(FieldError(f"{FORM_PART}.xAppName", message),)) from None
    except KubeError as error:
        raise to_form_error(error) from None


async def _create_namespace(client: KubeClient, name: str, *, dry_run: bool = False) -> str | None:
    """Create a namespace as the caller; return its uid, or None where somebody else was quicker."""
    body: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        return text(obj(await client.create(NAMESPACES, body, dry_run=dry_run), "metadata"), "uid")
    except AlreadyExists:
        return None
    except AccessDenied:
        message = f"the namespace {name} does not exist, and you may not create namespaces: have it created"
        raise AccessDenied(message, errors=(FieldError(f"{FORM_PART}.namespace", message),)) from None


def _add_cleanup(cleanup: AsyncExitStack, delete: Callable[[], Awaitable[None]]) -> None:
    cleanup.push_async_callback(delete)


@asynccontextmanager
async def _cleanup_on_failure() -> AsyncIterator[AsyncExitStack]:
    """Hold the steps that undo what was made; they are taken, last first, unless the block succeeds.

    Nor are they taken when nobody knows what became of the last write: the API server may have stored the XApp, which
    then needs the rest. In the other case the operator's sweep removes the chart.
    """
    async with AsyncExitStack() as cleanup:
        try:
            yield cleanup
        except (KubeError, asyncio.CancelledError) as error:
            if not isinstance(error, KubeError) or error.status >= FIRST_SERVER_ERROR:
                cleanup.pop_all()
            raise
        cleanup.pop_all()
