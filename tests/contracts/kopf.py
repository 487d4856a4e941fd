"""What the operator relies on in kopf: which methods of the runtime it calls, and what it does with the finalizer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.support.eventually import eventually, eventually_async
from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.api.names import FINALIZER
from xapp_operator.errors import NotFound
from xapp_operator.handlers import kopf_operator
from xapp_operator.handlers.kopf_operator import DELETE_WAIT_SECONDS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS

HELD: Final = "example.com/held"
"""A finalizer of somebody else."""
SHORT_RETRY_SECONDS: Final = (0.2, 0.2)


def name_of(body: JsonObject) -> str:
    return text(obj(body, "metadata"), "name")


def finalizers_of(body: JsonObject) -> list[Json]:
    found = obj(body, "metadata").get("finalizers", [])
    assert isinstance(found, list)
    return found


@dataclass
class RecordingRuntime:
    """The part of `OperatorRuntime` that kopf calls. It notes the calls, and has no releases."""

    kube: KubeClient
    updates: list[JsonObject] = field(default_factory=list)
    deletions: list[JsonObject] = field(default_factory=list)
    removals: list[JsonObject] = field(default_factory=list)
    """What `wait_removed` was called with."""
    is_removed: bool = False
    """What `wait_removed` returns, except for what is `kept`."""
    kept: str = ""
    """The name of an XApp whose release is never removed."""
    may_return: asyncio.Event = field(default_factory=asyncio.Event)
    """`wait_removed` waits for it."""

    def __post_init__(self) -> None:
        self.may_return.set()

    def update_xapp(self, body: JsonObject) -> None:
        self.updates.append(body)

    def delete_xapp(self, body: JsonObject) -> None:
        self.deletions.append(body)

    def update_repository(self, body: JsonObject, *, deleted: bool) -> None:
        """Nobody creates one here."""

    def keep_listed(self, plural: str, namespace: str | None, uids: Collection[str], *, version: int) -> None:
        """Nothing is kept here."""

    async def wait_removed(self, body: JsonObject, *, seconds: float) -> bool:
        assert seconds == DELETE_WAIT_SECONDS
        self.removals.append(body)
        await self.may_return.wait()
        return self.is_removed and name_of(body) != self.kept

    async def wait_attempts(self, count: int) -> None:
        """Wait for attempts to remove the XApp that is kept: there is one about every second."""
        until = self._attempts() + count
        await eventually(lambda: self._attempts() >= until, what="more attempts")

    def _attempts(self) -> int:
        return sum(name_of(each) == self.kept for each in self.removals)

    def newest(self, name: str) -> JsonObject:
        """Return the last body of an XApp, or nothing."""
        return next((each for each in reversed(self.updates) if name_of(each) == name), {})


StartKopf = Callable[[RecordingRuntime], AbstractAsyncContextManager[None]]
"""Runs kopf, or its stand-in, until the end of the block."""
RefuseFinalizers = Callable[[int], AbstractAsyncContextManager[None]]
"""Refuses, until the end of the block, each change of the finalizers of an XApp of the namespace with this status."""


class KopfContract:
    """`kube` is a client, `namespace` a namespace of its own, whose XApps `start_kopf` handles."""

    async def test_each_change_of_an_xapp_is_told(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        created = await xapps.create("early")
        async with start_kopf(runtime):
            await eventually(lambda: runtime.newest("early"), what="the XApp that was there before")
            assert obj(runtime.newest("early"), "spec") == obj(created, "spec")

            await xapps.create("late")
            await eventually(lambda: runtime.newest("late"), what="the new XApp")
            await kube.patch(XAPPS, "late", {"spec": {"owner": "joe"}}, namespace=namespace)
            await eventually(lambda: obj(runtime.newest("late"), "spec").get("owner") == "joe", what="the new spec")
            assert obj(runtime.newest("late"), "metadata")["generation"] == 2
            status: JsonObject = {"status": {"phase": "Deployed"}}
            await kube.patch(XAPPS, "late", status, namespace=namespace, subresource="status")
            await eventually(
                lambda: obj(runtime.newest("late"), "status").get("phase") == "Deployed", what="the new status"
            )
        assert (runtime.deletions, runtime.removals) == ([], [])

    async def test_the_finalizer_is_added_to_those_of_others_whenever_it_is_missing(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        async with start_kopf(runtime):
            await xapps.create("a", finalizers=[HELD])
            await xapps.wait_finalizers("a", [HELD, FINALIZER])
            await eventually(lambda: FINALIZER in finalizers_of(runtime.newest("a")), what="the change to be told")

            await xapps.set_finalizers("a", [])

            await xapps.wait_finalizers("a", [FINALIZER])

    async def test_an_xapp_that_is_deleted_stays_until_its_release_is_removed(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        async with start_kopf(runtime):
            created = await xapps.create("a")
            await xapps.wait_finalizers("a", [FINALIZER])

            await kube.delete(XAPPS, "a", namespace=namespace)

            await eventually(lambda: len(runtime.removals) > 1, what="another attempt")
            assert all(text(obj(each, "metadata"), "deletionTimestamp") for each in runtime.removals)
            assert text(obj(runtime.newest("a"), "metadata"), "deletionTimestamp")
            assert (await xapps.finalizers("a"), runtime.deletions) == ([FINALIZER], [])

            runtime.is_removed = True

            await eventually(lambda: runtime.deletions, what="the end of the XApp to be told")
            assert await xapps.is_gone("a")
            assert [obj(each, "metadata")["uid"] for each in runtime.deletions] == [obj(created, "metadata")["uid"]]

    async def test_a_deletion_that_began_earlier_is_finished(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube, is_removed=True)
        await xapps.create("a", finalizers=[FINALIZER, HELD])
        await kube.delete(XAPPS, "a", namespace=namespace)
        async with start_kopf(runtime):
            await xapps.wait_finalizers("a", [HELD])
            await eventually(lambda: finalizers_of(runtime.newest("a")) == [HELD], what="the change to be told")
            assert (len(runtime.removals), runtime.deletions) == (1, [])

            await xapps.set_finalizers("a", [])

            await eventually(lambda: runtime.deletions, what="the end of the XApp to be told")
            assert len(runtime.removals) == 1

    async def test_an_edit_of_an_xapp_that_is_deleted_reaches_the_next_attempt(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        async with start_kopf(runtime):
            await xapps.begin_deletion("a", runtime)

            await kube.patch(XAPPS, "a", {"spec": {"deletionPolicy": "Orphan"}}, namespace=namespace)

            await eventually(
                lambda: obj(runtime.removals[-1], "spec").get("deletionPolicy") == "Orphan", what="the new spec"
            )
            runtime.is_removed = True
            await eventually(lambda: runtime.deletions, what="the end of the XApp to be told")

    async def test_an_xapp_whose_finalizer_is_taken_away_is_gone(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        async with start_kopf(runtime):
            await xapps.begin_deletion("a", runtime)

            await xapps.set_finalizers("a", [])

            await eventually(lambda: runtime.deletions, what="the end of the XApp to be told")

    async def test_one_xapp_is_handled_after_the_other_only_if_it_is_the_same(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        runtime.may_return.clear()
        async with start_kopf(runtime):
            await xapps.begin_deletion("a", runtime)

            await kube.patch(XAPPS, "a", {"spec": {"owner": "joe"}}, namespace=namespace)
            await xapps.create("b")

            await eventually(lambda: runtime.newest("b"), what="the other XApp")
            assert (len(runtime.removals), obj(runtime.newest("a"), "spec")["owner"]) == (1, "jane")
            runtime.is_removed = True
            runtime.may_return.set()
            await eventually(lambda: runtime.deletions, what="the end of the first one to be told")

    @pytest.fixture(params=[403, 422])
    def code(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
        """Return the status of a refusal; kopf sends what is refused again, but soon, and not after 422."""
        code: int = request.param
        if code != 422:
            monkeypatch.setattr(kopf_operator, "REQUEST_RETRY_SECONDS", SHORT_RETRY_SECONDS)
        return code

    async def test_a_finalizer_that_cannot_be_added_is_forgotten_until_the_next_change(
        self,
        kube: KubeClient,
        namespace: str,
        start_kopf: StartKopf,
        *,
        refuse_finalizers: RefuseFinalizers,
        code: int,
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube, kept="kept")
        async with start_kopf(runtime):
            await xapps.begin_deletion("kept", runtime)
            async with refuse_finalizers(code):
                await xapps.create("a")
                await eventually(lambda: runtime.newest("a"), what="the XApp")
                await runtime.wait_attempts(2)

            await runtime.wait_attempts(2)
            assert await xapps.finalizers("a") == []

            await kube.patch(XAPPS, "a", {"spec": {"owner": "joe"}}, namespace=namespace)
            await xapps.wait_finalizers("a", [FINALIZER])

    async def test_a_finalizer_that_cannot_be_removed_is_forgotten_until_the_next_change(
        self,
        kube: KubeClient,
        namespace: str,
        start_kopf: StartKopf,
        *,
        refuse_finalizers: RefuseFinalizers,
        code: int,
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube, kept="kept", is_removed=True)
        async with start_kopf(runtime):
            await xapps.begin_deletion("kept", runtime)
            await xapps.create("a")
            await xapps.wait_finalizers("a", [FINALIZER])
            async with refuse_finalizers(code):
                await kube.delete(XAPPS, "a", namespace=namespace)
                await eventually(lambda: "a" in map(name_of, runtime.removals), what="the attempt to remove it")
                await runtime.wait_attempts(2)

            await runtime.wait_attempts(2)
            assert await xapps.finalizers("a") == [FINALIZER]

            await kube.patch(XAPPS, "a", {"spec": {"owner": "joe"}}, namespace=namespace)
            await eventually(lambda: runtime.deletions, what="the end of the XApp to be told")

    async def test_a_finalizer_that_is_refused_for_a_moment_is_added_without_another_change(
        self, kube: KubeClient, namespace: str, start_kopf: StartKopf, refuse_finalizers: RefuseFinalizers
    ) -> None:
        xapps, runtime = _XApps(kube, namespace), RecordingRuntime(kube)
        async with start_kopf(runtime):
            async with refuse_finalizers(403):
                await xapps.create("a")
                await eventually(lambda: runtime.newest("a"), what="the XApp")
            await xapps.wait_finalizers("a", [FINALIZER])


@dataclass(frozen=True, slots=True)
class _XApps:
    kube: KubeClient
    namespace: str

    async def create(self, name: str, *, finalizers: list[str] | None = None) -> JsonObject:
        body = xapp_manifest(name, namespace=self.namespace)
        body["metadata"]["finalizers"] = finalizers or []
        return await self.kube.create(XAPPS, body, namespace=self.namespace)

    async def finalizers(self, name: str) -> list[Json]:
        return finalizers_of(await self.kube.get(XAPPS, name, namespace=self.namespace))

    async def set_finalizers(self, name: str, finalizers: list[str]) -> None:
        change: JsonObject = {"metadata": {"finalizers": [*finalizers]}}
        await self.kube.patch(XAPPS, name, change, namespace=self.namespace)

    async def wait_finalizers(self, name: str, finalizers: list[str]) -> None:
        async def are_so() -> bool:
            return await self.finalizers(name) == finalizers

        await eventually_async(are_so, what=f"the finalizers {finalizers}")

    async def begin_deletion(self, name: str, runtime: RecordingRuntime) -> None:
        """Create an XApp and delete it; return at the first attempt to remove its release."""
        await self.create(name)
        await self.wait_finalizers(name, [FINALIZER])
        await self.kube.delete(XAPPS, name, namespace=self.namespace)
        await eventually(lambda: runtime.removals, what="the first attempt")

    async def is_gone(self, name: str) -> bool:
        try:
            await self.kube.get(XAPPS, name, namespace=self.namespace)
        except NotFound:
            return True
        return False
