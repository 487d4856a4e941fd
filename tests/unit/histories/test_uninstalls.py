"""What is told of a release between its uninstall and the end of the XApp, although its records cannot be listed."""

from __future__ import annotations

from tests.support.fakes.api_server import Refused
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.unit.histories.test_removals import delete_namespace, install, wait_gone
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest


def forbid_lists(history: History) -> None:
    """Let nobody list the records of one release."""

    def check(request: ApiRequest) -> None:
        if "name=" in request.params.get("labelSelector", ""):
            raise Refused(403, "Forbidden", "secrets is forbidden: cannot list them")

    history.cluster.refuse = check


def test_a_release_that_is_uninstalled_is_shown_no_longer(settings: Settings) -> None:
    shown: list[Json] = []

    async def play(history: History) -> None:
        def note(plural: str, body: Json) -> None:
            reasons = {each["reason"] for each in body["status"].get("conditions", ())} if plural == "xapps" else {}
            if "AccessDenied" in reasons:
                shown.append(body["status"].get("release"))

        await install(history)
        history.cluster.server.on_stored.append(note)
        forbid_lists(history)
        history.delete()
        await wait_gone(history)

    run_history(settings, play)
    assert set(map(str, shown)) == {"None"}


def test_a_release_in_a_namespace_that_is_deleted_is_uninstalled_once(settings: Settings) -> None:
    """The watch shows its records until long after the uninstall."""

    async def play(history: History) -> None:
        def delay_watches(plural: str, _: Json) -> None:
            if plural == "secrets":
                history.cluster.server.lag = 60.0

        await install(history)
        forbid_lists(history)
        history.cluster.server.on_removed.append(delay_watches)
        delete_namespace(history)
        await wait_gone(history, seconds=30.0)

    history = run_history(settings, play)
    assert [each.command for each in history.helm_steps] == ["install", "uninstall"]
