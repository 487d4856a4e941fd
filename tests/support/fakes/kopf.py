"""kopf as far as the operator uses it: what it does for the handlers of `xapp_operator.handlers.kopf_operator`."""

from __future__ import annotations

import asyncio

from tests.support.fakes.json_patch import Json
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import FINALIZER
from xapp_operator.errors import Invalid, KubeError, NotFound
from xapp_operator.handlers import kopf_operator
from xapp_operator.handlers.kopf_operator import DELETE_RETRY_SECONDS, DELETE_WAIT_SECONDS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, XAPPS
from xapp_operator.reconcile.runtime import OperatorRuntime


class KopfStandIn:
    """Does what kopf does for `handlers`: one event of an object after the other, the finalizer, the delete handler.

    As kopf does, it forgets a write of the finalizer that was refused for some time, until the object changes again.
    Unlike kopf, it does not note in an annotation that a removal was tried.
    """

    def __init__(self, kube: KubeClient, runtime: OperatorRuntime) -> None:
        self._kube = kube
        self._runtime = runtime
        self._events: dict[str, asyncio.Queue[tuple[str, Json]]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        self._tasks.append(asyncio.create_task(self._watch_repositories(), name="kopf"))
        async for event in self._kube.watch(XAPPS, initial_events=True):
            if event.type == "BOOKMARK":
                continue
            uid = text(obj(event.object, "metadata"), "uid")
            if uid not in self._events:
                self._events[uid] = asyncio.Queue()
                self._tasks.append(asyncio.create_task(self._handle(self._events[uid]), name="kopf"))
            self._events[uid].put_nowait((event.type, event.object))

    async def _watch_repositories(self) -> None:
        async for event in self._kube.watch(CHART_REPOSITORIES, initial_events=True):
            if event.type != "BOOKMARK":
                self._runtime.update_repository(event.object, deleted=event.type == "DELETED")

    async def stop(self) -> None:
        """End what handles the events; `run` must have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _handle(self, events: asyncio.Queue[tuple[str, Json]]) -> None:
        errors = 0
        kind, body = await events.get()
        while True:
            while not events.empty():
                kind, body = events.get_nowait()
            try:
                delay = await self._handle_one(kind, body)
            except KubeError:
                pauses = kopf_operator.ERROR_PAUSES_SECONDS
                await asyncio.sleep(pauses[min(errors, len(pauses) - 1)])
                errors, delay = errors + 1, None
            else:
                errors = 0
            if kind == "DELETED":
                return
            try:
                async with asyncio.timeout(delay):
                    kind, body = await events.get()
            except TimeoutError:
                continue

    async def _handle_one(self, kind: str, body: Json) -> float | None:
        """Handle an event; return the seconds until the object is handled again."""
        if kind == "DELETED":
            self._runtime.delete_xapp(body)
            return None
        self._runtime.update_xapp(body)
        metadata = body["metadata"]
        finalizers = metadata.get("finalizers", [])
        if "deletionTimestamp" not in metadata:
            if FINALIZER not in finalizers:
                await self._set_finalizers(metadata, [*finalizers, FINALIZER])
            return None
        if FINALIZER not in finalizers:
            return None
        if not await self._runtime.wait_removed(body, seconds=DELETE_WAIT_SECONDS):
            return DELETE_RETRY_SECONDS
        await self._set_finalizers(metadata, [each for each in finalizers if each != FINALIZER])
        return None

    async def _set_finalizers(self, metadata: Json, finalizers: list[str]) -> None:
        change: JsonObject = {"metadata": {"finalizers": [*finalizers]}}
        for pause in (*kopf_operator.REQUEST_RETRY_SECONDS, None):
            try:
                await self._kube.patch(XAPPS, metadata["name"], change, namespace=metadata["namespace"])
            except (Invalid, NotFound):
                return  # kopf takes 422 for a conflict, after which there is another event
            except KubeError:
                if pause is None:
                    raise
                await asyncio.sleep(pause)
            else:
                return
