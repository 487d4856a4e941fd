"""One of several candidates leads; another one leads only when the first has released the Lease, died or lost it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.integration.kube.conftest import grant_to_default
from tests.integration.kube.tcp_relay import TcpRelay
from tests.localcluster import Cluster
from tests.support.eventually import eventually, eventually_async
from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.leader_election import LeaderElector, process_identity
from xapp_operator.kube.resources import LEASES

pytestmark = pytest.mark.integration

TERM = 3.0
LONG_TERM = 3600.0
ELSEWHERE = "other-host/1/1/another-machine"
LEASE = "operator"
LONG_AGO = "2001-01-01T00:00:00.000000Z"

_LEAD = """
import asyncio, sys
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.leader_election import LeaderElector

async def lead():
    async with await KubeClient.connect(Settings()) as client:
        async with LeaderElector(client, namespace=sys.argv[1], name=sys.argv[2], lease_seconds=3600, on_lost=sys.exit):
            print("leading", flush=True)
            await asyncio.Event().wait()

asyncio.run(lead())
"""


class Candidate:
    """A candidate and its history."""

    def __init__(self, client: KubeClient, namespace: str, *, seconds: float, identity: str | None) -> None:
        self.lost: list[float] = []
        self.leadership = LeaderElector(
            client,
            namespace=namespace,
            name=LEASE,
            lease_seconds=seconds,
            on_lost=lambda: self.lost.append(time.monotonic()),
            identity=identity,
        )

    def leads(self) -> bool:
        return self.leadership.is_leader


Enter = Callable[..., Candidate]


@pytest.fixture
async def enter(kube: KubeClient, namespace: str) -> AsyncIterator[Enter]:
    async with AsyncExitStack() as stack:

        def make(*, client: KubeClient = kube, seconds: float = TERM, identity: str | None = None) -> Candidate:
            candidate = Candidate(client, namespace, seconds=seconds, identity=identity)
            stack.push_async_callback(candidate.leadership.release)
            return candidate

        yield make


async def spec_of(kube: KubeClient, namespace: str) -> JsonObject:
    return obj(await kube.get(LEASES, LEASE, namespace=namespace), "spec")


async def test_the_first_candidate_leads_and_holds_the_lease(kube: KubeClient, namespace: str, enter: Enter) -> None:
    first = enter()
    assert not first.leads()
    await first.leadership.acquire()
    assert first.leads()
    spec = await spec_of(kube, namespace)
    assert text(spec, "holderIdentity") == process_identity() == first.leadership.holder
    assert integer(spec, "leaseDurationSeconds") == TERM


async def test_a_leader_that_renews_is_not_replaced(kube: KubeClient, namespace: str, enter: Enter) -> None:
    first, second = enter(identity="a", seconds=2 * TERM), enter(identity="b", seconds=2 * TERM)
    await first.leadership.acquire()
    waiting = asyncio.create_task(second.leadership.acquire())
    began = text(await spec_of(kube, namespace), "renewTime")
    deadline = time.monotonic() + 4 * TERM
    renewals = {began}
    while time.monotonic() < deadline:
        assert first.leads()
        assert not second.leads()
        renewals.add(text(await spec_of(kube, namespace), "renewTime"))
        await asyncio.sleep(0.05)
    assert len(renewals) >= 4
    assert second.leadership.holder == "a"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_leader_that_steps_down_is_replaced_before_its_lease_expires(
    kube: KubeClient, namespace: str, enter: Enter
) -> None:
    first, second = enter(identity="a", seconds=LONG_TERM), enter(identity="b", seconds=LONG_TERM)
    await first.leadership.acquire()
    waiting = asyncio.create_task(second.leadership.acquire())
    await first.leadership.release()
    assert not first.leads()
    async with asyncio.timeout(60):
        await waiting
    assert second.leads()
    assert first.lost == []
    assert integer(await spec_of(kube, namespace), "leaseTransitions") == 1


@pytest.fixture
def process(cluster: Cluster, namespace: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", _LEAD, namespace, LEASE], stdout=subprocess.PIPE, text=True, env=cluster.env
    ) as leader:
        yield leader
        leader.kill()


async def test_a_killed_leader_on_this_host_is_replaced_at_once(process: subprocess.Popen[str], enter: Enter) -> None:
    assert process.stdout is not None
    assert "became leader" in await asyncio.to_thread(process.stdout.readline)
    candidate = enter(seconds=LONG_TERM)
    waiting = asyncio.create_task(candidate.leadership.acquire())
    await eventually(lambda: candidate.leadership.holder, what="the candidate to see the leader")
    assert not candidate.leads()
    process.kill()
    async with asyncio.timeout(60):
        await waiting
    assert candidate.leads()


async def test_a_remote_leader_that_stops_renewing_is_replaced_when_its_lease_expires(
    kube: KubeClient, namespace: str, enter: Enter
) -> None:
    held: JsonObject = {"holderIdentity": ELSEWHERE, "leaseDurationSeconds": int(TERM), "renewTime": LONG_AGO}
    await kube.create(LEASES, {"metadata": {"name": LEASE}, "spec": held}, namespace=namespace)
    candidate = enter(identity="b")
    began = time.monotonic()
    async with asyncio.timeout(60):
        await candidate.leadership.acquire()
    assert time.monotonic() - began >= TERM
    assert candidate.leads()


async def test_an_isolated_leader_stops_leading_before_another_leads(
    cluster: Cluster, enter: Enter, tmp_path: Path
) -> None:
    async with (
        TcpRelay(cluster.kubeconfig, folder=tmp_path) as relay,
        await KubeClient.connect(Settings(KUBECONFIG=str(relay.kubeconfig))) as relayed,
    ):
        first, second = enter(client=relayed, identity="a"), enter(identity="b")
        await first.leadership.acquire()
        waiting = asyncio.create_task(second.leadership.acquire())
        await eventually(lambda: second.leadership.holder, what="the second to see the first")
        await relay.cut()
        async with asyncio.timeout(60):
            await waiting
        taken = time.monotonic()
        assert len(first.lost) == 1
        assert first.lost[0] < taken
        assert not first.leads()


async def test_a_lease_held_by_another_candidate_is_noticed(kube: KubeClient, namespace: str, enter: Enter) -> None:
    first = enter(identity="a")
    await first.leadership.acquire()
    await kube.patch(LEASES, LEASE, {"spec": {"holderIdentity": ELSEWHERE}}, namespace=namespace)
    await eventually(lambda: first.lost, what="the loss to be noticed")
    assert not first.leads()
    assert text(await spec_of(kube, namespace), "holderIdentity") == ELSEWHERE


async def test_a_leader_keeps_the_lead_when_its_lease_is_deleted(
    kube: KubeClient, namespace: str, enter: Enter
) -> None:
    first, second = enter(identity="a"), enter(identity="b", seconds=LONG_TERM)
    await first.leadership.acquire()
    waiting = asyncio.create_task(second.leadership.acquire())
    await eventually(lambda: second.leadership.holder, what="the second to see the first")
    for _ in range(2):
        deleted = await kube.get(LEASES, LEASE, namespace=namespace)
        await kube.delete(LEASES, LEASE, namespace=namespace)

        async def created_again(before: str = text(obj(deleted, "metadata"), "uid")) -> bool:
            try:
                lease = await kube.get(LEASES, LEASE, namespace=namespace)
            except NotFound:
                return False
            return text(obj(lease, "metadata"), "uid") != before

        await eventually_async(created_again, what="the Lease to be created again")
        assert text(await spec_of(kube, namespace), "holderIdentity") == "a"
    assert (first.leads(), first.lost, second.leads()) == (True, [], False)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_candidate_takes_over_a_deleted_lease_whose_leader_does_not_come_back(
    kube: KubeClient, namespace: str, enter: Enter
) -> None:
    held: JsonObject = {"holderIdentity": ELSEWHERE, "leaseDurationSeconds": 3600, "renewTime": LONG_AGO}
    await kube.create(LEASES, {"metadata": {"name": LEASE}, "spec": held}, namespace=namespace)
    candidate = enter(identity="b")
    waiting = asyncio.create_task(candidate.leadership.acquire())
    await eventually(lambda: candidate.leadership.holder, what="the candidate to see the leader")
    deleted = time.monotonic()
    await kube.delete(LEASES, LEASE, namespace=namespace)
    async with asyncio.timeout(60):
        await waiting
    assert time.monotonic() - deleted >= TERM
    assert candidate.leads()


async def test_an_unrelated_edit_of_the_lease_changes_nothing(kube: KubeClient, namespace: str, enter: Enter) -> None:
    first = enter(identity="a")
    await first.leadership.acquire()
    before = text(await spec_of(kube, namespace), "renewTime")
    await kube.patch(LEASES, LEASE, {"metadata": {"labels": {"seen": "yes"}}}, namespace=namespace)

    async def renewed() -> bool:
        return text(await spec_of(kube, namespace), "renewTime") != before

    deadline = time.monotonic() + 20
    while not await renewed():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    assert first.leads()
    assert first.lost == []


async def test_a_lost_candidate_can_lead_again(kube: KubeClient, namespace: str, enter: Enter) -> None:
    first = enter(identity="a")
    await first.leadership.acquire()
    await kube.patch(LEASES, LEASE, {"spec": {"holderIdentity": ELSEWHERE}}, namespace=namespace)
    await eventually(lambda: first.lost, what="the loss to be noticed")
    await kube.patch(LEASES, LEASE, {"spec": {"holderIdentity": ""}}, namespace=namespace)
    await first.leadership.acquire()
    assert first.leads()


async def test_a_missing_namespace_is_an_error_that_names_the_fix(kube: KubeClient) -> None:
    leadership = LeaderElector(
        kube, namespace="no-such-namespace", name=LEASE, lease_seconds=TERM, on_lost=lambda: None
    )
    with pytest.raises(KubeError, match=r'"no-such-namespace" .* XAPP_LEADER_ELECTION_NAMESPACE') as caught:
        await leadership.acquire()
    assert caught.value.permanent


async def test_a_missing_permission_is_an_error_that_names_it(kube: KubeClient, namespace: str) -> None:
    nobody = kube.impersonate(f"system:serviceaccount:{namespace}:default")
    leadership = LeaderElector(nobody, namespace=namespace, name=LEASE, lease_seconds=TERM, on_lost=lambda: None)
    with pytest.raises(AccessDenied, match='cannot get resource "leases"'):
        await leadership.acquire()


async def test_a_permission_that_is_denied_for_a_moment_is_no_error(kube: KubeClient, namespace: str) -> None:
    nobody = kube.impersonate(f"system:serviceaccount:{namespace}:default")
    leadership = LeaderElector(nobody, namespace=namespace, name=LEASE, lease_seconds=LONG_TERM, on_lost=lambda: None)
    with capture_logs() as logs:
        acquiring = asyncio.create_task(leadership.acquire())
        await eventually(lambda: [each for each in logs if each["event"] == "lease not acquired"], what="a denial")
        leases: JsonObject = {"apiGroups": [LEASES.group], "resources": [LEASES.plural], "verbs": ["*"]}
        await grant_to_default(kube, namespace, leases)
        await asyncio.wait_for(acquiring, TERM * 10)
    assert leadership.is_leader
    await leadership.release()
