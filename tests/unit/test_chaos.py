"""What `make chaos` counts as lost: each rule finds what breaks it, and nothing else."""

from __future__ import annotations

import copy
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import __main__ as command_line
from tests.chaos.api_server_refusals import USER, answering_reads_with_500, expired_watches, refusals
from tests.chaos.campaign import FAULTS, FaultResult, Plan, table
from tests.chaos.fleet import EDITED_IMAGE
from tests.chaos.helm_processes import HelmProcess, find_helm_processes, overlaps
from tests.chaos.invariants import History, find_never_healthy, losses, lost_history, unexplained
from tests.chaos.scene import CONVERGENCE_SECONDS
from tests.chaos.snapshot import LABEL, Record, XAppKey, parse_snapshot
from tests.localcluster import Cluster, KubectlFailed
from tests.localcluster.processes import ProcessIdentity
from tests.support.chaos_fleet import CLUSTER, add_drifted, deployment_spec, find, new_fleet, objects_of, set_condition
from tests.support.release_records import pack_record, record_name

Json = dict[str, Any]
RECORD = record_name("plain-0", 1)


def history_of(items: list[Json]) -> dict[XAppKey, History]:
    return {key: History(records) for key, records in parse_snapshot(items).records.items()}


def test_nothing_is_lost_when_everything_has_converged() -> None:
    fleet = new_fleet()
    items = [item for each in fleet.xapps for item in objects_of(each)]
    assert losses(fleet, parse_snapshot(items), history_of(items), {}) == []


LOSSES: dict[str, tuple[Callable[[list[Json]], object], str]] = {
    "not ready": (lambda items: set_condition(items, "plain-0", status="False"), "plain-0: must be Ready"),
    "old generation": (lambda items: set_condition(items, "plain-0", observedGeneration=0), "plain-0: must be Ready"),
    "other values": (
        lambda items: find(items, "ConfigMap", "plain-0")["data"].update(greeting="other"),
        "plain-0: the greeting in force is 'other'",
    ),
    "drift": (
        lambda items: find(items, "Deployment", "drift-2").update(spec=deployment_spec(replicas=3)),
        "drift-2: not corrected: 3 replicas",
    ),
    "edit": (
        lambda items: find(items, "Deployment", "drift-2").update(spec=deployment_spec(image=EDITED_IMAGE)),
        "drift-2: not corrected: the image",
    ),
    "drift that is not told": (
        lambda items: find(items, "Deployment", "plain-0").update(spec=deployment_spec(replicas=3, image=EDITED_IMAGE)),
        "plain-0: not told: 3 replicas, the image",
    ),
    "drift that does not exist": (
        lambda items: add_drifted(items, "plain-0"),
        "plain-0: Drifted is True, but nobody has changed anything",
    ),
    "two deployed": (
        lambda items: find(items, "Secret", RECORD)["metadata"]["labels"].update(status="deployed"),
        "plain-0: one record must be deployed",
    ),
    "pending": (
        lambda items: find(items, "Secret", RECORD)["metadata"]["labels"].update(status="pending-upgrade"),
        "plain-0: one record must be deployed",
    ),
    "history": (
        lambda items: items.remove(find(items, "Secret", RECORD)),
        "plain-0: revision 1 is gone, though not beyond maxHistory: [2]",
    ),
    "manifest": (
        lambda items: find(items, "Secret", RECORD)["data"].update(release=pack_record({"manifest": "other"})),
        "plain-0: revision 1 has another manifest",
    ),
    "damaged": (
        lambda items: find(items, "Secret", RECORD)["data"].update(release="damaged"),
        "plain-0: revision 1 has another manifest",
    ),
    "no XApp": (lambda items: items.remove(find(items, "XApp", "plain-0")), "plain-0: does not exist"),
    "orphan": (
        lambda items: items.append(
            {"kind": "Service", "metadata": {"namespace": "chaos-a", "name": "left", "labels": {LABEL: "gone"}}}
        ),
        "gone: a Service is left, but no XApp",
    ),
    "duplicate": (
        lambda items: items.append(copy.deepcopy(find(items, "Deployment", "plain-0"))),
        "plain-0: 2 Deployments instead of 1",
    ),
}


@pytest.mark.parametrize("case", LOSSES)
def test_each_loss_is_found(case: str) -> None:
    fleet = new_fleet()
    items = [item for each in fleet.xapps for item in objects_of(each)]
    lose, expected = LOSSES[case]
    history = history_of(items)
    lose(items)
    found = losses(fleet, parse_snapshot(items), history, {})
    assert any(expected in each for each in found), found


