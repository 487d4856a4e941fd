"""kopf goes on with objects that are nested deeper than Python can decode or copy, and changes nothing in them.

Its lists are reported, because it does not tell what is gone when it has listed again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from tests.support.eventually import eventually
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import FINALIZER, GROUP, REPOSITORY_PLURAL, VERSION, XAPP_PLURAL
from xapp_operator.config.settings import Settings
from xapp_operator.domain.bounded_json import LEVELS_MAX
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, deeper_than
from xapp_operator.handlers.kopf_connections import ListedObjects, _listed_objects
from xapp_operator.handlers.kopf_operator import run_operator
from xapp_operator.kube.credentials import ConnectionInfo
from xapp_operator.reconcile.runtime import OperatorRuntime

API_VERSION = f"{GROUP}/{VERSION}"
KINDS = {XAPP_PLURAL: "XApp", REPOSITORY_PLURAL: "ChartRepository"}
TOKEN = "secret-token"
WAIT_SECONDS = 30
LEVELS = [90, 600, 1_500, 9_000]


def object_text(name: str, levels: int, *, deleted: bool = False, kind: str = "XApp") -> str:
    metadata: dict[str, Any] = {"name": name, "namespace": "ran", "uid": f"uid-{name}", "resourceVersion": "1"}
    if deleted:
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FINALIZER]}
        metadata["annotations"] = {f"{GROUP}/kopf-managed": "yes"}
    whole = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": {"values": "VALUES"}}
    return json.dumps(whole).replace('"VALUES"', '{"a":' * levels + "1" + "}" * levels)


class DeepApiServer:
    """Serves one list and one watch of each kind, and records what is patched."""

    def __init__(self) -> None:
        self.listed: dict[str, list[str]] = {plural: [] for plural in KINDS}
        self.watched: dict[str, list[str]] = {plural: [] for plural in KINDS}
        self.too_old: set[str] = set()
        """The kinds whose next watch gets 410; from then on, nothing of them is listed."""
        self.patches: dict[str, list[JsonObject]] = {}
        self.tokens: set[str] = set()
        self.patched = asyncio.Event()
        self.refusal: dict[str, Any] | None = None
        """The response to the next patch."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        application = web.Application()
        for path in ("/api", "/apis", "/api/v1", f"/apis/{API_VERSION}"):
            application.router.add_get(path, self._discover)
        application.router.add_get(f"/apis/{API_VERSION}/{{plural}}", self._list_or_watch)
        application.router.add_patch(f"/apis/{API_VERSION}/namespaces/ran/{{plural}}/{{name}}", self._patch)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def _discover(self, request: web.Request) -> web.Response:
        version = {"groupVersion": API_VERSION, "version": VERSION}
        kinds = {"namespaces": "Namespace"} if request.path == "/api/v1" else KINDS
        resources = [
            {
                "name": plural,
                "singularName": kind.lower(),
                "kind": kind,
                "namespaced": kind != "Namespace",
                "verbs": ["list", "watch", "patch"],
            }
            for plural, kind in kinds.items()
        ]
        groups = [{"name": GROUP, "preferredVersion": version, "versions": [version]}]
        return web.json_response({"versions": ["v1"], "groups": groups, "resources": resources})

    async def _list_or_watch(self, request: web.Request) -> web.StreamResponse:
        self.tokens.add(request.headers.get("Authorization", ""))
        plural = request.match_info["plural"]
        if "watch" not in request.query:
            body = f'{{"metadata":{{"resourceVersion":"1"}},"items":[{",".join(self.listed[plural])}]}}'
            return web.Response(text=body, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if plural in self.too_old:
            self.too_old.remove(plural)
            self.listed[plural].clear()
            await response.write(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')
            return response
        for each in self.watched[plural]:
            # In pieces, as a network delivers it.
            line = f'{{"type":"ADDED","object":{each}}}\n'.encode()
            for start in range(0, len(line), 1_000):
                await response.write(line[start : start + 1_000])
        await asyncio.Event().wait()
        raise AssertionError

    async def _patch(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.patches.setdefault(name, []).extend(json.loads(await request.text()))
        self.patched.set()
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            return web.json_response(refusal, status=refusal["code"])
        levels = int(name.split("-")[-1])
        return web.Response(text=object_text(name, levels), content_type="application/json")


class Runtime:
    """What kopf needs of a runtime; it records the bodies that it gets."""

    def __init__(self, server: str) -> None:
        self.bodies: dict[str, JsonObject] = {}
        self.lists: list[tuple[str, str | None, set[str], int]] = []
        self.came = asyncio.Event()
        self.kube = SimpleNamespace(credentials=SimpleNamespace(connection=self._connection))
        self._server = server

    async def _connection(self) -> ConnectionInfo:
        return ConnectionInfo(
            server=self._server,
            token=TOKEN,
            ca_data=None,
            certificate_data=None,
            private_key_data=None,
            insecure=True,
            proxy=None,
        )

    def update_xapp(self, body: JsonObject) -> None:
        self.bodies[text(obj(body, "metadata"), "name")] = body
        self.came.set()

    def update_repository(self, body: JsonObject, *, deleted: bool) -> None:
        assert not deleted
        self.update_xapp(body)

    def keep_listed(self, plural: str, namespace: str | None, uids: Collection[str], *, version: int) -> None:
        self.lists.append((plural, namespace, set(uids), version))
        self.came.set()

    async def wait_removed(self, body: JsonObject, *, seconds: float) -> bool:
        self.update_xapp(body)
        return True


@asynccontextmanager
async def running_kopf(runtime: Runtime) -> AsyncIterator[asyncio.Task[None]]:
    operator = asyncio.create_task(
        run_operator(cast("OperatorRuntime", runtime), Settings(), on_started=lambda: None), name="operator"
    )
    try:
        yield operator
    finally:
        operator.cancel()
        await asyncio.wait([operator])


async def run_until(runtime: Runtime, api: DeepApiServer, *, names: set[str], patched: set[str]) -> None:
    """Run kopf until the handlers got all `names` and the API server patches for all `patched`."""
    async with running_kopf(runtime) as operator, asyncio.timeout(WAIT_SECONDS):
        while not (names <= runtime.bodies.keys() and patched <= api.patches.keys()):
            waits = [asyncio.create_task(event.wait()) for event in (runtime.came, api.patched)]
            done, _ = await asyncio.wait([*waits, operator], return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
            assert operator not in done, "kopf has ended"
            runtime.came.clear()
            api.patched.clear()


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("how", ["listed", "watched"])
async def test_deep_objects_get_the_finalizer_and_nothing_else(
    how: str, levels: int, caplog: pytest.LogCaptureFixture
) -> None:
    api = DeepApiServer()
    deep, other = f"deep-{levels}", "other-1"
    repository = f"repository-{levels}"
    found: dict[str, list[str]] = getattr(api, how)
    found[XAPP_PLURAL] += [object_text(deep, levels), object_text(other, 1)]
    found[REPOSITORY_PLURAL].append(object_text(repository, levels, kind="ChartRepository"))
    async with api.serve() as server:
        runtime = Runtime(server)
        await run_until(runtime, api, names={deep, other, repository}, patched={deep, other})

    for name in (deep, other):
        assert [op for op in api.patches[name] if op["op"] != "test"] == [
            {"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}
        ]
    for name in (deep, repository):
        values = obj(obj(runtime.bodies[name], "spec"), "values")
        assert deeper_than(values, MAX_DEPTH) == (levels > MAX_DEPTH)  # so that it is refused
        assert not deeper_than(runtime.bodies[name], LEVELS_MAX)
    assert api.tokens == {f"Bearer {TOKEN}"}
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("levels", LEVELS)
async def test_deep_objects_that_are_deleted_lose_the_finalizer(levels: int) -> None:
    api, name = DeepApiServer(), f"deep-{levels}"
    api.listed[XAPP_PLURAL].append(object_text(name, levels, deleted=True))
    async with api.serve() as server:
        await run_until(Runtime(server), api, names={name}, patched={name})
    assert [op for op in api.patches[name] if op["op"] != "test"] == [{"op": "remove", "path": "/metadata/finalizers"}]


@pytest.mark.parametrize("plural", KINDS)
async def test_what_is_listed_again_after_410_is_reported(plural: str) -> None:
    api = DeepApiServer()
    api.listed[plural].append(object_text("one-1", 1, kind=KINDS[plural]))
    api.too_old.add(plural)
    async with api.serve() as server:
        runtime = Runtime(server)
        async with running_kopf(runtime), asyncio.timeout(WAIT_SECONDS):
            while len(lists := [each for each in runtime.lists if each[0] == plural]) < 2:
                runtime.came.clear()
                await runtime.came.wait()
    assert lists == [(plural, None, {"uid-one-1"}, 1), (plural, None, set(), 1)]


def test_only_a_whole_list_is_reported() -> None:
    path = "/apis/xapp-operator.io/v1alpha1/namespaces/ran/xapps"
    whole: JsonObject = {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"uid": "a"}}]}
    assert _listed_objects(path, whole) == ListedObjects("xapps", "ran", frozenset({"a"}), 7)
    assert _listed_objects(path, {**whole, "metadata": {"resourceVersion": "7", "continue": "more"}}) is None
    assert _listed_objects("/apis/xapp-operator.io/v1alpha1", {"resources": []}) is None


@pytest.mark.parametrize("code", [403, 409, 429])
async def test_what_admission_says_of_an_object_is_not_logged(code: int, caplog: pytest.LogCaptureFixture) -> None:
    api = DeepApiServer()
    api.listed[XAPP_PLURAL].append(object_text("refused-1", 1))
    api.refusal = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": "Forbidden",
        "message": 'admission webhook "w.example.com" denied the request: its password is hunter2',
        "details": {"causes": [{"field": "spec", "message": "not hunter2"}], "retryAfterSeconds": 1},
    }
    async with api.serve() as server:
        await run_until(Runtime(server), api, names={"refused-1"}, patched={"refused-1"})
        await eventually(lambda: "denied the request" in caplog.text, what="the refusal to be logged")
    assert 'admission webhook "w.example.com" denied the request' in caplog.text
    assert "hunter2" not in caplog.text
