"""When a candidate leads, and when it stops, to the second: in simulated time, with an API server in memory."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.support.fakes.kinds import KINDS
from tests.unit.kube.fake_cluster import MORE_KINDS, FakeCluster
from xapp_operator.api.json import JsonObject, obj
from xapp_operator.errors import AccessDenied, ApiUnavailable, KubeError, NotFound
from xapp_operator.kube import leader_election, startup_denials
from xapp_operator.kube.leader_election import LeaderElector
from xapp_operator.kube.resources import LEASES
from xapp_operator.kube.transport import ApiRequest

TERM = 15.0
ELSEWHERE = "other-host/1/1/another-machine"
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    for version, kinds in MORE_KINDS.items():
        monkeypatch.setitem(KINDS, version, kinds)
    made = FakeCluster()
    for module in (leader_election, startup_denials):
        monkeypatch.setattr(module, "time", made.clock)
    return made


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a candidate that waits ask every two seconds."""
    monkeypatch.setattr(random, "uniform", lambda _, high: high)


class Candidate:
    """A candidate, and when it lost the lead and until when it led after each renewal."""

    def __init__(self, cluster: FakeCluster, identity: str = "a", *, seconds: float = TERM) -> None:
        self.lost_at: list[float] = []
        self.ends: list[float] = []
        self.elector = LeaderElector(
            cluster.kube,
            namespace="ns",
            name="operator",
            lease_seconds=seconds,
            on_lost=self._on_lost,
            on_renewed=self.ends.append,
            identity=identity,
        )
        self._clock = cluster.clock

    def _on_lost(self) -> None:
        assert not self.leads()
        self.lost_at.append(self._clock.monotonic())

    def leads(self) -> bool:
        return self.elector.is_leader


def spec_of(cluster: FakeCluster) -> JsonObject:
    lease = cluster.server.find("leases", "operator")
    assert lease is not None
    return obj(lease, "spec")


async def hold(cluster: FakeCluster, **spec: Any) -> None:
    """Let another candidate hold the Lease."""
    held = {"holderIdentity": ELSEWHERE, "renewTime": "2001-01-01T00:00:00.000000Z", **spec}
    await cluster.create(LEASES, "operator", namespace="ns", spec=held)


def test_the_first_candidate_creates_the_lease_and_renews_it_each_third(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster, seconds=14.5)
        assert (one.leads(), one.elector.holder) == (False, None)
        async with one.elector as entered:
            assert entered is one.elector
            assert (one.leads(), one.elector.holder) == (True, "a")
            created = spec_of(cluster)
            assert {name: created[name] for name in ("holderIdentity", "leaseDurationSeconds", "leaseTransitions")} == {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "leaseTransitions": 0,
            }
            assert all(MICRO_TIME.fullmatch(str(created[name])) for name in ("acquireTime", "renewTime"))
            await asyncio.sleep(14.5 + 1)
            assert one.ends == pytest.approx([14.5 * 2 / 3, 14.5, 14.5 * 4 / 3, 14.5 * 5 / 3])
            assert one.leads()
            assert len(cluster.requests("GET")) == 1  # a renewal reads nothing
            renewed = spec_of(cluster)
            assert renewed["acquireTime"] == created["acquireTime"]
            assert renewed["renewTime"] != created["renewTime"]
        assert not one.leads()
        released = spec_of(cluster)
        assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)
        assert MICRO_TIME.fullmatch(str(released["renewTime"]))
        assert one.lost_at == []

    cluster.run(main())


def test_another_candidate_waits_until_the_leader_steps_down(cluster: FakeCluster) -> None:
    async def main() -> None:
        one, two = Candidate(cluster, "a"), Candidate(cluster, "b")
        await one.elector.acquire()
        renewing = len(cluster.requests("GET"))
        waiting = asyncio.create_task(two.elector.acquire())
        await asyncio.sleep(100)
        assert (one.leads(), two.leads(), two.elector.holder) == (True, False, "a")
        assert len(cluster.requests("GET")) > renewing + 1
        await one.elector.release()
        released_at = cluster.clock.monotonic()
        await waiting
        assert cluster.clock.monotonic() - released_at <= 2
        assert two.leads()
        assert (spec_of(cluster)["holderIdentity"], spec_of(cluster)["leaseTransitions"]) == ("b", 1)
        await two.elector.release()

    cluster.run(main())


