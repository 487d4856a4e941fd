"""What lasts long, comes late or comes from elsewhere."""

from __future__ import annotations

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import CONFIGMAP, STORED_CHART, History, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.unit.histories.situations.actions import (
    CORRECT,
    Play,
    allow,
    change,
    create_other,
    forbidden,
    install,
    remove,
    set_live_tag,
    store,
)
from tests.unit.histories.situations.drift import CLUSTER_ROLE
from tests.unit.histories.test_hooks import HOOK
from tests.unit.histories.test_hooks import deploy as deploy_with_hook
from tests.unit.histories.test_removals import delete_namespace, delete_records
from xapp_operator.kube.transport import ApiRequest

REPOSITORIES = Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE)


async def wait_long_for_a_hook(history: History) -> None:
    deploy_with_hook(history, seconds="250s")
    await history.cluster.wait(300.0)


async def wait_for_a_hook_with_a_long_name(history: History) -> None:
    name = "a" * 300
    deploy_with_hook(history, name, seconds="15s")
    assert len(HOOK.replace("NAME", name)) > 300
    await history.cluster.wait(60.0)


async def wait_for_a_place_for_helm(history: History) -> None:
    history.cluster.settings = history.cluster.settings.model_copy(update={"helm_concurrency": 1})
    history.cluster.restart()
    await history.cluster.wait(5.0)
    history.cluster.helm.pause = 15.0
    create_other(history)
    await history.cluster.wait(1.0)
    await install(history, 150.0)
    history.note("delete other")
    history.cluster.delete("other")
    await history.cluster.wait(100.0)
    history.removed.clear()


async def read_a_chart_slowly(history: History) -> None:
    seconds = [0.4, 0.6, 5.0]

    def latency(request: ApiRequest) -> float:
        is_read = (
            request.method == "GET" and "/chartarchives/" in request.path and "Partial" not in str(request.headers)
        )
        return seconds.pop(0) if is_read and seconds else 0.0

    history.cluster.latency = latency
    await install(history, archive=store(history, version="0.3.0", cm=CONFIGMAP))
    for version in ("0.4.0", "0.5.0"):
        history.edit(archive=store(history, version=version, cm=CONFIGMAP))
        await history.cluster.wait(20.0)


async def change_objects_all_the_time(history: History) -> None:
    await install(history)
    for number in range(60):
        set_live_tag(history, str(number))
        await history.cluster.wait(4.0)
    set_live_tag(history, "one")
    await history.cluster.wait(60.0)


async def correct_objects_that_change_all_the_time(history: History) -> None:
    await install(history, driftDetection=CORRECT)
    for number in range(50):
        set_live_tag(history, str(number))
        await history.cluster.wait(4.0)
    await history.cluster.wait(60.0)


async def remove_labels_all_the_time(history: History) -> None:
    await install(history)
    target = Target("", "v1", "configmaps", NAMESPACE, "hello")
    for _ in range(30):
        change(
            history, target, {"metadata": {"labels": {"xapp-operator.io/team": None, "xapp-operator.io/xapp": None}}}
        )
        await history.cluster.wait(3.0)
    await history.cluster.wait(60.0)


async def delete_charts_that_nobody_uses(history: History) -> None:
    await install(history)
    for version, released in (("0.7.0", "2020-01-01T00:00:00Z"), ("0.8.0", "2999-01-01T00:00:00Z")):
        name = store(history, version=version, cm=CONFIGMAP)["chartArchiveRef"]["name"]
        target = Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, name)
        change(history, target, {"metadata": {"annotations": {"xapp-operator.io/released-at": released}}})
    await history.cluster.wait(1300.0)


async def delete_before_all_are_known(history: History) -> None:
    await install(history)
    history.edit(timeout="600s")
    await history.cluster.wait(20.0)
    ghost = xapp_body()
    ghost["metadata"]["name"] = "ghost"

    def go(request: ApiRequest, *_: object) -> None:
        """Let the other XApp go right after the operator has listed it."""
        if request.path.endswith("/xapps"):
            history.cluster.delete("ghost")

    history.cluster.on_response.append(go)
    history.cluster.restart()
    history.cluster.create(ghost)
    await history.cluster.wait(2.0)
    await remove(history)
    history.removed.clear()