def test_drift_that_is_told_is_no_loss_where_it_is_not_corrected() -> None:
    fleet = new_fleet()
    items = [item for each in fleet.xapps for item in objects_of(each)]
    for name in ("plain-0", "drift-2"):
        find(items, "Deployment", name).update(spec=deployment_spec(replicas=3))
        add_drifted(items, name)
    assert losses(fleet, parse_snapshot(items), {}, {}) == ["chaos-a/drift-2: not corrected: 3 replicas"]


def records(statuses: str, *, first: int = 1) -> dict[int, Record]:
    """Return records by revision: d(eployed), s(uperseded), f(ailed), or a dot for none."""
    names = {"d": "deployed", "s": "superseded", "f": "failed"}
    return {
        revision: Record(names[letter], f"digest {revision}")
        for revision, letter in enumerate(statuses, first)
        if letter != "."
    }


@pytest.mark.parametrize(
    ("before", "hit", "after", "lost"),
    [
        ("sssd", (), ".sssd", []),
        ("sssd", (), "s.ssd", ["revision 2 is gone"]),
        ("sssd", (), ".ss.d", ["revision 4 is gone", "3 records"]),
        ("sssd", (), "..ss.d", ["3 records"]),
        ("sfsd", (), "s.ssd", []),
        ("sfsd", (), ".fssd", ["revision 1 is gone"]),
        ("sd", (), "ssd", []),
        ("sd", (), ".d", ["revision 1 is gone", "1 records"]),
        ("sfd", (), "s.d", ["2 records"]),
        ("sds", (), ".sssd", []),
        ("sds", (), "ss.fd", []),
        ("sssd", (4,), "sssd", []),
        ("sssd", (4,), "ss.d", ["revision 3 is gone"]),
        ("sssd", (3,), "ss.sd", []),
        ("sssd", (3,), "...sd", ["revision 1 is gone", "revision 2 is gone", "2 records"]),
        ("sssd", (5,), ".ssd", []),
        ("sssd", (5,), ".ss.d", ["revision 4 is gone"]),
        ("sssd", (1, 2, 3), "sss.d", ["revision 4 is gone"]),
        ("sssd", (), "........sssd", []),
        ("sssd", (), "", ["revision 1 is gone", "revision 2", "revision 3", "revision 4", "0 records"]),
    ],
)
def test_a_revision_is_lost_unless_the_fault_hit_it_or_it_was_pruned(
    before: str, hit: tuple[int, ...], after: str, lost: list[str]
) -> None:
    found = lost_history(new_fleet().xapps[0], History(records(before), hit), records(after))
    assert [each[: len(start)] for each, start in zip(found, lost, strict=True)] == lost, found


def test_the_target_of_a_rollback_may_stay_instead_of_a_newer_revision() -> None:
    xapp, history, now = new_fleet().xapps[0], History(records("sssd")), records("s.ssd")
    assert lost_history(xapp, history, now) != []
    xapp.annotations["xapp-operator.io/rollback-to"] = "1@5"
    assert lost_history(xapp, history, now) == []


@pytest.mark.parametrize(
    ("never_healthy", "after", "lost"),
    [
        ((), "s.ssd", ["revision 2 is gone"]),
        ((2,), "s.ssd", []),
        ((3,), "s.ssd", ["revision 2 is gone"]),
        ((2,), "ss.sd", ["revision 3 is gone"]),
        ((2, 3), "s..sds", []),
        # What was in force can become one of these meanwhile; it makes place for an older one.
        ((), "sss.d", []),
        ((), "ss..dd", ["revision 3 is gone", "revision 4 is gone"]),
        ((4,), "sss.d", []),
    ],
)
def test_a_revision_that_never_was_healthy_may_be_gone_instead_of_an_older_one(
    never_healthy: tuple[int, ...], after: str, lost: list[str]
) -> None:
    told = [{"revision": each, "wasHealthy": each not in never_healthy} for each in (4, 3, 2, 1)]
    history = History(records("sssd"), never_healthy=find_never_healthy({"status": {"history": told}}))
    found = lost_history(new_fleet().xapps[0], history, records(after))
    assert [each[: len(start)] for each, start in zip(found, lost, strict=True)] == lost, found


