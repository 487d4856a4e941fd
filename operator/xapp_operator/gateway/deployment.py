"""Deploying, upgrading and removing: from a checked request to the XApp in the cluster, with nothing left half-made.

The XApp is the whole interface to the operator, so this writes an XApp and what it refers to, never a release. Order:
all checks, a dry-run write of the XApp, the chart's Secret, the saved repository, the XApp; what this request made is
removed again when a later step is refused. Every write but that of the Secret is made by the caller's client.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import REMOTE, UPLOAD, XAppSpec
from xapp_operator.api.names import API_VERSION, XAPP_KIND
from xapp_operator.charts.cache import ChartFile
from xapp_operator.charts.model import ChartRequest
from xapp_operator.charts.source import ChartSources
from xapp_operator.errors import (
    AccessDenied,
    AlreadyExists,
    ChartInvalid,
    Conflict,
    FieldError,
    FormInvalid,
    IdentityConflict,
    KubeError,
    NotFound,
    NotFoundHere,
)
from xapp_operator.gateway.auth import Caller
from xapp_operator.gateway.cluster_errors import refusal_of
from xapp_operator.gateway.forms import FORM, IDENTITY, REMOTE_ONLY, Form
from xapp_operator.gateway.query import shown
from xapp_operator.gateway.rendering import Preview, Renderer
from xapp_operator.gateway.repositories import drop_repository, reached_repository, save_repository, saved_repository
from xapp_operator.gateway.submission import FILE, Submission, require_file, with_field
from xapp_operator.gateway.uploads import UploadedChart, drop_chart, keep_chart, kept_chart
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NAMESPACES, XAPPS
from xapp_operator.telemetry.logs import get_logger

WRITE_TRIES: Final = 3
ONLY_REMOTE_FIELDS: Final = (*REMOTE_ONLY, "chartVersion")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wish:
    """An XApp as it should be written: its name, its spec, the form behind it, and a chart that came along."""

    name: str
    spec: JsonObject
    form: Form
    chart: UploadedChart | None

    @property
    def namespace(self) -> str:
        """Return the namespace of the XApp."""
        return self.form.spec.namespace


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
        wish = _new(submission)
        if wish.chart is not None:
            await self._render(caller, wish, notes=False)
        else:
            await saved_repository(caller.client, wish.form)
        async with _undone_on_failure() as made:
            await self._have_namespace(caller, wish.namespace, made)
            await self._try(caller, wish)
            await self._keep(caller, wish, made)
            return await _told(caller.client.create(XAPPS, _body(wish)), wish)

    async def preview(self, caller: Caller, submission: Submission) -> Preview:
        """Return what `create` would deploy; nothing is changed.

        Raises:
            XAppError: as `create`, and for a remote chart that cannot be had.
        """
        wish = _new(submission)
        warnings: tuple[str, ...] = ()
        try:
            await self._try(caller, wish)
        except NotFound:
            warnings = (f"the namespace {wish.namespace} does not exist yet: it would be created",)
        preview = await self._render(caller, wish, notes=True)
        return Preview(preview.manifest, preview.notes, preview.values, (*warnings, *preview.warnings))

    async def upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> JsonObject:
        """Write the new spec of an XApp in place and return it as stored; parts that did not come are kept.

        Raises:
            FormInvalid: when the identity would change.
            XAppError: as `create`.
        """
        wish = _changed(current, submission)
        if wish.chart is not None or wish.form.is_upload:
            await self._render(caller, wish, notes=False, upgrade=True)
        else:
            await saved_repository(caller.client, wish.form)
        async with _undone_on_failure() as made:
            await _told(caller.client.replace(XAPPS, _replaced(current, wish), dry_run=True), wish)
            await self._keep(caller, wish, made)
            return await self._replace(caller, current, wish, submission)

    async def preview_upgrade(self, caller: Caller, current: JsonObject, submission: Submission) -> Preview:
        """Return what `upgrade` would deploy; nothing is changed. Raises as `upgrade`."""
        wish = _changed(current, submission)
        await _told(caller.client.replace(XAPPS, _replaced(current, wish), dry_run=True), wish)
        return await self._render(caller, wish, notes=True, upgrade=True)

    async def remove(self, caller: Caller, *, namespace: str, name: str) -> JsonObject:
        """Have an XApp deleted; return it as it is while it goes, or the cluster's word that it is gone.

        Raises:
            NotFoundHere: when there is none.
        """
        try:
            return await caller.client.delete(XAPPS, name, namespace=namespace)
        except NotFound:
            raise NotFoundHere(
                f"there is no xApp {shown(name)} in the namespace {shown(namespace)}: GET /api/xapps lists all"
            ) from None

    async def _replace(self, caller: Caller, current: JsonObject, wish: Wish, submission: Submission) -> JsonObject:
        """Replace the spec; where somebody else wrote meanwhile, on top of what they wrote."""
        for _ in range(WRITE_TRIES - 1):
            try:
                return await _told(caller.client.replace(XAPPS, _replaced(current, wish)), wish)
            except Conflict:
                current = await caller.client.get(XAPPS, wish.name, namespace=wish.namespace)
                wish = _changed(current, submission)
        return await _told(caller.client.replace(XAPPS, _replaced(current, wish)), wish)

    async def _keep(self, caller: Caller, wish: Wish, made: AsyncExitStack) -> None:
        """Write what the XApp refers to, and have it removed again should a later step fail."""
        chart = wish.chart
        if chart is not None:
            uid = await keep_chart(self._kube, chart, namespace=wish.namespace)
            if uid is not None:
                _undo(made, lambda: drop_chart(self._kube, chart, namespace=wish.namespace, uid=uid))
        if not wish.form.is_upload:
            saved = await save_repository(caller.client, wish.form)
            if saved is not None:
                _undo(made, lambda: drop_repository(caller.client, wish.form, uid=saved))

    async def _have_namespace(self, caller: Caller, namespace: str, made: AsyncExitStack) -> None:
        try:
            await self._kube.get(NAMESPACES, namespace, metadata_only=True)
        except NotFound:
            uid = await _create_namespace(caller.client, namespace)
            if uid is not None:
                _undo(made, lambda: _drop_namespace(caller.client, namespace, uid=uid))

    async def _try(self, caller: Caller, wish: Wish) -> None:
        try:
            await _told(caller.client.create(XAPPS, _body(wish), dry_run=True), wish)
        except AlreadyExists as error:
            current = await caller.client.get(XAPPS, wish.name, namespace=wish.namespace)
            _check_same_identity(obj(current, "spec"), wish)
            raise error from None

    async def _render(self, caller: Caller, wish: Wish, *, notes: bool, upgrade: bool = False) -> Preview:
        spec = XAppSpec.model_validate(wish.spec)
        chart = await self._archive(caller, wish, spec)
        if chart is None:
            return Preview("", "", {}, ("the chart was not rendered: its archive was not made from an upload",))
        try:
            return await self._renderer.render(
                caller.client, spec, name=wish.name, chart=chart.path, info=chart.info, upgrade=upgrade, notes=notes
            )
        except ChartInvalid as error:
            raise with_field(error, FILE if wish.chart is not None else FORM) from None

    async def _archive(self, caller: Caller, wish: Wish, spec: XAppSpec) -> ChartFile | UploadedChart | None:
        if wish.chart is not None:
            return wish.chart
        if spec.method == REMOTE:
            repository = await reached_repository(caller.client, wish.form)
            request = ChartRequest(
                repository=repository, chart=spec.chart_name or "", version=spec.chart_version or spec.version
            )
            return await self._charts.fetch(await self._charts.resolve(request))
        reference = spec.archive.secret_ref if spec.archive is not None else None
        if reference is None:
            return None
        data = await kept_chart(self._kube, reference.name, key=reference.key, namespace=wish.namespace)
        return None if data is None else await self._charts.store_archive(data)


def _new(submission: Submission) -> Wish:
    require_file(submission)
    form = submission.form
    spec: JsonObject = dict(form.fields)
    if submission.values is not None:
        spec["values"] = submission.values
    if submission.chart is not None:
        spec["archive"] = submission.chart.archive
    return Wish(form.name, spec, form, submission.chart)


def _changed(current: JsonObject, submission: Submission) -> Wish:
    """Return the wish to upgrade `current`: what the form gives counts, what it leaves out stays."""
    before, form = obj(current, "spec"), submission.form
    _check_identity(before, form)
    spec: JsonObject = {**before, **form.fields}
    if submission.values is not None:
        spec["values"] = submission.values
    if not form.is_upload:
        spec.pop("archive", None)
    else:
        for name in ONLY_REMOTE_FIELDS:
            spec.pop(name, None)
        if submission.chart is not None:
            spec["archive"] = submission.chart.archive
        elif text(before, "method") != UPLOAD:
            require_file(submission)
    return Wish(text(obj(current, "metadata"), "name"), spec, form, submission.chart)


def _check_identity(before: JsonObject, form: Form) -> None:
    errors = tuple(
        FieldError(
            f"{FORM}.{name}",
            f"is part of the xApp's identity and cannot be changed (it is {shown(text(before, name))}): keep it, or "
            "deploy a new xApp",
        )
        for name in (*IDENTITY, "namespace")
        if form.fields.get(name) != before.get(name)
    )
    if errors:
        raise FormInvalid(f"{errors[0].field} {errors[0].message}", errors=errors)


def _check_same_identity(before: JsonObject, wish: Wish) -> None:
    """Refuse a name that another organization, team and xAppName have taken: they compose to the same text."""
    if all(wish.spec.get(name) == before.get(name) for name in IDENTITY):
        return
    whose = ", ".join(f"{name} {shown(text(before, name))}" for name in IDENTITY)
    message = f"composes to the name {wish.name}, which belongs to another xApp ({whose}): choose another xAppName"
    raise IdentityConflict(f"the identity {message}", errors=(FieldError(f"{FORM}.xAppName", message),))


def _body(wish: Wish) -> JsonObject:
    return {
        "apiVersion": API_VERSION,
        "kind": XAPP_KIND,
        "metadata": {"name": wish.name, "namespace": wish.namespace},
        "spec": wish.spec,
    }


def _replaced(current: JsonObject, wish: Wish) -> JsonObject:
    metadata = {key: value for key, value in obj(current, "metadata").items() if key != "managedFields"}
    return {"apiVersion": API_VERSION, "kind": XAPP_KIND, "metadata": metadata, "spec": wish.spec}


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


async def _create_namespace(client: KubeClient, name: str) -> str | None:
    """Create a namespace as the caller; return its uid, or None where somebody else was quicker."""
    body: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    try:
        return text(obj(await client.create(NAMESPACES, body), "metadata"), "uid")
    except AlreadyExists:
        return None
    except AccessDenied:
        message = f"the namespace {name} does not exist, and you may not create namespaces: have it created"
        raise AccessDenied(message, errors=(FieldError(f"{FORM}.namespace", message),)) from None


async def _drop_namespace(client: KubeClient, name: str, *, uid: str) -> None:
    try:
        await client.delete(NAMESPACES, name, uid=uid)
    except KubeError as error:
        _log.warning("namespace left behind", namespace=name, error=error.message)


def _undo(made: AsyncExitStack, step: Callable[[], Awaitable[None]]) -> None:
    made.push_async_callback(step)


@asynccontextmanager
async def _undone_on_failure() -> AsyncIterator[AsyncExitStack]:
    """Hold the steps that undo what was made; they are taken, last first, unless the block succeeds."""
    async with AsyncExitStack() as made:
        yield made
        made.pop_all()
