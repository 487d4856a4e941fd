"""The Secrets of the namespaces with XApps: what is kept of each, and what a missing permission means."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tests.support.eventually import eventually
from tests.unit.kube.conftest import Connect
from tests.unit.kube.list_watch_server import ListWatchServer
from xapp_operator.api.json import JsonObject
from xapp_operator.common.clock import SYSTEM_CLOCK
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied
from xapp_operator.reconcile.watching.release_watch import ReleaseWatch
from xapp_operator.reconcile.watching.secret_watch import SecretWatch

FORBIDDEN = (403, 'secrets is forbidden: User "operator" cannot watch resource "secrets"')


class Setup:
    """A server with Secrets, their watch, the releases in it, and what both reported."""

    def __init__(self) -> None:
        self.server = ListWatchServer()
        self.statuses: list[str | None] = []
        self.released: list[tuple[str, str]] = []
        self.secrets: SecretWatch
        self.releases: ReleaseWatch

    async def put(self, name: str, **labels: str) -> None:
        self.server.version += 1
        metadata: JsonObject = {
            "name": name,
            "namespace": "ric",
            "uid": f"uid-{name}",
            "resourceVersion": str(self.server.version),
            "labels": {**labels},
        }
        self.server.objects["ric", name] = {"metadata": metadata}
        await self.server.send_event("MODIFIED", {"metadata": metadata})


@pytest.fixture
async def setup(connect: Connect) -> AsyncIterator[Setup]:
    one = Setup()
    kube = await connect(one.server.handle)
    one.secrets = SecretWatch(kube, Settings(), on_status=one.statuses.append)
    one.releases = ReleaseWatch(kube, one.secrets, on_change=one.released.append, clock=SYSTEM_CLOCK)
    yield one
    await one.secrets.stop()


async def test_releases_and_other_secrets_come_from_one_watch(setup: Setup) -> None:
    await setup.put("values")
    await setup.put("sh.helm.release.v1.hello.v1", **{"owner": "helm", "xapp-operator.io/xapp": "hello"})
    await setup.put("labelled", owner="helm")
    assert setup.secrets.is_starting("ric")

    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")

    assert setup.secrets.resource_version("ric", "values") == "101"
    assert setup.secrets.resource_version("ric", "sh.helm.release.v1.hello.v1") == "102"
    assert setup.secrets.resource_version("ric", "labelled") == "103"
    assert setup.secrets.resource_version("ric", "missing") is None
    assert [each.revision for each in setup.releases.revisions("ric", "hello")] == [1]
    assert setup.released == [("ric", "hello")]
    assert setup.statuses == ["ric"]
    assert not setup.secrets.is_starting("ric")


async def test_no_data_of_secrets_is_asked_for(setup: Setup) -> None:
    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")
    assert setup.server.accepts
    assert all("PartialObjectMetadata" in each for each in setup.server.accepts)


async def test_the_end_of_a_watch_is_told_once(setup: Setup) -> None:
    ended: list[str] = []
    setup.secrets.subscribe_ended(ended.append)
    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")
    for _ in range(2):
        setup.secrets.set_needed("ric", needed=False)
    assert ended == ["ric"]


async def test_a_release_is_forgotten_with_the_last_xapp_of_its_namespace(setup: Setup) -> None:
    await setup.put("sh.helm.release.v1.hello.v1", owner="helm")
    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")

    setup.secrets.set_needed("ric", needed=False)

    assert setup.releases.revisions("ric", "hello") == ()
    assert setup.secrets.is_starting("ric")


async def test_a_secret_that_lost_the_label_of_helm_is_no_revision(setup: Setup) -> None:
    await setup.put("sh.helm.release.v1.hello.v1", **{"owner": "helm", "xapp-operator.io/xapp": "hello"})
    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.releases.revisions("ric", "hello"), what="the release")
    setup.released.clear()

    await setup.put("sh.helm.release.v1.hello.v1", **{"xapp-operator.io/xapp": "hello"})

    await eventually(lambda: not setup.releases.revisions("ric", "hello"), what="the release to be gone")
    assert setup.released == [("ric", "hello")]


async def test_a_missing_role_binding_is_named_until_it_exists(setup: Setup) -> None:
    setup.server.refusal = FORBIDDEN
    setup.secrets.set_needed("ric", needed=True)
    error = await eventually(lambda: setup.secrets.unavailable("ric"), what="the refusal")

    assert isinstance(error, AccessDenied)
    assert error.permanent
    for part in (
        "the RoleBinding xapp-operator-secrets is missing",
        "kubectl create rolebinding xapp-operator-secrets --namespace=ric --clusterrole=xapp-operator-secrets "
        "--serviceaccount=xapp-operator-system:xapp-operator. ",
        FORBIDDEN[1],
    ):
        assert part in error.message
    assert not setup.secrets.is_starting("ric")
    assert not setup.secrets.is_watched("ric")

    setup.server.refusal = None
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")
    assert setup.secrets.unavailable("ric") is None
    assert setup.statuses == ["ric"] * 3  # refused, starting, known


async def test_what_is_known_stays_known_during_an_outage_but_not_without_permission(setup: Setup) -> None:
    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")
    setup.server.refusal = (503, "away")
    await setup.server.end_watches()
    await eventually(lambda: "refused" in setup.server.requests, what="the outage")
    assert setup.secrets.unavailable("ric") is None
    assert setup.secrets.is_watched("ric")
    assert setup.statuses == ["ric"]

    setup.server.refusal = FORBIDDEN
    await eventually(lambda: setup.secrets.unavailable("ric"), what="the refusal")
    assert not setup.secrets.is_watched("ric")
    assert setup.statuses == ["ric", "ric"]


async def test_a_cluster_wide_watch_names_its_setting(connect: Connect) -> None:
    server = ListWatchServer()
    server.refusal = FORBIDDEN
    settings = Settings(secrets_watch="cluster")
    secrets = SecretWatch(await connect(server.handle), settings, on_status=lambda _: None)
    secrets.set_needed("ric", needed=True)
    error = await eventually(lambda: secrets.unavailable("other"), what="the refusal")
    assert "XAPP_SECRETS_WATCH" in error.message
    await secrets.stop()


@pytest.mark.parametrize("name", ["sh.helm.release.v1.hello.v1", "values"])
async def test_a_secret_without_the_label_of_helm_is_no_revision(setup: Setup, name: str) -> None:
    setup.secrets.set_needed("ric", needed=True)
    await eventually(lambda: setup.secrets.is_watched("ric"), what="the first list")
    with capture_logs() as logs:
        await setup.put(name)
        await eventually(lambda: setup.secrets.resource_version("ric", name), what="the Secret")
    assert logs == []
    assert setup.releases.revisions("ric", "hello") == ()
    assert setup.released == []
