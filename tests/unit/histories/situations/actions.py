"""What happens in the situations, and what stands in the way of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import History, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from xapp_operator.kube.transport import ApiRequest

Play = Callable[[History], Coroutine[Any, Any, None]]

CONFIGMAP_TARGET = Target("", "v1", "configmaps", NAMESPACE, "hello")
DEPLOYMENT = Target("apps", "v1", "deployments", NAMESPACE, "hello")
RECORD = Target("", "v1", "secrets", NAMESPACE, "sh.helm.release.v1.hello.v1")
CORRECT = {"mode": "enabled"}


def refuse(history: History, method: str, end: str, refusal: Refused, *, dry_run: bool | None = None) -> None:
    """Refuse requests with a method whose path ends so, from now on."""

    def check(request: ApiRequest) -> None:
        if request.method == method and request.path.endswith(end) and dry_run in (None, "dryRun" in request.params):
            raise refusal

    history.cluster.refuse = check


def count_reads(history: History, name: str) -> int:
    """Return how often the operator has read objects of a name since it started."""
    assert history.cluster.transport is not None
    requests = history.cluster.transport.requests
    return sum(each.method == "GET" and each.path.endswith(f"/{name}") for each in requests)


def allow(history: History) -> None:
    history.cluster.refuse = lambda _: None


def forbidden(what: str) -> Refused:
    return Refused(403, "Forbidden", f"{what} is forbidden: nobody may do that")


def invalid_field(field: str) -> Refused:
    """Return the refusal of a value of a field, which the API server names beside the message."""
    refused = Refused(422, "Invalid", f'ConfigMap "hello" is invalid: {field}: Invalid value: "one": no')
    cause = {"reason": "FieldValueInvalid", "message": "no", "field": field}
    refused.body = {**refused.body, "details": {"name": "hello", "causes": [cause]}}
    return refused


def change(history: History, target: Target, patch: Json, *, manager: str = "kubectl") -> None:
    history.note(f"{manager} changes {target.plural} {target.name}")
    history.cluster.server.patch(target, patch, manager=manager)


def set_live_tag(history: History, tag: str) -> None:
    change(history, CONFIGMAP_TARGET, {"data": {"tag": tag}})


async def install(history: History, seconds: float = 20.0, **spec: Any) -> None:
    history.create(**{"tag": "one", **spec})
    await history.cluster.wait(seconds)


async def remove(history: History) -> None:
    history.delete()
    assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=120.0)


def create_other(history: History, name: str = "other", **spec: Any) -> None:
    body = xapp_body(**spec)
    body["metadata"]["name"] = name
    history.note(f"create {name}")
    history.cluster.create(body)


async def take_the_place(history: History) -> None:
    """Let the helm of another XApp run for about a minute."""
    cluster = history.cluster
    history.store_chart()
    cluster.helm.pause = 16.0
    create_other(history)
    assert await cluster.wait_for(lambda: bool(cluster.helm.running), seconds=20.0)


async def remove_other(history: History) -> None:
    history.cluster.helm.pause = 0.2
    history.note("delete other")
    history.cluster.delete("other")
    await history.cluster.wait(60.0)
    history.removed.clear()


def store(history: History, *, name: str = "hello", version: str = "0.1.0", **templates: str) -> Json:
    """Store a chart with more templates; return the field of the spec that names it."""
    files = {f"templates/{each}.yaml": template for each, template in templates.items()}
    packed = chart_archive({"values.yaml": "tag: one\n", **files}, name=name, version=version)
    stored = chart_archive_manifest(packed, namespace=NAMESPACE)
    history.cluster.create(stored)
    return {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
