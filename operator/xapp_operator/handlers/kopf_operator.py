"""Runs kopf: its settings and its handlers, of at most ten lines each.

Only `handlers` and `entry_point` import kopf. It handles the events of one object one after the other, so no handler
waits for helm: it stores and queues. The delete handler alone waits, at most 5 s per call, so that a later edit can
still rescue a stuck deletion. kopf writes the finalizer, but gives up when that is refused: `reconcile.finalizers` does
not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, cast

import kopf

from xapp_operator.api.json import JsonObject
from xapp_operator.api.names import FIELD_MANAGER, FINALIZER, GROUP, REPOSITORY_PLURAL, VERSION, XAPP_PLURAL
from xapp_operator.config.settings import Settings
from xapp_operator.handlers.kopf_connections import KopfConnections, ListedObjects
from xapp_operator.reconcile.runtime import OperatorRuntime

DELETE_WAIT_SECONDS: Final = 5.0
DELETE_RETRY_SECONDS: Final = 1.0
SERVER_TIMEOUT_SECONDS: Final = 300
CLIENT_TIMEOUT_SECONDS: Final = 330
INACTIVITY_TIMEOUT_SECONDS: Final = 90.0
CONNECT_TIMEOUT_SECONDS: Final = 10.0
REQUEST_TIMEOUT_SECONDS: Final = 30.0
EXIT_TIMEOUT_SECONDS: Final = 0.5
REQUEST_RETRY_SECONDS: Final = (1, 1, 2, 3, 5, 8, 13, 21)
"""After these pauses, kopf sends a request again. Meanwhile it passes on no event of the object that it is about."""
ERROR_PAUSES_SECONDS: Final = (1, 2, 5, 10, 30)
"""After errors in a row of one object, kopf passes on none of its events for so long, in the end 30 s each time."""


class _ConstantDiffBaseStorage(kopf.DiffBaseStorage):
    """A storage in which every object looks unchanged since it was last handled.

    kopf's own annotation holds the whole spec and breaks at 256 KiB of annotations. The operator is level-triggered and
    needs no differences, so the stored essence is a constant. kopf then sees neither creations nor updates to handle
    and writes no annotation; events and deletions still come.
    """

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        return kopf.BodyEssence()

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        pass


def build_registry(runtime: OperatorRuntime) -> kopf.OperatorRegistry:
    """Return the registry with all handlers for `runtime`."""
    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry)
    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        _configure_kopf(settings)

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        connection = await runtime.kube.credentials.connection()
        return kopf.ConnectionInfo(
            server=connection.server,
            token=connection.token,
            ca_data=connection.ca_data,
            certificate_data=connection.certificate_data,
            private_key_data=connection.private_key_data,
            insecure=connection.insecure,
            proxy_url=connection.proxy,
        )

    @kopf.on.event(GROUP, VERSION, XAPP_PLURAL, registry=registry)
    async def xapp_event(event: kopf.RawEvent, **_: Any) -> None:
        body = cast("JsonObject", dict(event["object"]))
        if event["type"] == "DELETED":
            runtime.delete_xapp(body)
        else:
            runtime.update_xapp(body)

    @kopf.on.event(GROUP, VERSION, REPOSITORY_PLURAL, registry=registry)
    async def repository_event(event: kopf.RawEvent, **_: Any) -> None:
        runtime.update_repository(cast("JsonObject", dict(event["object"])), deleted=event["type"] == "DELETED")

    @kopf.on.delete(GROUP, VERSION, XAPP_PLURAL, registry=registry)
    async def xapp_deleted(body: kopf.Body, **_: Any) -> None:
        if not await runtime.wait_removed(cast("JsonObject", dict(body)), seconds=DELETE_WAIT_SECONDS):
            raise kopf.TemporaryError("the release is still being uninstalled", delay=DELETE_RETRY_SECONDS)

    return registry


async def run_operator(runtime: OperatorRuntime, settings: Settings, *, on_started: Callable[[], None]) -> None:
    """Run kopf on the current loop until it is cancelled.

    `kopf.operator` is not used, because its stop takes every task on the loop that is younger than itself for its own:
    it waits 5 s for the tasks of the reconciler, and then raises an error of one of them as its own.

    Args:
        runtime: receives the events.
        settings: of this process.
        on_started: called when kopf has installed its signal handlers, so that others can replace them.

    Raises:
        Exception: of the first task of kopf that failed.
    """
    _quiet_kopf_logs()

    def keep_listed(listed: ListedObjects) -> None:
        runtime.keep_listed(listed.plural, listed.namespace, listed.uids, version=listed.version)

    connections = KopfConnections(keep_listed)
    tasks = await kopf.spawn_tasks(
        registry=build_registry(runtime),
        standalone=True,
        clusterwide=not settings.namespaces,
        namespaces=cast("Sequence[str]", settings.namespaces),
        vault=connections,
    )
    on_started()
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        await _cancel(tasks)
        # Requests of a discovery that was cancelled go on without it.
        await _cancel([task for task in asyncio.all_tasks() if _runs_kopf(task)])
        await connections.close_at_end()


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _runs_kopf(task: asyncio.Task[Any]) -> bool:
    frame = getattr(task.get_coro(), "cr_frame", None)
    return frame is not None and str(frame.f_globals["__name__"]).startswith("kopf.")


def _quiet_kopf_logs() -> None:
    """Log only what is wrong: kopf logs every event, and reports a deletion that takes a while as an error."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    logging.getLogger("kopf.objects").addFilter(lambda record: "failed temporarily" not in record.getMessage())


def _configure_kopf(settings: kopf.OperatorSettings) -> None:
    settings.persistence.finalizer = FINALIZER
    settings.persistence.diffbase_storage = _ConstantDiffBaseStorage()
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP)
    settings.posting.enabled = False
    settings.posting.reporting_component = FIELD_MANAGER
    settings.watching.server_timeout = SERVER_TIMEOUT_SECONDS
    settings.watching.client_timeout = CLIENT_TIMEOUT_SECONDS
    settings.watching.connect_timeout = CONNECT_TIMEOUT_SECONDS
    settings.watching.inactivity_timeout = INACTIVITY_TIMEOUT_SECONDS
    settings.networking.request_timeout = REQUEST_TIMEOUT_SECONDS
    settings.networking.connect_timeout = CONNECT_TIMEOUT_SECONDS
    settings.networking.error_backoffs = REQUEST_RETRY_SECONDS
    settings.queueing.error_delays = ERROR_PAUSES_SECONDS
    settings.scanning.disabled = True
    settings.queueing.exit_timeout = EXIT_TIMEOUT_SECONDS
