"""A service account that does not exist: the API server refuses it like one without rights."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.api_server import Refused, Target
from tests.support.fakes.helm import Fault
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.operator import NAMESPACE
from tests.support.fakes.value_secrets import create_values
from tests.unit.histories.situations.actions import allow, install, refuse
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest

GHOST = "system:serviceaccount:ns:ghost"
MISSING = "the service account ghost does not exist in the namespace ns"
RIGHT = (
    'secrets "settings" is forbidden: User "{user}" cannot get resource "secrets" in API group "" in the namespace "ns"'
)
NO_IMPERSONATION = (
    'serviceaccounts "ghost" is forbidden: User "system:serviceaccount:xapp-operator-system:xapp-operator" cannot '
    'impersonate resource "serviceaccounts" in API group "" in the namespace "ns"'
)
HELM_DENIED = (
    f'release hello failed: secrets is forbidden: User "{GHOST}" cannot create resource "secrets" in API group "" in '
    'the namespace "ns"'
)
VALUES = [{"kind": "Secret", "name": "settings"}]


def create_account(history: History, name: str = "ghost") -> None:
    target = Target("", "v1", "serviceaccounts", NAMESPACE)
    history.cluster.server.create(target, {"metadata": {"name": name, "namespace": NAMESPACE}})


def stalled(history: History) -> tuple[str, str]:
    found: dict[str, Any] = history.cluster.condition("Stalled") or {}
    return found.get("reason", ""), found.get("message", "")


async def wait_stalled(history: History) -> str:
    """Return the message."""
    assert await history.cluster.wait_for(lambda: stalled(history)[0] == "AccessDenied", seconds=60.0), (
        history.describe()
    )
    return stalled(history)[1]


def lookups(history: History) -> int:
    assert history.cluster.transport is not None
    return sum(each.path.endswith("/namespaces/ns/serviceaccounts") for each in history.cluster.transport.requests)


def refuse_values(history: History, message: str) -> None:
    refuse(history, "GET", "/secrets/settings", Refused(403, "Forbidden", message))


@pytest.mark.parametrize("message", [RIGHT.format(user=GHOST), NO_IMPERSONATION])
def test_values_that_may_not_be_read_by_nobody_name_the_missing_account(settings: Settings, message: str) -> None:
    async def play(history: History) -> None:
        create_values(history, "settings", "text: one\n")
        refuse_values(history, message)
        history.create(valuesFrom=VALUES, serviceAccountName="ghost")
        told = await wait_stalled(history)
        assert told.startswith(f"{MISSING}: create it, or correct spec.serviceAccountName, then request a retry. ")
        assert message in told
        create_account(history)
        allow(history)
        history.annotate("retry-at")
        assert await history.cluster.wait_for(lambda: history.outcome.startswith("Ready"), seconds=60.0)

    run_history(settings, play)


def test_helm_that_may_nothing_names_the_missing_account(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.helm.refusals['{"tag": "one"}'] = Fault(HELM_DENIED)
        history.create(serviceAccountName="ghost")
        told = await wait_stalled(history)
        assert told.startswith(MISSING)
        assert "may not create secrets in namespace ns" in told
        events = [each for each in history.cluster.server.all("events") if each["reason"] == "AccessDenied"]
        assert [each["message"] for each in events] == [told]
        assert lookups(history) == 1
        await history.cluster.wait(300.0)
        assert lookups(history) == 1, "only when it is refused"
        history.cluster.helm.refusals.clear()
        create_account(history)
        history.annotate("retry-at")

    history = run_history(settings, play)
    assert history.outcome == "Ready InstallSucceeded"


def test_an_action_that_is_refused_names_the_missing_account(settings: Settings) -> None:
    async def play(history: History) -> None:
        await install(history, serviceAccountName="ghost")
        message = RIGHT.format(user=GHOST)
        refuse(history, "PUT", "/secrets/sh.helm.release.v1.hello.v1", Refused(403, "Forbidden", message))
        history.leave_behind("pending-upgrade")
        assert (await wait_stalled(history)).startswith(MISSING)
        allow(history)

    run_history(settings, play)


def test_an_account_that_exists_lacks_a_right(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_account(history)
        create_account(history, "other")
        create_values(history, "settings", "text: one\n")
        refuse_values(history, RIGHT.format(user=GHOST))
        history.create(valuesFrom=VALUES, serviceAccountName="ghost")
        told = await wait_stalled(history)
        assert told == f"{RIGHT.format(user=GHOST)}. Grant that permission, then request a retry"
        allow(history)
        history.annotate("retry-at")

    run_history(settings, play)


@pytest.mark.parametrize(("account", "user"), [(None, GHOST), ("ghost", "system:serviceaccount:ns:other")])
def test_what_is_refused_to_others_tells_nothing_of_the_account(
    settings: Settings, account: str | None, user: str
) -> None:
    async def play(history: History) -> None:
        create_values(history, "settings", "text: one\n")
        refuse_values(history, RIGHT.format(user=user))
        history.create(valuesFrom=VALUES, serviceAccountName=account)
        assert (await wait_stalled(history)).startswith(RIGHT.format(user=user))
        assert lookups(history) == 0
        allow(history)
        history.annotate("retry-at")

    run_history(settings, play)


@pytest.mark.parametrize(("code", "hint"), [(403, True), (500, False)])
def test_an_account_that_may_not_be_looked_for_may_be_missing(settings: Settings, code: int, hint: bool) -> None:
    async def play(history: History) -> None:
        def check(request: ApiRequest) -> None:
            if request.path.endswith("/secrets/settings"):
                raise Refused(403, "Forbidden", RIGHT.format(user=GHOST))
            if request.path.endswith("/serviceaccounts"):
                raise Refused(code, "Forbidden" if code == 403 else "InternalError", "no")

        create_values(history, "settings", "text: one\n")
        history.cluster.refuse = check
        history.create(valuesFrom=VALUES, serviceAccountName="ghost")
        told = await wait_stalled(history)
        assert told.startswith(RIGHT.format(user=GHOST))
        assert ("Perhaps the service account ghost does not exist in the namespace ns" in told) is hint
        allow(history)
        history.annotate("retry-at")

    run_history(settings, play)


def test_the_default_account_comes_with_the_namespace(settings: Settings) -> None:
    default = settings.model_copy(update={"default_service_account": "ghost"})

    async def play(history: History) -> None:
        create_values(history, "settings", "text: one\n")
        refuse_values(history, RIGHT.format(user=GHOST))
        history.create(valuesFrom=VALUES)
        told = await wait_stalled(history)
        assert told.startswith(f"{MISSING}: apply manifests/xapp-namespace to the namespace, or create it, then ")
        allow(history)
        history.annotate("retry-at")

    run_history(default, play)
