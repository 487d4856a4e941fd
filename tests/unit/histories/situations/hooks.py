"""Tests and other hooks of charts."""

from __future__ import annotations

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.histories import History
from tests.support.fakes.operator import NAMESPACE
from tests.support.helm_tests import ENABLED, ENDLESS, FAILS, deploy
from tests.unit.histories.situations.actions import (
    Play,
    allow,
    change,
    install,
    refuse,
    remove,
)
from tests.unit.histories.test_hooks import FAILS as HOOK_FAILS
from tests.unit.histories.test_hooks import PULL, set_waiting, wait_hook
from tests.unit.histories.test_hooks import deploy as deploy_with_hook


async def run_tests(history: History) -> None:
    deploy(history, "first", "second")
    await history.cluster.wait(30.0)
    history.annotate("test-at")
    await history.cluster.wait(30.0)
    history.edit(values={"tag": "two"})
    await history.cluster.wait(30.0)
    await remove(history)


async def run_tests_that_fails(history: History) -> None:
    deploy(history, values=FAILS)
    await history.cluster.wait(30.0)
    history.edit(values={"labels": "{}"})
    await history.cluster.wait(30.0)
    history.edit(values=FAILS)
    await history.cluster.wait(30.0)


async def run_tests_that_fails_and_is_rolled_back(history: History) -> None:
    deploy(history, upgrade={"onFailure": "rollback"}, test={"enabled": True, "onFailure": "rollback"})
    await history.cluster.wait(30.0)
    history.edit(values={"tag": "two", **FAILS})
    await history.cluster.wait(60.0)


async def run_tests_without_end(history: History) -> None:
    deploy(history, values=ENDLESS)
    await history.cluster.wait(60.0)
    history.annotate("test-at")
    await history.cluster.wait(10.0)
    history.edit(suspend=True)
    await history.cluster.wait(10.0)
    history.edit(suspend=False)
    await history.cluster.wait(10.0)
    history.cluster.restart()
    await history.cluster.wait(10.0)
    history.edit(values={"tag": "two", "seconds": "1s"})
    await history.cluster.wait(30.0)


async def run_tests_while_no_status_can_be_written(history: History) -> None:
    deploy(history, values={"seconds": "5s"})
    assert await history.cluster.wait_for(lambda: history.outcome != "unknown", seconds=20.0)
    refuse(history, "PATCH", "/xapps/hello/status", Refused(500, "InternalError", "Internal error occurred: etcd"))
    await history.cluster.wait(30.0)
    allow(history)
    await history.cluster.wait(60.0)


async def run_tests_over_leftovers(history: History) -> None:
    deploy(history, values={"policy": "hook-failed"})
    await history.cluster.wait(30.0)
    history.annotate("test-at")
    await history.cluster.wait(30.0)
    pod = Target("", "v1", "pods", NAMESPACE, "hello-probe")
    change(history, pod, {"metadata": {"finalizers": ["example.com/held"]}})
    history.annotate("test-at")
    await history.cluster.wait(100.0)
    change(history, pod, {"metadata": {"finalizers": None}})


async def run_tests_without_tests(history: History) -> None:
    await install(history, test=ENABLED)
    history.annotate("test-at")
    await history.cluster.wait(20.0)


async def wait_for_a_hook(history: History) -> None:
    deploy_with_hook(history, "a", "b", seconds="25s")
    await wait_hook(history, "hello-a")
    set_waiting(history, PULL, "hello-a")
    await history.cluster.wait(100.0)


async def fail_at_a_hook(history: History) -> None:
    deploy_with_hook(history, seconds="12s", **HOOK_FAILS)
    await history.cluster.wait(60.0)
    event = {
        "metadata": {"name": "pulled"},
        "involvedObject": {"kind": "Pod", "name": "hello-hook"},
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "0/1 nodes are available",
        "lastTimestamp": "2027-01-15T08:01:00Z",
    }
    history.cluster.server.create(Target("", "v1", "events", NAMESPACE), event)
    history.edit(values={"seconds": "10000s", "labels": "{}"}, timeout="20s")
    await history.cluster.wait(60.0)


PLAYS: tuple[Play, ...] = (
    run_tests,
    run_tests_that_fails,
    run_tests_that_fails_and_is_rolled_back,
    run_tests_without_end,
    run_tests_while_no_status_can_be_written,
    run_tests_over_leftovers,
    run_tests_without_tests,
    wait_for_a_hook,
    fail_at_a_hook,
)
