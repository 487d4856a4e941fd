"""ChartRepositories: what is saved, its credentials when they are needed, and its status.

Lives in `reconcile`. The charts and versions themselves are in the index cache of `charts`; here is only who may be
asked, how, and how often.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from xapp_operator.api.chart_repository import ChartRepository, ChartRepositoryStatus
from xapp_operator.api.conditions import READY, RECONCILING, STALLED, ConditionSet, Reason
from xapp_operator.api.json import JsonObject
from xapp_operator.api.models import XApp
from xapp_operator.api.names import API_VERSION, REPOSITORY_KIND
from xapp_operator.charts.chart_request import Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.repository_loader import load_repository
from xapp_operator.errors import AlreadyExists, ChartSourceError, IdentityConflict, NotFound, XAppError
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES
from xapp_operator.kube.status_writer import StatusWriter
from xapp_operator.reconcile.impersonation import Impersonation
from xapp_operator.reconcile.status_draft import utc
from xapp_operator.reconcile.work_queue import NamespacedName, WorkQueue
from xapp_operator.telemetry.logs import get_logger

RETRY_SECONDS: Final = 5.0

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _CachedRepository:
    raw: JsonObject
    model: ChartRepository


class RepositoryReconciler:
    """Saved repositories; `on_change` gets (namespace, name) when one, or its index, is another than before."""

    def __init__(
        self,
        kube: KubeClient,
        *,
        charts: ChartSources,
        identities: Impersonation,
        on_change: Callable[[str, str], None],
    ) -> None:
        self._kube = kube
        self._charts = charts
        self._identities = identities
        self._on_change = on_change
        self._status = StatusWriter(kube)
        self._queue = WorkQueue()
        self._known: dict[NamespacedName, _CachedRepository] = {}
        self._reached: dict[NamespacedName, Repository] = {}
        self._changes = 0  # counts what makes `_reached` untrue
        self._indexes: dict[NamespacedName, str] = {}

    def update(self, raw: JsonObject, *, deleted: bool) -> None:
        """Note a ChartRepository as the watch shows it."""
        model = ChartRepository.model_validate(raw)
        key = model.key
        before = self._known.get(key)
        if deleted:
            self._known.pop(key, None)
            self._invalidate(key)
            self._indexes.pop(key, None)
            self._queue.cancel_delayed(key)
            return
        self._known[key] = _CachedRepository(raw, model)
        if before is None or before.model.spec != model.spec:
            self._invalidate(key)
            self._queue.add(key)
            self._on_change(*key)

    def invalidate_secret(self, namespace: str, name: str) -> None:
        """Read credentials anew where a repository names the Secret."""
        for key, known in list(self._known.items()):
            spec = known.model.spec
            named = {reference.name for reference in (spec.secret_ref, spec.ca_secret_ref) if reference}
            if key[0] == namespace and name in named:
                self._invalidate(key)
                self._queue.add(key)
                self._on_change(*key)

    def _invalidate(self, key: NamespacedName) -> None:
        self._reached.pop(key, None)
        self._changes += 1

    async def resolve_repository(self, xapp: XApp) -> Repository:
        """Return the address of `xapp`'s chart with the credentials of its saved repository, which is made if missing.

        Raises:
            IdentityConflict: when the name is saved with another address.
            ChartSourceError: when its credentials cannot be read.
        """
        spec = xapp.spec
        if spec.url is None or spec.repo_name is None:
            raise ValueError("only remote charts have a repository")
        key = (xapp.metadata.namespace, spec.repo_name)
        known = self._known.get(key)
        if known is None:
            await self._create(key, spec.url)
            known = self._known[key]
        if known.model.spec.url != spec.url:
            raise IdentityConflict(
                f"repoName {spec.repo_name} is saved with another url ({known.model.spec.url}): use that url, or "
                "another repoName",
                permanent=True,
            )
        return await self._with_credentials(key, known.model)

    async def run_worker(self) -> None:
        """Keep the status of every repository up to date, for ever."""
        while True:
            key = await self._queue.get()
            delay = RETRY_SECONDS
            try:
                delay = await self._refresh(key)
            except XAppError as error:
                _log.warning("repository reconcile failed", namespace=key[0], name=key[1], error=error.message)
            except Exception:
                _log.exception("repository reconcile failed unexpectedly", namespace=key[0], name=key[1])
            finally:
                self._queue.done(key)
            if key in self._known:
                self._queue.add_after(key, delay)

    async def _create(self, key: NamespacedName, url: str) -> None:
        body: JsonObject = {
            "apiVersion": API_VERSION,
            "kind": REPOSITORY_KIND,
            "metadata": {"name": key[1], "namespace": key[0]},
            "spec": {"url": url},
        }
        try:
            made = await self._kube.create(CHART_REPOSITORIES, body)
        except AlreadyExists:
            made = await self._kube.get(CHART_REPOSITORIES, key[1], namespace=key[0])
        self.update(made, deleted=False)

    async def _refresh(self, key: NamespacedName) -> float:
        """Look at the index and write the status; return when to look again, in seconds."""
        known = self._known.get(key)
        if known is None:
            return 0.0
        now = time.time()
        problem: XAppError | None = None
        charts: int | None = None
        try:
            repository = await self._with_credentials(key, known.model)
            index = await self._charts.list_charts(repository)
            if index is not None:
                charts = len(index.charts)
                if self._indexes.get(key, index.digest) != index.digest:
                    self._on_change(*key)
                self._indexes[key] = index.digest
        except XAppError as error:
            if not isinstance(error, ChartSourceError) and not error.permanent:
                raise
            problem = error
        await self._write_status(known, charts=charts, problem=problem, now=now)
        return known.model.spec.interval_seconds

    async def _write_status(
        self, known: _CachedRepository, *, charts: int | None, problem: XAppError | None, now: float
    ) -> None:
        model = known.model
        conditions = ConditionSet(model.status.conditions or (), generation=model.metadata.generation, now=utc(now))
        conditions.remove(RECONCILING, STALLED)
        if problem is None:
            message = "a registry has no index" if charts is None else f"the index lists {charts} charts"
            conditions.set(READY, status=True, reason="Fetched", message=message)
        else:
            reason = problem.reason or Reason.CHART_PULL_FAILED
            conditions.set(READY, status=False, reason=reason, message=problem.message)
            kind = STALLED if problem.permanent else RECONCILING
            conditions.set(kind, status=True, reason=reason, message=problem.message)
        status = ChartRepositoryStatus(
            observed_generation=model.metadata.generation,
            charts=charts if problem is None else model.status.charts,
            last_fetched=utc(now) if problem is None else model.status.last_fetched,
            conditions=conditions.to_list(),
        )
        try:
            written = await self._status.write(
                known.raw, cast("JsonObject", status.model_dump(mode="json", by_alias=True, exclude_none=True))
            )
        except NotFound:
            return
        if written is not None and model.key in self._known:
            self._known[model.key] = _CachedRepository(written, ChartRepository.model_validate(written))

    async def _with_credentials(self, key: NamespacedName, model: ChartRepository) -> Repository:
        known = self._reached.get(key)
        if known is not None:
            return known
        changes = self._changes
        found = await load_repository(self._identities.client_for_namespace(key[0]), model.spec, namespace=key[0])
        if changes == self._changes:  # otherwise a Secret may have changed since it was read
            self._reached[key] = found
        return found
