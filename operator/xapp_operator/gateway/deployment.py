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
from xapp_operator.api.models import REMOTE, Archive, XAppSpec
from xapp_operator.api.names import XAPP_KIND
from xapp_operator.charts.cache import ChartFile
from xapp_operator.charts.model import ChartRequest
from xapp_operator.charts.source import ChartSources
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
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.cluster_errors import refusal_of
from xapp_operator.gateway.forms import FORM, Form
from xapp_operator.gateway.rendering import Preview, Renderer
from xapp_operator.gateway.repositories import drop_repository, reached_repository, save_repository, saved_repository
from xapp_operator.gateway.submission import FILE, Submission, with_field
from xapp_operator.gateway.uploads import UploadedChart, drop_chart, keep_chart, kept_chart, referred_chart
from xapp_operator.gateway.wish import (
    Wish,
    body_of,
    changed_wish,
    check_same_identity,
    new_wish,
    replaced,
    valued_wish,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NAMESPACES, XAPPS
from xapp_operator.telemetry.logs import get_logger

WRITE_TRIES: Final = 10
"""The operator writes status while an upgrade is being made; only a change of the spec is a conflict."""
FIRST_SERVER_ERROR: Final = 500
NOT_RENDERED: Final = "the chart was not rendered: its archive cannot be read with your rights"

_log = get_logger(__name__)


class Deployer:
    """Carries out what callers ask for."""

    def __init__(self, kube: KubeClient, *, renderer: Renderer, charts: ChartSources) -> None:
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
        wish = new_wish(submission)
        if wish.chart is not None:
            await self._render(caller, wish, to_show=False)
        else:
            await saved_repository(caller.client, wish.form)
        async with _undone_on_failure() as made:
            await self._have_namespace(caller, wish.namespace, made)
            await self._try(caller, wish)
            await self._keep(caller, wish, made)
            return await _told(caller.client.create(XAPPS, body_of(wish)), wish)

    async def preview(self, caller: Caller, submission: Submission) -> Preview:
        """Return what `create` would deploy; nothing is changed.

        Raises:
            XAppError: as `create`, and for a remote chart that cannot be had.
        """
        wish = new_wish(submission)
        warnings: tuple[str, ...] = ()
        if await self._has_namespace(wish.namespace):
            await self._try(caller, wish)
        else:
            await _create_namespace(caller.client, wish.namespace, dry_run=True)
            warnings = (f"the namespace {wish.namespace} does not exist yet: it would be created",)
        preview = await self._render(caller, wish, to_show=True)
        return Preview(preview.manifest, preview.notes, preview.values, (*warnings, *preview.warnings))

    async def upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> JsonObject:
        """Write the new spec of an XApp in place and return it as stored; parts that did not come are kept.

        Raises:
            FormInvalid: when the identity would change.
            XAppError: as `create`.
        """
        wish = changed_wish(current, submission)
        if wish.chart is not None or wish.form.is_upload:
            await self._render(caller, wish, to_show=False, upgrade=True)
        else:
            await saved_repository(caller.client, wish.form)
        async with _undone_on_failure() as made:
            await self._replace(caller, current, wish, dry_run=True)
            await self._keep(caller, wish, made)
            return await self._replace(caller, current, wish)

    async def preview_upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> Preview:
        """Return what `upgrade` would deploy; nothing is changed. Raises as `upgrade`."""
        wish = changed_wish(current, submission)
        await self._replace(caller, current, wish, dry_run=True)
        return await self._render(caller, wish, to_show=True, upgrade=True)

    async def configure(self, caller: Caller, current: JsonObject, values: JsonObject) -> JsonObject:
        """Write other values into an XApp and return it as stored.

        Raises:
            ValuesInvalid: when the schema of its chart refuses them.
            ChartSourceError, ChartInvalid: when the chart cannot be had or rendered, so that nobody can tell.
            Conflict: when somebody else changed the spec meanwhile.
            KubeError: what the cluster refuses.
        """
        wish = valued_wish(current, values)
        with _said_of_values(wish):
            await self._render(caller, wish, to_show=False, upgrade=True)
        return await self._replace(caller, current, wish)

    async def preview_values(self, caller: Caller, current: JsonObject, values: JsonObject) -> Preview:
        """Return the chart rendered with other values, without notes; nothing is changed. Raises as `configure`."""
        wish = valued_wish(current, values)
        await self._replace(caller, current, wish, dry_run=True)
        with _said_of_values(wish):
            return await self._render(caller, wish, to_show=False, upgrade=True)

    async def remove(self, caller: Caller, *, namespace: str, name: str) -> JsonObject:
        """Have an XApp deleted; return it as it is while it goes.

        Raises:
            NotFound: when there is none.
        """
        current = await caller.client.get(XAPPS, name, namespace=namespace)
        answer = await caller.client.delete(XAPPS, name, namespace=namespace)
        return answer if text(answer, "kind") == XAPP_KIND else _going(current)

    async def _replace(self, caller: Caller, current: JsonObject, wish: Wish, *, dry_run: bool = False) -> JsonObject:
        """Replace the spec that was read, whatever has been written to the status meanwhile.

        Raises:
            Conflict: when somebody else changed the spec meanwhile.
        """
        generation = obj(current, "metadata").get("generation")
        for _ in range(WRITE_TRIES):
            try:
                return await _told(caller.client.replace(XAPPS, replaced(current, wish), dry_run=dry_run), wish)
            except Conflict:
                current = await caller.client.get(XAPPS, wish.name, namespace=wish.namespace)
                if obj(current, "metadata").get("generation") != generation:
                    break
        raise Conflict(
            f"the xApp {wish.name} was changed by somebody else at the same time: look at it and send the request again"
        )

    async def _keep(self, caller: Caller, wish: Wish, made: AsyncExitStack) -> None:
        """Write what the XApp refers to, and have it removed again should a later step fail."""
        chart = wish.chart
        if chart is not None:
            kept = await keep_chart(self._kube, chart, namespace=wish.namespace)
            if kept is not None:
                _undo(made, lambda: drop_chart(self._kube, kept))
        if not wish.form.is_upload:
            saved = await save_repository(caller.client, wish.form)
            if saved is not None:
                _undo(made, lambda: drop_repository(caller.client, wish.form, uid=saved))

    async def _have_namespace(self, caller: Caller, namespace: str, made: AsyncExitStack) -> None:
        if await self._has_namespace(namespace):
            return
        uid = await _create_namespace(caller.client, namespace)
        if uid is not None:
            _undo(made, lambda: self._drop_namespace(caller.client, namespace, uid=uid))

    async def _has_namespace(self, name: str) -> bool:
        try:
            await self._kube.get(NAMESPACES, name, metadata_only=True)
        except NotFound:
            return False
        return True

    async def _drop_namespace(self, client: KubeClient, name: str, *, uid: str) -> None:
        try:
            if not (await self._kube.list(XAPPS, namespace=name)).items:
                await client.delete(NAMESPACES, name, uid=uid)
        except KubeError as error:
            _log.warning("namespace left behind", namespace=name, error=error.message)

    async def _try(self, caller: Caller, wish: Wish) -> None:
        try:
            await _told(caller.client.create(XAPPS, body_of(wish), dry_run=True), wish)
        except AlreadyExists:
            with contextlib.suppress(AccessDenied, NotFound):
                current = await caller.client.get(XAPPS, wish.name, namespace=wish.namespace)
                check_same_identity(obj(current, "spec"), wish)
            raise

    async def _render(self, caller: Caller, wish: Wish, *, to_show: bool, upgrade: bool = False) -> Preview:
        spec = XAppSpec.model_validate(wish.spec)
        chart = await self._archive(caller, wish, spec)
        if chart is None:
            return Preview("", "", {}, (NOT_RENDERED,))
        try:
            return await self._renderer.render(
                caller.client, spec, name=wish.name, chart=chart.path, info=chart.info, upgrade=upgrade, to_show=to_show
            )
        except ChartInvalid as error:
            raise with_field(error, FILE if wish.chart is not None else f"{FORM}.chartName") from None

    async def _archive(self, caller: Caller, wish: Wish, spec: XAppSpec) -> ChartFile | UploadedChart | None:
        if wish.chart is not None:
            return wish.chart
        if spec.method == REMOTE:
            return await self._remote_chart(caller, wish.form, spec)
        data = None if spec.archive is None else await self._kept(caller, spec.archive, namespace=wish.namespace)
        return None if data is None else await self._charts.store_archive(data)

    async def _kept(self, caller: Caller, archive: Archive, *, namespace: str) -> bytes | None:
        reference = archive.secret_ref
        try:
            if reference is not None:
                data = await kept_chart(self._kube, reference.name, key=reference.key, namespace=namespace)
                if data is not None:
                    return data
            return await referred_chart(caller.client, archive, namespace=namespace)
        except AccessDenied:
            return None
        except NotFound:
            message = "is needed: the chart that was uploaded before is gone, send it again"
            raise FormInvalid(f"the part {FILE} {message}", errors=(FieldError(FILE, message),)) from None

    async def _remote_chart(self, caller: Caller, form: Form, spec: XAppSpec) -> ChartFile:
        try:
            request = ChartRequest(
                repository=await reached_repository(caller.client, form),
                chart=spec.chart_name or "",
                version=spec.chart_version or spec.version,
            )
            return await self._charts.fetch(await self._charts.resolve(request))
        except SourceUnavailable as error:
            # To the caller of a dry run this is a wrong url as often as a fault that passes: no answer of 5xx.
            refusal = ChartSourceError(error.message, errors=error.errors)
            raise with_field(refusal, f"{FORM}.url") from None
        except ChartSourceError as error:
            raise with_field(error, f"{FORM}.{_at_fault(error, spec)}") from None


@contextmanager
def _said_of_values(wish: Wish) -> Iterator[None]:
    """Say of a request that has values only what a deployment would be told of its form and its file."""
    try:
        yield
    except FormInvalid:
        raise ChartSourceError(
            "the values cannot be checked, because the chart of this xApp cannot be had: send it again with PUT "
            f"/api/deployment/xapp/{wish.namespace}/{wish.name}"
        ) from None
    except (ChartSourceError, ChartInvalid) as error:
        raise type(error)(f"the values cannot be checked, nothing was changed: {error.message}") from None


def _at_fault(error: ChartSourceError, spec: XAppSpec) -> str:
    """Return the field of the form that a chart source's refusal is about."""
    if isinstance(error, AddressRefused):
        return "url"
    if isinstance(error, VersionNotFound):
        return "chartVersion" if spec.chart_version is not None else "version"
    return "chartName"


def _going(xapp: JsonObject) -> JsonObject:
    """Return an XApp that nothing held back, and that is gone by now, as it was last."""
    metadata = obj(xapp, "metadata")
    return {**xapp, "metadata": {**metadata, "deletionTimestamp": metadata.get("creationTimestamp")}}


async def _told(write: Awaitable[JsonObject], wish: Wish) -> JsonObject:
    """Return what a write of the XApp returns; a refusal is said of the form."""
    try:
        return await write
    except AlreadyExists:
        message = (
            f"there is an xApp {wish.name} in the namespace {wish.namespace} already: upgrade it with PUT, delete it, "
            "or choose another name"
        )
        raise AlreadyExists(message, errors=(FieldError(f"{FORM}.xAppName", message),)) from None
    except KubeError as error:
        raise refusal_of(error) from None


async def _create_namespace(client: KubeClient, name: str, *, dry_run: bool = False) -> str | None:
    """Create a namespace as the caller; return its uid, or None where somebody else was quicker."""
    body: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        return text(obj(await client.create(NAMESPACES, body, dry_run=dry_run), "metadata"), "uid")
    except AlreadyExists:
        return None
    except AccessDenied:
        message = f"the namespace {name} does not exist, and you may not create namespaces: have it created"
        raise AccessDenied(message, errors=(FieldError(f"{FORM}.namespace", message),)) from None


def _undo(made: AsyncExitStack, step: Callable[[], Awaitable[None]]) -> None:
    made.push_async_callback(step)


@asynccontextmanager
async def _undone_on_failure() -> AsyncIterator[AsyncExitStack]:
    """Hold the steps that undo what was made; they are taken, last first, unless the block succeeds.

    Nor are they taken when nobody knows what became of the last write: the API server may have stored the XApp, which
    then needs the rest. In the other case the operator's sweep removes the chart.
    """
    async with AsyncExitStack() as made:
        try:
            yield made
        except (KubeError, asyncio.CancelledError) as error:
            if not isinstance(error, KubeError) or error.status >= FIRST_SERVER_ERROR:
                made.pop_all()
            raise
        made.pop_all()
