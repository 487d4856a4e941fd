"""The tests of a chart in another namespace than the release: only they are read and deleted, as the XApp may."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import (
    ENABLED,
    ENDLESS,
    FAILS,
    TEST,
    last_test,
    outcome_of,
    store_chart,
    wait_tested,
)
from tests.unit.histories.situations.actions import allow, change
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

ELSEWHERE = "elsewhere"
NAME = "hello-probe"
TEST_ELSEWHERE = TEST.replace("  name: hello-NAME\n", f"  name: {NAME}\n  namespace: {ELSEWHERE}\n")
TEST_HERE = TEST_ELSEWHERE.replace(ELSEWHERE, NAMESPACE)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": NAME},
    "spec": {"containers": [{"name": "own", "image": "example.com/own:1"}]},
}


def deploy(history: History, values: Json | None = None, template: str = TEST_ELSEWHERE, **spec: Json | str) -> None:
    chart = store_chart(history, probe=template)
    history.create(values={"tag": "one", **(values or {})}, test=ENABLED, **chart, **spec)


def run_own_pod(history: History) -> str:
    """Let somebody run a pod with the name of the test in the namespace of the XApp; return its uid."""
    history.cluster.server.create(Target("", "v1", "pods", NAMESPACE), POD)
    return uid_of(history, NAMESPACE)


def uid_of(history: History, namespace: str) -> str:
    """Return the uid of the pod in a namespace, or nothing without one."""
    found: Json = history.cluster.server.find("pods", NAME, namespace=namespace) or {"metadata": {"uid": ""}}
    return str(found["metadata"]["uid"])


def remove_own_pod(history: History) -> None:
    history.cluster.server.delete(Target("", "v1", "pods", NAMESPACE, NAME), {})


def refuse_elsewhere(history: History) -> None:
    def check(request: ApiRequest) -> None:
        if f"/namespaces/{ELSEWHERE}/pods" in request.path:
            raise Refused(403, "Forbidden", "pods is forbidden: no right in the namespace elsewhere")

    history.cluster.refuse = check


def warnings(history: History, reason: str) -> list[str]:
    return [each["message"] for each in history.cluster.server.all("events") if each["reason"] == reason]


def test_pods_of_tests_go_with_the_release_and_others_with_their_name_stay(settings: Settings) -> None:
    async def play(history: History) -> None:
        own = run_own_pod(history)
        deploy(history)
        await wait_tested(history, "Succeeded")
        assert uid_of(history, ELSEWHERE) not in ("", own)
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert (uid_of(history, NAMESPACE), uid_of(history, ELSEWHERE)) == (own, "")
        remove_own_pod(history)

    run_history(settings, play)


def test_a_suspension_deletes_the_pod_that_runs(settings: Settings) -> None:
    async def play(history: History) -> None:
        own = run_own_pod(history)
        deploy(history, ENDLESS, timeout="1h")
        assert await history.cluster.wait_for(lambda: bool(uid_of(history, ELSEWHERE)), seconds=60.0)
        history.edit(suspend=True)
        assert await history.cluster.wait_for(lambda: not uid_of(history, ELSEWHERE), seconds=60.0)
        assert last_test(history)["outcome"] == "Interrupted"
        assert uid_of(history, NAMESPACE) == own
        remove_own_pod(history)

    run_history(settings, play)


def test_what_an_earlier_run_has_left_is_deleted_and_nothing_else(settings: Settings) -> None:
    async def play(history: History) -> None:
        own = run_own_pod(history)
        deploy(history, {"policy": "hook-failed"})
        await wait_tested(history, "Succeeded")
        first = uid_of(history, ELSEWHERE)
        history.annotate("test-at")
        assert await history.cluster.wait_for(lambda: uid_of(history, ELSEWHERE) not in ("", first), seconds=60.0)
        await wait_tested(history, "Succeeded")
        assert uid_of(history, NAMESPACE) == own
        remove_own_pod(history)

    run_history(settings, play)


def test_a_failed_test_is_explained(settings: Settings) -> None:
    async def play(history: History) -> None:
        run_own_pod(history)
        deploy(history, FAILS)
        await wait_tested(history, "Failed")
        remove_own_pod(history)

    history = run_history(settings, play)
    assert outcome_of(history)[2] == (
        f"test Pod {NAME} in namespace {ELSEWHERE} failed: container setup, exit code 1. Its log is with the tests of "
        f"the xApp, or: kubectl logs --namespace={ELSEWHERE} {NAME} --container=setup"
    )


def test_what_the_xapp_may_not_read_or_delete_there_is_told(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, FAILS)
        await wait_tested(history, "Running")
        refuse_elsewhere(history)
        await wait_tested(history, "Failed")
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert uid_of(history, ELSEWHERE)
        allow(history)

    history = run_history(settings, play)
    (failed,) = warnings(history, "TestFailed")
    assert failed.startswith(f"test Pod {NAME} in namespace {ELSEWHERE} failed; its pod cannot be read: ")
    (left,) = warnings(history, "LeftBehind")
    assert left.startswith(f"objects of tests stay, delete them by hand: Pod {NAME} in namespace {ELSEWHERE}: ")


def replace(history: History) -> None:
    """Let somebody replace the pod of the test by a pod of the same name."""
    remove_own_pod(history)
    run_own_pod(history)


def make_another_hook(history: History) -> None:
    change(
        history,
        Target("", "v1", "pods", NAMESPACE, NAME),
        {"metadata": {"annotations": {"helm.sh/hook": "pre-install, post-upgrade"}}},
    )


@pytest.mark.parametrize("change_pod", [replace, make_another_hook])
def test_a_pod_that_is_no_test_stays(settings: Settings, change_pod: Callable[[History], None]) -> None:
    async def play(history: History) -> None:
        deploy(history, template=TEST_HERE)
        await wait_tested(history, "Succeeded")
        change_pod(history)
        uid = uid_of(history, NAMESPACE)
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert uid_of(history, NAMESPACE) == uid != ""
        remove_own_pod(history)

    run_history(settings, play)


def test_a_pod_that_replaces_the_test_while_it_is_deleted_stays(settings: Settings) -> None:
    async def play(history: History) -> None:
        def replace_before_delete(request: ApiRequest) -> None:
            if request.method == "DELETE" and request.path.endswith(f"/pods/{NAME}"):
                allow(history)
                replace(history)

        deploy(history, template=TEST_HERE)
        await wait_tested(history, "Succeeded")
        history.cluster.refuse = replace_before_delete
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)
        assert uid_of(history, NAMESPACE)
        remove_own_pod(history)

    run_history(settings, play)


def test_tests_in_the_namespace_of_the_release_may_name_it(settings: Settings) -> None:
    async def play(history: History) -> None:
        deploy(history, FAILS, TEST_HERE)
        await wait_tested(history, "Failed")
        assert f"test Pod {NAME} failed: container setup, exit code 1" in outcome_of(history)[2]

    run_history(settings, play)