def test_a_rollback_that_is_not_handled_has_not_converged() -> None:
    xapp = new_fleet().xapps[0]
    snapshot = parse_snapshot(objects_of(xapp))
    xapp.annotations["xapp-operator.io/rollback-to"] = "1@5"
    assert xapp.difference(snapshot) == "rollback-to is not handled"


def test_a_failing_change_must_be_stalled_for_its_reason() -> None:
    xapp = new_fleet().xapps[0]
    xapp.stalled = frozenset({"HealthCheckFailed"})
    items = objects_of(xapp)
    assert "must be Stalled" in xapp.difference(parse_snapshot(items))
    conditions = find(items, "XApp", xapp.name)["status"]["conditions"]
    conditions.append({**conditions[0], "type": "Stalled", "reason": "HealthCheckFailed"})
    assert xapp.difference(parse_snapshot(items)) == ""


def test_only_explained_errors_are_accepted() -> None:
    assert unexplained(["leadership lost", "reconcile failed"], ["leadership lost"]) == ["reconcile failed"]


def test_helm_processes_of_one_release_or_of_two_replicas_must_not_overlap() -> None:
    first, second = ProcessIdentity.current(), ProcessIdentity(1, "another process")

    def process(identity: ProcessIdentity, replica: str, release: str) -> HelmProcess:
        return HelmProcess(identity, replica, "upgrade", ("chaos-a", release))

    one = process(first, "one", "x")
    assert len(overlaps([one, process(first, "one", "x")])) == 1
    assert len(overlaps([one, process(first, "two", "y")])) == 1
    assert overlaps([one, process(first, "one", "y")]) == set()
    assert overlaps([one, process(second, "two", "x")]) == set(), "the second has ended"


