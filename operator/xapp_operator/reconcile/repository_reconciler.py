"""Reconciles ChartRepositories: caches them with their credentials, and keeps their status up to date.

Charts and versions are in the index cache of `charts`.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from xapp_operator.api.chart_repository import ChartRepository
from xapp_operator.api.conditions import READY
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import XApp
from xapp_operator.api.names import ANNOTATION_RECONCILE_AT
from xapp_operator.charts.chart_repositories import (
    configured_repository_deleted,
    create_chart_repository,
    load_repository,
)
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.common.text import display_url
from xapp_operator.domain.planning.backoff import Backoff
from xapp_operator.errors import (
    AlreadyExists,
    ChartSourceError,
    IdentityConflict,
    NotFound,
    SourceUnavailable,
    XAppError,
)
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.reconcile.inputs.impersonation import Impersonation
from xapp_operator.reconcile.status.status_rendering import render_repository_status
from xapp_operator.reconcile.watching.secret_watch import SecretWatch
from xapp_operator.reconcile.work.work_queue import NamespacedName, Workers, WorkQueue
from xapp_operator.telemetry.logs import get_logger

WORKERS: Final = 8
"""ChartRepositories that are reconciled at the same time, shared fairly by namespace; a slow one holds one place."""
_UNKNOWN_DIGEST: Final = ""
"""XApps may have read any index before the first look, or none while it failed: what is found next counts as new."""

_log = get_logger(__name__)


class RepositoryNotSaved(SourceUnavailable):
    """There is no ChartRepository with the name in `spec.repoName`."""


@dataclass(frozen=True, slots=True)
class _CachedRepository:
    raw: JsonObject
    model: ChartRepository
    ready: bool
    resource_version: int

    @classmethod
    def of(cls, raw: JsonObject) -> Self:
        model = ChartRepository.model_validate(raw)
        version = int(text(obj(raw, "metadata"), "resourceVersion", "0"))
        return cls(raw, model, _is_repository_ready(model), version)

    @property
    def uid(self) -> str:
        return self.model.metadata.uid


class RepositoryReconciler:
    """All ChartRepositories; `on_change` is called with (namespace, name) when one, or its index, has changed."""

    def __init__(
        self,
        kube: KubeClient,
        *,
        charts: ChartSources,
        impersonation: Impersonation,
        secrets: SecretWatch,
        on_change: Callable[[str, str], None],
        clock: Clock = SYSTEM_CLOCK,
        backoff: Backoff = Backoff(),  # noqa: B008 - immutable
    ) -> None:
        """Prepare; `backoff` delays another look, or write of a status, after one that failed for a passing reason."""
        self._backoff = backoff
        self._failures: Counter[NamespacedName] = Counter()
        self._secrets = secrets
        self._clock = clock
        self._kube = kube
        self._charts = charts
        self._impersonation = impersonation
        self._on_change = on_change
        self._status_writer = StatusWriter(kube)
        self._queue = WorkQueue(clock=clock)
        self._to_revalidate: set[NamespacedName] = set()
        self._cached: dict[NamespacedName, _CachedRepository] = {}
        self._saves: SingleFlight[tuple[NamespacedName, str | None, bool], None] = SingleFlight()
        self._loaded: dict[NamespacedName, Repository] = {}  # with their credentials
        self._invalidations = 0
        self._versions: dict[NamespacedName, int] = {}  # of the invalidations, the last one of each
        self._index_digests: dict[NamespacedName, str] = {}

    def update(self, raw: JsonObject, *, deleted: bool) -> None:
        """Store a ChartRepository as the watch or a write has returned it, unless a newer state of it is known.

        Events may arrive late, even of a deleted object whose name another object has now.
        """
        cached = _CachedRepository.of(raw)
        model = cached.model
        key = model.key
        before = self._cached.get(key)
        if deleted:
            if before is not None and before.uid == cached.uid:
                self._forget(key)
                self._on_change(*key)
            return
        if before is not None and before.resource_version > cached.resource_version:
            return
        if before is not None and before.uid != cached.uid:
            self._forget(key)
            before = None
        self._cached[key] = cached
        if before is None:
            self._begin(key, model)
            return
        if _reconcile_at(before.model) != _reconcile_at(model):
            self._to_revalidate.add(key)
            self._queue.add(key)
        if before.model.spec != model.spec:
            self._reload(key)

    def keep_listed(self, namespace: str | None, uids: Collection[str], *, version: int) -> set[str]:
        """Forget the ChartRepositories of a namespace, or of all, that a list as of `version` does not have.

        Returns:
            The namespaces of those.
        """
        gone = [
            key
            for key, cached in self._cached.items()
            if namespace in (None, key[0]) and cached.uid not in uids and cached.resource_version <= version
        ]
        for key in gone:
            self._forget(key)
            self._on_change(*key)
        return {key[0] for key in gone}

    def _forget(self, key: NamespacedName) -> None:
        self._cached.pop(key, None)
        self._to_revalidate.discard(key)
        self._invalidate(key)
        self._versions.pop(key, None)
        self._index_digests.pop(key, None)
        self._failures.pop(key, None)
        self._queue.cancel_delayed(key)

    def _begin(self, key: NamespacedName, model: ChartRepository) -> None:
        """Look at a ChartRepository that is new here: at once, or when its last good look is older than its interval.

        After a restart, most of them need no look, and so no write.
        """
        self._invalidate(key)
        self._on_change(*key)
        if _is_asked_since_last_look(model):
            self._to_revalidate.add(key)
            self._queue.add(key)
        elif delay := _seconds_until_due(model, now=self._clock.now()):
            self._index_digests[key] = _UNKNOWN_DIGEST
            self._queue.add_after(key, delay)
        else:
            self._queue.add(key)

    def count_ready(self) -> tuple[int, int]:
        """Return how many ChartRepositories are Ready, and how many are not."""
        ready = sum(cached.ready for cached in self._cached.values())
        return ready, len(self._cached) - ready

    def reads_secrets(self, namespace: str) -> bool:
        """Return whether a ChartRepository of the namespace refers to a Secret."""
        return any(key[0] == namespace and _secret_names(cached.model) for key, cached in self._cached.items())

    def invalidate_secret(self, namespace: str, name: str) -> None:
        """Reload the repositories that refer to the Secret."""
        for key, cached in list(self._cached.items()):
            if key[0] == namespace and name in _secret_names(cached.model):
                self._reload(key)

    def repository_version(self, xapp: XApp) -> int:
        """Return a number that changes with the ChartRepository of `xapp` and the Secrets to which that refers."""
        return self._versions.get(_repository_key(xapp), 0)

    async def resolve_repository(self, xapp: XApp) -> Repository:
        """Return the repository of `xapp`'s chart, with the credentials of its ChartRepository.

        Raises:
            RepositoryNotSaved: when there is no such ChartRepository.
            IdentityConflict: when it has another URL.
            ChartSourceError: when its credentials cannot be read.
        """
        spec, key = xapp.spec, _repository_key(xapp)
        cached = self._cached.get(key)
        if cached is None:
            raise RepositoryNotSaved(f"the ChartRepository {spec.repo_name} does not exist yet")
        if cached.model.spec.url != spec.url:
            saved = display_url(Repository(url=cached.model.spec.url, namespace=key[0]).location)
            raise IdentityConflict(
                f"repoName {spec.repo_name} is saved with another url ({saved}). Use that url, or another repoName.",
                permanent=True,
            )
        return await self._load(key, cached.model)

    def find_configured_name(self, xapp: XApp) -> str | None:
        """Return the name of the ChartRepository of `xapp`'s chart if that has more than a url.

        While there is none, that is as its status says.
        """
        cached, name = self._cached.get(_repository_key(xapp)), xapp.spec.repo_name
        if cached is None:
            return name if name == xapp.status.configured_repository else None
        return name if cached.model.spec.is_configured and cached.model.spec.url == xapp.spec.url else None

    async def save_repository(self, xapp: XApp, *, was_configured: bool) -> None:
        """Create the ChartRepository of `xapp`'s chart, unless there is one.

        One that `was_configured` is not created again: without its settings, charts might no longer need signatures.

        Raises:
            ChartSourceError: when it was configured, and does not exist.
            KubeError: when the cluster refuses it.
        """
        key = _repository_key(xapp)

        async def save() -> None:
            found = None if was_configured else await self._create(key, xapp.spec.url)
            self.update(found or await self._read(key, was_configured=was_configured), deleted=False)

        if key not in self._cached:  # another XApp may have been first since this one has looked
            await self._saves.run((key, xapp.spec.url, was_configured), save)

    async def _create(self, key: NamespacedName, url: str | None) -> JsonObject | None:
        """Return the ChartRepository that this has created, or None if there is one already."""
        try:
            return await create_chart_repository(self._kube, {"url": url}, namespace=key[0], name=key[1])
        except AlreadyExists:
            return None

    async def _read(self, key: NamespacedName, *, was_configured: bool) -> JsonObject:
        try:
            return await self._kube.get(CHART_REPOSITORIES, key[1], namespace=key[0])
        except NotFound:
            if not was_configured:
                raise
            raise configured_repository_deleted(key[1]) from None

    async def run(self) -> None:
        """Keep the status of every ChartRepository up to date, for ever."""
        try:
            await Workers(self._queue, count=WORKERS).run(self._run_job)
        finally:
            await self._saves.close()

    async def _run_job(self, key: NamespacedName) -> None:
        delay: float | None = None
        try:
            delay = await self._reconcile(key)
        except XAppError as error:
            _log.warning("repository reconcile failed", namespace=key[0], name=key[1], error=error.message)
        except Exception:
            _log.exception("repository reconcile failed unexpectedly", namespace=key[0], name=key[1])
        if key not in self._cached:
            return
        if delay is None:
            self._failures[key] += 1
            interval = self._cached[key].model.spec.interval_seconds
            delay = min(self._backoff.jittered(self._failures[key]), interval)
        else:
            self._failures.pop(key, None)
        self._queue.add_after(key, delay)

    async def _reconcile(self, key: NamespacedName) -> float | None:
        """Read the index and write the status; return the seconds until the next time, None after a passing failure."""
        cached = self._cached.get(key)
        if cached is None:
            return 0.0
        now = self._clock.now()
        error: XAppError | None = None
        charts: int | None = None
        revalidate = key in self._to_revalidate
        self._to_revalidate.discard(key)
        try:
            index = await self._charts.list_charts(await self._load(key, cached.model), revalidate=revalidate)
            if index is not None:
                charts = len(index.charts)
                if self._index_digests.get(key, index.digest) != index.digest:
                    self._on_change(*key)
                self._index_digests[key] = index.digest
        except XAppError as failure:
            if key in self._cached:
                self._index_digests[key] = _UNKNOWN_DIGEST
                if revalidate and not failure.permanent:
                    self._to_revalidate.add(key)  # otherwise the next look would find the cached index
            if not isinstance(failure, ChartSourceError) and not failure.permanent:
                raise
            error = failure
        status = render_repository_status(cached.model, charts=charts, error=error, now=now)
        with contextlib.suppress(NotFound):
            written = await self._status_writer.write(cached.raw, status)
            if written is not None and key in self._cached:
                self.update(written, deleted=False)  # it may have brought a change that the watch has not shown yet
        return cached.model.spec.interval_seconds if error is None or error.permanent else None

    async def _load(self, key: NamespacedName, model: ChartRepository) -> Repository:
        is_fresh = self._secrets.is_watched(key[0]) or not _secret_names(model)
        loaded = self._loaded.get(key)
        if loaded is not None and is_fresh:
            return loaded
        invalidations = self._invalidations
        found = await load_repository(self._impersonation.client_for_namespace(key[0]), model.spec, namespace=key[0])
        if is_fresh and invalidations == self._invalidations:  # otherwise a Secret may have changed since it was read
            self._loaded[key] = found
        return found

    def _reload(self, key: NamespacedName) -> None:
        self._invalidate(key)
        self._failures.pop(key, None)
        self._queue.add(key)
        self._on_change(*key)

    def _invalidate(self, key: NamespacedName) -> None:
        self._loaded.pop(key, None)
        self._invalidations += 1
        self._versions[key] = self._invalidations


def _repository_key(xapp: XApp) -> NamespacedName:
    """Return the namespace and the name of the ChartRepository; an uploaded chart has none, and so no name of it."""
    return xapp.metadata.namespace, xapp.spec.repo_name or ""


def _secret_names(model: ChartRepository) -> frozenset[str]:
    """Return the Secrets with the credentials, the CA and the keys for signatures of a repository."""
    spec = model.spec
    keys = spec.verify.secret_ref if spec.verify is not None else None
    return frozenset(each.name for each in (spec.secret_ref, spec.ca_secret_ref, keys) if each)


def _seconds_until_due(model: ChartRepository, *, now: float) -> float:
    """Return in how many seconds the repository is to be looked at, when nothing but its stored status is known."""
    status = model.status
    if status.last_fetched is None or not _is_repository_ready(model):
        return 0.0
    age = now - status.last_fetched.timestamp()
    if age < 0:  # a time in the future is of a clock that jumped
        return 0.0
    return max(0.0, model.spec.interval_seconds - age)


def _is_repository_ready(model: ChartRepository) -> bool:
    """Return whether a ChartRepository is Ready as of its current generation."""
    return any(
        each.type == READY and each.status == "True" and each.observed_generation == model.metadata.generation
        for each in model.status.conditions or ()
    )


def _is_asked_since_last_look(model: ChartRepository) -> bool:
    """Return whether the annotation may be newer than the stored status: it may, unless it is a time before that."""
    asked, looked = _reconcile_at(model), model.status.last_fetched
    if not asked:
        return False
    try:
        return looked is None or datetime.fromisoformat(asked) >= looked
    except (ValueError, TypeError):  # any text will do; a time without a zone cannot be compared
        return True


def _reconcile_at(model: ChartRepository) -> str:
    """Return the text by which somebody asks for a new look at the repository; each new one counts once."""
    return model.metadata.annotations.get(ANNOTATION_RECONCILE_AT, "")