async def adopt_what_other_xapps_have(history: History) -> None:
    chart = store(history, name="role", cm=CONFIGMAP, role=CLUSTER_ROLE)
    await install(history, archive=chart)
    create_other(history, tag="two", archive=chart, adopt=True)
    elsewhere = xapp_body(archive=chart, adopt=True)
    elsewhere["metadata"]["namespace"] = elsewhere["spec"]["namespace"] = "elsewhere"
    stored: Json = history.cluster.server.get(
        Target("xapp-operator.io", "v1alpha1", "chartarchives", NAMESPACE, chart["chartArchiveRef"]["name"])
    )
    server = history.cluster.server
    body = {"metadata": {"name": stored["metadata"]["name"]}, "spec": stored["spec"]}
    server.create(Target("xapp-operator.io", "v1alpha1", "chartarchives", "elsewhere"), body)
    await history.cluster.wait(10.0)
    server.create(Target("xapp-operator.io", "v1alpha1", "xapps", "elsewhere"), elsewhere)
    await history.cluster.wait(30.0)
    history.cluster.delete("other")
    server.delete(Target("xapp-operator.io", "v1alpha1", "xapps", "elsewhere", "hello"), {})
    await history.cluster.wait(30.0)
    history.removed.clear()


async def ask_for_everything_at_once(history: History) -> None:
    await install(history)
    history.edit(suspend=True)
    await history.cluster.wait(10.0)
    names = ("force-at", "test-at", "rollback-to", "retry-at", "reconcile-at")
    annotations = {f"xapp-operator.io/{name}": "now" for name in names}
    history.note("all annotations")
    history.cluster.edit({"metadata": {"annotations": annotations}})
    await history.cluster.wait(20.0)
    history.edit(suspend=False)
    await history.cluster.wait(20.0)
    for value in ("9999999999", "99999999999"):
        history.annotate("rollback-to", value)
        await history.cluster.wait(20.0)


async def read_no_secrets(history: History) -> None:
    def check(request: ApiRequest) -> None:
        if request.path.endswith("/secrets"):
            raise forbidden("secrets")

    await install(history)
    history.cluster.refuse = check
    history.cluster.restart()
    await history.cluster.wait(20.0)
    history.set_tag("two")
    await history.cluster.wait(20.0)
    allow(history)
    await history.cluster.wait(90.0)


async def delete_where_no_secrets_may_be_read(history: History) -> None:
    def check(request: ApiRequest) -> None:
        if request.path.endswith("/secrets"):
            raise forbidden("secrets")

    await install(history)
    history.cluster.refuse = check
    history.cluster.restart()
    await history.cluster.wait(20.0)
    delete_namespace(history)
    assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=120.0)
    allow(history)
    history.removed.clear()
    delete_records(history)


async def use_a_repository_that_cannot_be_used(history: History) -> None:
    spec = {"url": "https://127.0.0.1:1", "interval": "1m", "secretRef": {"name": "creds"}}
    server = history.cluster.server
    await history.cluster.wait(5.0)
    runtime = history.cluster.runtime
    assert runtime is not None
    body = server.create(REPOSITORIES, {"metadata": {"name": "acme"}, "spec": spec})
    history.cluster.refuse = _refuse_secret
    runtime.update_repository(body, deleted=False)
    await history.cluster.wait(12.0)
    allow(history)
    await history.cluster.wait(130.0)
    body = server.patch(
        Target("xapp-operator.io", "v1alpha1", "chartrepositories", NAMESPACE, "acme"), {"spec": {"secretRef": None}}
    )
    runtime.update_repository(body, deleted=False)
    await history.cluster.wait(70.0)
    method, url = "Remote Chart Repository", "https://127.0.0.1:1"
    await install(history, archive=None, method=method, url=url, repoName="acme", chartName="hello")
    history.edit(url="https://127.0.0.1:2")
    await history.cluster.wait(20.0)
    history.edit(repoName="second")
    await history.cluster.wait(20.0)
    runtime.update_repository(body, deleted=True)
    history.edit(url="https://127.0.0.1:1", repoName="acme")
    await history.cluster.wait(20.0)
    history.edit(method="Upload Chart", url=None, repoName=None, chartName=None, archive=_stored(history))
    await history.cluster.wait(60.0)


def _refuse_secret(request: ApiRequest) -> None:
    if request.path.endswith("/secrets/creds"):
        raise Refused(500, "InternalError", "Internal error occurred: etcd")


def _stored(history: History) -> Json:
    if history.cluster.server.find("chartarchives", STORED_CHART["metadata"]["name"]) is None:
        history.cluster.create(STORED_CHART)
    return {
        "chartArchiveRef": {"name": STORED_CHART["metadata"]["name"]},
        "digest": STORED_CHART["spec"]["digest"],
    }


PLAYS: tuple[Play, ...] = (
    wait_long_for_a_hook,
    wait_for_a_hook_with_a_long_name,
    wait_for_a_place_for_helm,
    read_a_chart_slowly,
    change_objects_all_the_time,
    correct_objects_that_change_all_the_time,
    remove_labels_all_the_time,
    delete_charts_that_nobody_uses,
    delete_before_all_are_known,
    adopt_what_other_xapps_have,
    ask_for_everything_at_once,
    read_no_secrets,
    delete_where_no_secrets_may_be_read,
    use_a_repository_that_cannot_be_used,
)