def test_a_helm_process_is_found_by_its_folder_and_arguments(tmp_path: Path) -> None:
    (tmp_path / "upgrade").write_text("import sys; print(flush=True); sys.stdin.read()")
    with subprocess.Popen(
        ["helm", "upgrade", "--namespace=chaos-a", "--", "x", "chart.tgz"],
        executable=sys.executable,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (found,) = find_helm_processes({"two": tmp_path / "other", "one": tmp_path})
        assert (found.identity.pid, found.replica) == (process.pid, "one")
        assert (found.command, found.release) == ("upgrade", ("chaos-a", "x"))
        process.communicate()
    assert find_helm_processes({"one": tmp_path}) == []


def test_the_table_has_a_line_for_each_fault_and_a_sum() -> None:
    killed = FaultResult(times=4, converged=2, without_effect=1, late=1, slowest=4.25, leftovers=3, lost=["x"])
    text = table({"helm killed": killed, "etcd frozen": FaultResult(times=1, converged=1, slowest=9.0)})
    assert [re.split(r" {2,}", line) for line in text.splitlines()][1:] == [
        ["etcd frozen", "1", "1", "0", "0", "9.0", "0", "0"],
        ["helm killed", "4", "2", "1", "1", "4.2", "3", "1"],
        ["all", "5", "3", "1", "1", "9.0", "3", "1"],
    ]


@pytest.mark.parametrize(
    ("seconds", "converged", "late"), [(30.0, True, False), (30.1, True, True), (20.0, False, True)]
)
def test_a_round_that_converges_after_the_limit_is_late(seconds: float, converged: bool, late: bool) -> None:
    result = FaultResult()
    assert result.add_round(seconds, converged=converged, limit=30.0) is late
    assert (result.times, result.converged, result.late) == (1, int(not late), int(late))
    assert result.failed is late


def test_a_round_without_effect_is_neither_converged_nor_lost() -> None:
    result = FaultResult()
    result.add_round(5.0, converged=True, limit=30.0, effect=False)
    assert (result.times, result.converged, result.without_effect, result.failed) == (1, 0, 1, False)


def test_refused_requests_of_the_operators_are_counted_by_verb(tmp_path: Path) -> None:
    def event(verb: str, *, code: int = 500, user: str = USER, stage: str = "ResponseComplete", second: int = 1) -> str:
        written = f"2026-01-01T00:00:0{second}.000000Z"
        status = {"responseStatus": {"code": code}, "stageTimestamp": written}
        return json.dumps({"verb": verb, "stage": stage, "user": {"username": user}, **status}, separators=(",", ":"))

    counted = [event("get"), event("get"), event("watch", second=2)]
    others = [
        event("list", code=429),
        event("list", user="local-admin"),
        event("list", stage="ResponseStarted"),
        event("list", second=0),
    ]
    log = tmp_path / "audit.log"
    log.write_text("\n".join([*counted, *others, ""]))
    since = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    found = refusals(replace(CLUSTER, audit_log=log), HTTPStatus.INTERNAL_SERVER_ERROR, since=since)
    assert found == {"get": 2, "watch": 1}


def test_a_watch_that_ended_at_once_is_too_old_if_the_api_server_says_410(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def event(
        path: str, *, query: str = "resourceVersion=7", user: str = USER, began: int = 1, ended: float = 1
    ) -> str:
        times = {
            "requestReceivedTimestamp": f"2026-01-01T00:00:0{began}.000000Z",
            "stageTimestamp": f"2026-01-01T00:00:{ended:09.6f}Z",
        }
        what = {"verb": "watch", "stage": "ResponseComplete", "requestURI": f"{path}?{query}"}
        return json.dumps({**what, "user": {"username": user}, **times}, separators=(",", ":"))

    log = tmp_path / "audit.log"
    events = [
        event("/expired", ended=1.4),
        event("/refused"),
        event("/lasting", ended=1.6),
        event("/earlier", began=0, ended=0),
        event("/of-another", user="local-admin"),
        event("/listing", query="sendInitialEvents=true"),
    ]
    log.write_text("\n".join([*events, ""]))

    def kubectl(_cluster: Cluster, *arguments: str) -> str:
        return '{"type":"ERROR","object":{"code":429}}' if "/refused?" in arguments[-1] else '{"object":{"code":410}}'

    monkeypatch.setattr(Cluster, "kubectl", kubectl)
    since = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert expired_watches(replace(CLUSTER, audit_log=log), since=since) == ["/expired of 7"]


def test_the_authorizer_that_fails_comes_first_and_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["allowed", ""])

    def kubectl(_cluster: Cluster, *_arguments: str) -> str:
        answer = next(answers)
        if not answer:
            raise KubectlFailed("Error from server (InternalError)")
        return answer

    monkeypatch.setattr(Cluster, "kubectl", kubectl)
    path = tmp_path / "authorization.json"
    before = '{"authorizers": [{"type": "RBAC", "name": "rbac"}]}'
    path.write_text(before)
    with answering_reads_with_500(CLUSTER, path, ("get", "list")):
        failing, rbac = json.loads(path.read_text())["authorizers"]
    (condition,) = failing["webhook"]["matchConditions"]
    assert f'request.user == "{USER}"' in condition["expression"]
    assert 'verb in ["get", "list"]' in condition["expression"]
    assert (failing["webhook"]["failurePolicy"], rbac["type"]) == ("Deny", "RBAC")
    assert path.read_text() == before
    assert next(answers, None) is None, "it waits until the API server refuses"


def test_everything_converges_soon_after_the_api_server_was_frozen_for_a_minute() -> None:
    limits = {each.name: each.limit for each in FAULTS}
    assert limits.pop("API server frozen for 60 s") == 30.0
    assert set(limits.values()) == {CONVERGENCE_SECONDS}


@pytest.mark.parametrize(("seconds", "code"), [(30.0, 0), (30.1, 1)])
def test_a_late_round_makes_the_run_fail(monkeypatch: pytest.MonkeyPatch, seconds: float, code: int) -> None:
    def run(_plan: Plan, _folder: Path, results: dict[str, FaultResult]) -> None:
        results["frozen"] = FaultResult()
        results["frozen"].add_round(seconds, converged=True, limit=30.0)

    monkeypatch.setattr(command_line, "run", run)
    monkeypatch.setattr(command_line, "_keep_logs", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert command_line.main(["--seed", "1"]) == code


def test_faults_have_different_names() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS)


def test_as_many_rounds_as_there_are_faults_have_each_of_them() -> None:
    plan = Plan(seed=7, rounds=3 * len(FAULTS))
    cycles = [[plan.fault(1 + cycle * len(FAULTS) + number) for number in range(len(FAULTS))] for cycle in range(3)]
    assert all({each.name for each in cycle} == {each.name for each in FAULTS} for cycle in cycles)
    assert cycles[0] != cycles[1]
    assert Plan(seed=7, rounds=1, first_round=3).fault(3) == cycles[0][2], "a round can be repeated"
    assert Plan(seed=8, rounds=1).fault(3) != cycles[0][2] or Plan(seed=8, rounds=1).fault(4) != cycles[0][3]
