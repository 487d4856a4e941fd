"""What the cluster quotes when helm rollback, uninstall or test fails: values from Secrets are never passed on."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.fakes.api_server import FakeApiServer, Refused, Target
from tests.support.fakes.helm import FakeHelm, Fault, HelmFailed, Step, _Run
from tests.support.fakes.histories import TIMEOUT_SECONDS, History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.support.helm_tests import ENABLED, outcome_of, refuse_tests, store_chart
from tests.unit.histories.situations.actions import count_reads
from xapp_operator.config.settings import Settings
from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.helm.results.stderr import WITHHELD_UNREAD
from xapp_operator.kube.transport import ApiRequest

FIRST, SECOND = "correct-horse", "battery-staple"
"""Values from Secrets whose key does not say that they are secret."""
PUBLIC = "said-by-the-spec"
DENIED = 'admission webhook "good.example.com" denied the request: '
QUOTES = f"{DENIED}neither {FIRST} nor {SECOND} nor {PUBLIC}"
RECORD = "/secrets/sh.helm.release.v1.hello.v"
SOURCE = [{"kind": "Secret", "name": "values"}]


def create(history: History, **spec: object) -> None:
    create_values(history, "values", f"text: {FIRST}\n")
    history.create(values={"tag": "one", "said": PUBLIC}, valuesFrom=SOURCE, **spec)


def messages(history: History, reason: str) -> Iterator[str]:
    """Yield the messages of the events and conditions with this reason; no text of the XApp has a secret."""
    xapp = history.cluster.xapp() or {}
    found = [*history.cluster.server.all("events"), *xapp.get("status", {}).get("conditions", [])]
    assert not any(each in json.dumps([xapp, found]) for each in (FIRST, SECOND))
    yield from (each["message"] for each in found if each["reason"] == reason)


async def fail_rollback(history: History) -> None:
    """Let an upgrade to other secret values never become healthy, and the rollback fail."""
    await history.cluster.wait(10.0)
    history.cluster.helm.faults = [None, Fault(QUOTES, writes=1)]
    replace_secret(history, secret("values", values__yaml=f"text: {SECOND}\ntag: {BROKEN}\n"))
    history.edit(values={"tag": None, "said": PUBLIC})
    await history.cluster.wait(3.0 * TIMEOUT_SECONDS)


def test_an_error_of_a_rollback_has_no_value_of_either_revision(
    settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    async def play(history: History) -> None:
        create(history)
        await fail_rollback(history)
        told = list(messages(history, "Invalid")) + list(messages(history, "RollbackFailed"))
        assert told, history.describe()
        assert all(f"{DENIED}neither {MASK} nor {MASK} nor {PUBLIC}" in each for each in told)
        history.edit(values={"tag": "three", "said": PUBLIC})

    run_history(settings, play)
    logged = "".join(capfd.readouterr())
    assert FIRST not in logged
    assert SECOND not in logged


def test_an_error_of_a_rollback_whose_records_cannot_be_read_is_withheld(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = FakeApiServer.handle

    def refuse(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        if request.method == "GET" and RECORD in request.path:
            raise Refused(403, "Forbidden", "secrets are forbidden")
        return handle(server, request, manager=manager)

    async def play(history: History) -> None:
        create(history)
        with monkeypatch.context() as patched:

            def begin(step: Step) -> None:
                if step.command == "rollback":  # the records are read before, for the owners of objects
                    patched.setattr(FakeApiServer, "handle", refuse)

            history.cluster.helm.on_step.append(begin)
            await fail_rollback(history)
        told = list(messages(history, "RollbackFailed"))
        assert told, history.describe()
        assert all(each.startswith(WITHHELD_UNREAD) and "secrets are forbidden" in each for each in told)
        history.edit(values={"tag": "three", "said": PUBLIC})

    run_history(settings, play)


def test_an_error_of_an_uninstall_has_no_value_of_an_earlier_revision(settings: Settings) -> None:
    async def play(history: History) -> None:
        create(history)
        await history.cluster.wait(10.0)
        replace_secret(history, secret("values", values__yaml=f"text: {SECOND}\n"))
        await history.cluster.wait(10.0)
        assert history.cluster.revisions == {1: "superseded", 2: "deployed"}
        history.cluster.server.delete(Target("", "v1", "secrets", NAMESPACE, "values"), {})
        history.cluster.helm.faults = [Fault(QUOTES, writes=1)]
        history.delete()
        assert await history.cluster.wait_for(lambda: any(messages(history, "UninstallFailed")), seconds=60.0)
        told = list(messages(history, "UninstallFailed"))
        assert told, history.describe()
        assert all(f"{DENIED}neither {MASK} nor {MASK} nor {PUBLIC}" in each for each in told)

    run_history(settings, play)


@pytest.mark.parametrize("kept", [True, False])
def test_an_error_of_a_hook_after_the_records_are_gone_has_no_value_of_the_spec(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """helm deletes the records after a post-delete hook has failed, and then says so."""
    uninstall = FakeHelm._uninstall

    async def fail(self: FakeHelm, run: _Run) -> str:
        await uninstall(self, run)
        raise HelmFailed(f"uninstallation completed with 1 error(s): {DENIED}not {FIRST}")

    async def play(history: History) -> None:
        create(history)
        await history.cluster.wait(10.0)
        monkeypatch.setattr(FakeHelm, "_uninstall", fail)
        if not kept:
            history.cluster.server.delete(Target("", "v1", "secrets", NAMESPACE, "values"), {})
        history.delete()
        await history.cluster.wait(20.0)
        told = list(messages(history, "UninstallFailed"))
        assert told, history.describe()
        assert all((f"{DENIED}not {MASK}" in each) == kept for each in told)
        assert all(each.startswith(WITHHELD_UNREAD) != kept for each in told)

    history = run_history(settings, play)
    assert history.outcome == "gone"


def test_an_error_of_tests_has_no_value_of_the_release(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_tests(monkeypatch, lambda: HelmFailed(f"{DENIED}not {FIRST}, but {PUBLIC}"))

    async def play(history: History) -> None:
        create(history, test=ENABLED, **store_chart(history, "probe"))
        await history.cluster.wait(20.0)
        assert outcome_of(history)[1] == "TestFailed"
        told = list(messages(history, "TestFailed"))
        assert all(f"{DENIED}not {MASK}, but {PUBLIC}" in each for each in told)

    run_history(settings, play)


def test_steps_that_succeed_read_no_record_for_their_errors(settings: Settings) -> None:
    async def play(history: History) -> None:
        create(history)
        await history.cluster.wait(10.0)
        history.edit(values={"tag": BROKEN})
        await history.cluster.wait(3.0 * TIMEOUT_SECONDS)
        assert history.deployed_tags == ["one"]
        history.delete()
        await history.cluster.wait(20.0)
        assert [count_reads(history, f"sh.helm.release.v1.hello.v{number}") for number in (1, 2)] == [
            1,
            1,
        ]  # the rollback

    history = run_history(settings, play)
    assert [step.command for step in history.helm_steps] == ["install", "upgrade", "rollback", "uninstall"]