@pytest.mark.parametrize(
    ("seconds", "shortest", "longest"), [(TERM, 1.6, 2.0), (3, 0.8, 1.0)], ids=["usual lease", "short lease"]
)
def test_a_candidate_asks_again_after_at_most_a_third_of_the_lease(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, seconds: float, shortest: float, longest: float
) -> None:
    async def main(pause: float) -> None:
        begun = cluster.clock.monotonic()
        asked: list[float] = []
        cluster.transport.before = lambda _: asked.append(cluster.clock.monotonic() - begun)
        waiting = asyncio.create_task(Candidate(cluster, seconds=seconds).elector.acquire())
        await asyncio.sleep(3.5 * pause)
        assert asked == pytest.approx([0, pause, 2 * pause, 3 * pause])
        waiting.cancel()

    cluster.run(hold(cluster, leaseDurationSeconds=3600))
    for drawn, pause in ((min, shortest), (max, longest)):
        monkeypatch.setattr(random, "uniform", drawn)
        cluster.run(main(pause))


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize(("held", "replaced_at"), [({"leaseDurationSeconds": 30}, 44), ({}, 28)])
def test_a_leader_that_stops_renewing_is_replaced_after_its_lease(
    cluster: FakeCluster, held: dict[str, Any], replaced_at: float
) -> None:
    async def main() -> None:
        await hold(cluster, leaseTransitions=4, **held)
        two = Candidate(cluster, "b")
        waiting = asyncio.create_task(two.elector.acquire())
        await asyncio.sleep(11)
        await cluster.kube.patch(LEASES, "operator", {"spec": {"renewTime": "later"}}, namespace="ns")
        await waiting
        assert cluster.clock.monotonic() == replaced_at  # noticed at 12; at the end of the lease, it is still held
        assert spec_of(cluster)["leaseTransitions"] == 5
        assert two.ends == [cluster.clock.monotonic() + 10]
        await two.elector.release()

    cluster.run(main())


@pytest.mark.parametrize(("holder", "transitions"), [("a", 4), ("", 5)])
def test_a_lease_of_nobody_or_of_ourselves_is_taken_at_once(
    cluster: FakeCluster, holder: str, transitions: int
) -> None:
    async def main() -> None:
        await hold(cluster, holderIdentity=holder, leaseDurationSeconds=60, leaseTransitions=4)
        one = Candidate(cluster)
        await one.elector.acquire()
        assert cluster.clock.monotonic() == 0
        assert spec_of(cluster)["leaseTransitions"] == transitions
        assert MICRO_TIME.fullmatch(str(spec_of(cluster)["acquireTime"]))
        await one.elector.release()

    cluster.run(main())


def test_candidates_that_start_together_do_not_both_lead(cluster: FakeCluster) -> None:
    async def main() -> None:
        both = [Candidate(cluster, name) for name in "ab"]
        tasks = [asyncio.create_task(each.elector.acquire()) for each in both]
        await asyncio.sleep(60)
        assert sorted(each.leads() for each in both) == [False, True]
        assert [task.done() for task in tasks] == [each.leads() for each in both]
        assert [each.lost_at for each in both] == [[], []]
        for task, each in zip(tasks, both, strict=True):
            task.cancel()
            await each.elector.release()

    cluster.run(main())


def test_a_leader_that_another_one_replaced_stops(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        await cluster.kube.patch(LEASES, "operator", {"spec": {"holderIdentity": ELSEWHERE}}, namespace="ns")
        await asyncio.sleep(60)
        assert one.lost_at == [TERM / 3]
        assert (one.leads(), one.elector.holder) == (False, None)
        sent = len(cluster.transport.requests)
        await one.elector.release()
        assert len(cluster.transport.requests) == sent  # it has nothing to release
        assert spec_of(cluster)["holderIdentity"] == ELSEWHERE

    cluster.run(main())


def test_a_leader_goes_on_when_its_lease_is_edited_or_deleted(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        await cluster.kube.patch(LEASES, "operator", {"metadata": {"labels": {"seen": "yes"}}}, namespace="ns")
        await asyncio.sleep(6)
        await cluster.kube.delete(LEASES, "operator", namespace="ns")
        await asyncio.sleep(60)
        assert (one.leads(), one.lost_at) == (True, [])
        assert spec_of(cluster)["holderIdentity"] == "a"
        assert one.ends == [10 + 5 * at for at in range(len(one.ends))]
        await one.elector.release()

    cluster.run(main())


def test_a_leader_whose_deleted_lease_another_one_creates_stops(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()

        def create_first(request: ApiRequest) -> Coroutine[Any, Any, None] | None:
            if request.method != "POST":
                return None
            cluster.transport.before = lambda _: None
            return hold(cluster)

        await cluster.kube.delete(LEASES, "operator", namespace="ns")
        cluster.transport.before = create_first
        await asyncio.sleep(60)
        assert (one.lost_at, one.ends) == ([TERM / 3], [TERM * 2 / 3])
        assert spec_of(cluster)["holderIdentity"] == ELSEWHERE

    cluster.run(main())


def unavailable(_: ApiRequest) -> None:
    raise ApiUnavailable("the API server does not answer")


def test_a_leader_that_cannot_renew_stops_before_others_may_lead(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        tried: list[float] = []

        def fail(request: ApiRequest) -> None:
            tried.append(cluster.clock.monotonic())
            unavailable(request)

        cluster.transport.before = fail
        await asyncio.sleep(60)
        assert one.lost_at == [pytest.approx(TERM * 2 / 3)]
        assert tried == pytest.approx([5, 6, 7, 8, 9, 10])
        assert not one.leads()
        await one.elector.release()

    cluster.run(main())


def test_a_leader_goes_on_after_a_short_outage(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        cluster.transport.before = unavailable
        await asyncio.sleep(6.5)
        cluster.transport.before = lambda _: None
        await asyncio.sleep(6)
        assert one.ends == pytest.approx([10, 17, 22])
        assert (one.leads(), one.lost_at) == (True, [])
        await one.elector.release()

    cluster.run(main())


def test_a_request_that_hangs_ends_the_lead_in_time(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        cluster.transport.before = lambda _: asyncio.sleep(3600)
        await asyncio.sleep(60)
        assert one.lost_at == [pytest.approx(TERM * 2 / 3)]

    cluster.run(main())


def test_a_pause_after_a_failure_ends_with_the_lead(cluster: FakeCluster) -> None:
    async def fail() -> None:
        await asyncio.sleep(4.5)
        raise ApiUnavailable("the API server does not answer")

    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        cluster.transport.before = lambda _: fail()
        await asyncio.sleep(60)
        assert one.lost_at == [pytest.approx(TERM * 2 / 3)]  # the renewal failed at 9.5

    cluster.run(main())


def test_a_lease_is_released_when_its_renewal_has_ended(cluster: FakeCluster) -> None:
    happened: list[str] = []

    async def renew_slowly() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(1)
            happened.append("the renewal has ended")

    def before(request: ApiRequest) -> Coroutine[Any, Any, None] | None:
        happened.append(request.method)
        return renew_slowly() if happened == ["PUT"] else None

    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        cluster.transport.before = before
        await asyncio.sleep(6)
        await one.elector.release()
        assert happened == ["PUT", "the renewal has ended", "GET", "PUT"]
        assert spec_of(cluster)["holderIdentity"] == ""

    cluster.run(main())


def test_a_release_that_hangs_or_fails_is_given_up(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        await one.elector.acquire()
        cluster.transport.before = lambda _: asyncio.sleep(3600)
        await one.elector.release()
        assert cluster.clock.monotonic() == pytest.approx(3)
        cluster.transport.before = lambda _: None
        two = Candidate(cluster)
        await two.elector.acquire()
        cluster.transport.before = unavailable
        await two.elector.release()
        assert not two.leads()
        await asyncio.sleep(60)
        assert one.lost_at == two.lost_at == []

    cluster.run(main())


@pytest.mark.usefixtures("steady")
def test_a_candidate_takes_over_a_deleted_lease_when_its_leader_has_had_time_to_stop(cluster: FakeCluster) -> None:
    async def main() -> None:
        await hold(cluster, leaseDurationSeconds=3600)
        two = Candidate(cluster, "b", seconds=16)
        waiting = asyncio.create_task(two.elector.acquire())
        await asyncio.sleep(11)
        assert two.elector.holder == ELSEWHERE
        await cluster.kube.delete(LEASES, "operator", namespace="ns")
        await asyncio.sleep(8)
        await hold(cluster, leaseDurationSeconds=3600)  # it comes back, and the time starts anew
        await asyncio.sleep(4)
        await cluster.kube.delete(LEASES, "operator", namespace="ns")
        await waiting
        assert cluster.clock.monotonic() == 24 + 16 + 2  # noticed at 24; after 16 seconds, the leader may still lead
        assert two.leads()
        await two.elector.release()

    cluster.run(main())


@pytest.fixture
def stat_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let process 77 run on this machine until its file is removed; it has started at tick 5."""
    for name, content in (
        ("sys/kernel/random/boot_id", "boot\n"),
        ("self/ns/pid", ""),
        ("77/stat", "77 (python) S" + " 0" * 18 + " 5 0"),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(leader_election, "PROC_DIRECTORY", tmp_path)
    return tmp_path / "77/stat"


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("deleted", [False, True], ids=["lease left", "lease deleted"])
def test_the_lease_of_a_process_that_has_ended_is_taken_at_once(
    cluster: FakeCluster, stat_file: Path, deleted: bool
) -> None:
    async def main() -> None:
        machine = f"boot.{(stat_file.parent.parent / 'self/ns/pid').stat().st_ino}"
        await hold(cluster, holderIdentity=f"host/77/5/{machine}", leaseDurationSeconds=3600)
        two = Candidate(cluster, "b")
        waiting = asyncio.create_task(two.elector.acquire())
        await asyncio.sleep(11)
        assert not waiting.done()
        if deleted:
            await cluster.kube.delete(LEASES, "operator", namespace="ns")
        shutil.rmtree(stat_file.parent)
        await waiting
        assert cluster.clock.monotonic() == 12
        await two.elector.release()

    cluster.run(main())


def test_what_waiting_cannot_help_is_an_error(cluster: FakeCluster) -> None:
    async def main() -> None:
        def no_namespace(request: ApiRequest) -> None:
            if request.method == "POST":
                raise NotFound("namespace")

        cluster.transport.before = no_namespace
        with pytest.raises(KubeError, match=r"the namespace .?ns.? of the Lease does not exist") as raised:
            await Candidate(cluster).elector.acquire()
        assert raised.value.permanent
        assert cluster.clock.monotonic() == 0

    cluster.run(main())


def denied(_: ApiRequest) -> None:
    raise AccessDenied("no")


def test_a_permission_is_missing_when_it_was_denied_for_a_lease_duration(cluster: FakeCluster) -> None:
    async def main() -> None:
        cluster.transport.before = denied
        waiting = asyncio.create_task(Candidate(cluster).elector.acquire())
        await asyncio.sleep(TERM - 0.1)
        assert not waiting.done()
        with pytest.raises(AccessDenied):
            await waiting
        assert cluster.clock.monotonic() <= TERM + 2

    cluster.run(main())


@pytest.mark.usefixtures("steady")
def test_denials_with_an_answer_between_them_count_anew(cluster: FakeCluster) -> None:
    async def main() -> None:
        await hold(cluster, leaseDurationSeconds=3600)
        cluster.transport.before = denied
        waiting = asyncio.create_task(Candidate(cluster).elector.acquire())
        await asyncio.sleep(11)
        cluster.transport.before = lambda _: None
        await asyncio.sleep(2)
        cluster.transport.before = denied
        with pytest.raises(AccessDenied):
            await waiting
        assert cluster.clock.monotonic() == 14 + TERM + 1

    cluster.run(main())


def test_denials_of_an_api_server_that_just_started_pass(cluster: FakeCluster) -> None:
    async def main() -> None:
        one = Candidate(cluster)
        cluster.transport.before = denied
        waiting = asyncio.create_task(one.elector.acquire())
        await asyncio.sleep(10)
        cluster.transport.before = lambda _: None
        await waiting
        assert one.leads()
        await one.elector.release()

    cluster.run(main())


def test_a_candidate_waits_for_an_api_server_that_does_not_answer(cluster: FakeCluster) -> None:
    async def main() -> None:
        cluster.transport.before = unavailable
        one = Candidate(cluster)
        waiting = asyncio.create_task(one.elector.acquire())
        await asyncio.sleep(30)
        assert not waiting.done()
        cluster.transport.before = lambda _: None
        await waiting
        assert cluster.clock.monotonic() <= 32
        await one.elector.release()

    cluster.run(main())
