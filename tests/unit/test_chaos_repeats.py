"""A round of `make chaos` is lost when an operator repeats a step of helm that had succeeded, unasked."""

from __future__ import annotations

import json
import random
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import FAULTS, FaultResult
from tests.chaos.fleet import Fleet, Kind
from tests.chaos.invariants import History, losses
from tests.chaos.scene import Fault, Scene
from tests.chaos.snapshot import Snapshot, parse_snapshot
from tests.chaos.system import System
from tests.localcluster import Cluster
from tests.support.helm_user import HelmUser
from tests.support.release_records import pack_record, record_name

Json = dict[str, Any]
CLUSTER = Cluster(kubeconfig=Path(), server="", token="", kubectl_path=Path(), helm_path=Path())
KEY = ("chaos-a", "plain-0")
REPEATS = "chaos-a/plain-0: revision {} repeats revision {}, which had succeeded"


@dataclass(frozen=True)
class Step:
    """A step of helm as its record has it; by default an upgrade by an operator that succeeded."""

    attempt: str
    values: str
    chart: str = "chart"
    status: str = "superseded"
    description: str = "Upgrade complete"
    readable: bool = True

    def secret(self, revision: int) -> Json:
        labels = {
            "owner": "helm",
            "name": KEY[1],
            "version": str(revision),
            "status": self.status,
            "xapp-operator.io/attempt": self.attempt,
            "xapp-operator.io/chart-digest": self.chart,
            "xapp-operator.io/values-digest": self.values,
        }
        payload = {"manifest": f"{self.chart} {self.values}", "info": {"description": self.description}}
        return {
            "kind": "Secret",
            "metadata": {"namespace": KEY[0], "name": record_name(KEY[1], revision), "labels": labels},
            "data": {"release": pack_record(payload) if self.readable else "damaged"},
        }


INSTALL = Step("one", "a", description="Install complete")
SECOND = Step("two", "b")
THIRD = Step("three", "c")
AGAIN = replace(SECOND, attempt="again")
BY_HAND = Step("two", "b")  # helm copies the labels of the revision before
FAILED = replace(SECOND, status="failed", description='Upgrade "plain-0" failed: interrupted')
ROLLBACK = replace(INSTALL, description="Rollback to 1")


def release(*steps: Step | None, first: int = 1) -> Snapshot:
    """Return the records of a release: the newest is deployed, and None is a revision without a record."""
    found = [
        (replace(step, status="deployed") if revision == first + len(steps) - 1 else step).secret(revision)
        for revision, step in enumerate(steps, first)
        if step is not None
    ]
    return parse_snapshot(found)


def find_repeats(before: Snapshot, now: Snapshot, *, hit: tuple[int, ...] = (), may_repeat: int = 0) -> list[str]:
    history = {key: History(records, hit) for key, records in before.records.items()}
    found = losses(Fleet(CLUSTER, count=1, charts_url=""), now, history, {KEY: may_repeat})
    return [each for each in found if "repeats" in each]


@pytest.mark.parametrize(
    ("before", "now", "repeated"),
    [
        (release(INSTALL, SECOND), release(INSTALL, SECOND, AGAIN), [3]),
        (release(INSTALL), release(INSTALL, SECOND, AGAIN), [3]),
        (release(INSTALL), release(INSTALL, replace(INSTALL, attempt="again", description="Upgrade complete")), [2]),
        (release(), release(INSTALL, replace(INSTALL, attempt="again", description="Upgrade complete")), [2]),
        (release(INSTALL, SECOND), release(INSTALL, SECOND, AGAIN, THIRD), [3]),
        (release(INSTALL, SECOND), release(SECOND, AGAIN, Step("x", "b"), Step("y", "b"), first=2), [3, 4, 5]),
        (release(INSTALL, SECOND), release(Step("x", "b"), Step("y", "b"), first=8), [9]),
        (release(INSTALL, SECOND, AGAIN), release(INSTALL, SECOND, AGAIN, Step("x", "b")), [4]),
    ],
    ids=[
        "upgrade",
        "upgrade of this round",
        "install",
        "install of this round",
        "upgrade before a change",
        "upgrades one after the other",
        "upgrades whose first ones are pruned",
        "upgrade after one that an earlier round has counted",
    ],
)
def test_a_step_that_had_succeeded_must_not_be_repeated(before: Snapshot, now: Snapshot, repeated: list[int]) -> None:
    assert find_repeats(before, now) == [REPEATS.format(each, each - 1) for each in repeated]


@pytest.mark.parametrize(
    "now",
    [
        release(INSTALL, SECOND, THIRD),
        release(INSTALL, SECOND, replace(AGAIN, chart="other")),
        release(INSTALL, FAILED, AGAIN),
        release(INSTALL, replace(FAILED, status="superseded"), AGAIN),
        release(replace(INSTALL, description="superseded by new release"), replace(INSTALL, attempt="again")),
        release(INSTALL, SECOND, replace(AGAIN, status="failed", description="Upgrade failed"), THIRD),
        release(INSTALL, SECOND, BY_HAND),
        release(INSTALL, SECOND, BY_HAND, AGAIN),
        release(INSTALL, SECOND, ROLLBACK, replace(INSTALL, attempt="again")),
        release(INSTALL, SECOND, replace(SECOND, description="Rollback to 2")),
        release(SECOND, None, AGAIN),
        release(INSTALL, replace(SECOND, readable=False), AGAIN),
        release(INSTALL, replace(SECOND, attempt=""), replace(AGAIN, attempt="")),
    ],
    ids=[
        "other values",
        "other chart",
        "first failed",
        "first failed and was called superseded later",
        "first failed and was replaced by an install",
        "second failed",
        "second by hand",
        "first by hand",
        "first is a rollback",
        "second is a rollback",
        "not in a row",
        "first is damaged",
        "both by hand, without an operator before",
    ],
)
def test_other_revisions_in_a_row_are_no_repeats(now: Snapshot) -> None:
    assert find_repeats(release(INSTALL), now) == []


def test_a_revision_by_hand_is_known_although_the_one_whose_labels_it_has_is_pruned() -> None:
    now = release(BY_HAND, AGAIN, first=3)
    assert find_repeats(release(INSTALL, SECOND), now) == []
    assert find_repeats(release(INSTALL), now) == [REPEATS.format(4, 3)]


@pytest.mark.parametrize(("may_repeat", "repeated"), [(0, [3, 4]), (1, [4]), (2, [])])
def test_each_request_and_each_helm_of_a_person_excuses_one_repeat(may_repeat: int, repeated: list[int]) -> None:
    now = release(INSTALL, SECOND, AGAIN, Step("x", "b"))
    found = find_repeats(release(INSTALL, SECOND), now, may_repeat=may_repeat)
    assert found == [REPEATS.format(each, each - 1) for each in repeated]


def test_a_repeat_counts_in_one_round_only() -> None:
    before = release(INSTALL, SECOND, AGAIN)
    assert find_repeats(before, before) == []
    assert find_repeats(before, release(SECOND, AGAIN, THIRD, first=2)) == []


def test_a_revision_whose_record_the_fault_has_removed_is_made_again() -> None:
    """The one before it may be the same, because an earlier round asked for an upgrade."""
    before, now = release(INSTALL, SECOND, AGAIN), release(INSTALL, SECOND, Step("x", "b"))
    assert find_repeats(before, now, hit=(3,)) == []
    assert find_repeats(before, now, hit=(2,)) == []
    assert find_repeats(before, now, hit=(1,)) == [REPEATS.format(3, 2)]


@pytest.mark.parametrize(
    ("fault", "kind", "counted"),
    [
        ("objects deleted by hand", Kind.PLAIN, 1),
        ("objects deleted by hand", Kind.DRIFT, 0),
        ("helm upgrade by hand", Kind.PLAIN, 1),
        ("helm rollback by hand", Kind.PLAIN, 1),
        ("people act at the same time", Kind.PLAIN, 2),
        ("newest record damaged", Kind.PLAIN, 1),
        ("redirects in a circle", Kind.STORED, 1),
        ("newest record deleted", Kind.PLAIN, 0),
        ("kubectl scale", Kind.DRIFT, 0),
    ],
)
def test_a_fault_counts_the_requests_and_the_helms_of_people(
    monkeypatch: pytest.MonkeyPatch, fault: str, kind: Kind, counted: int
) -> None:
    record = json.dumps({"metadata": {"name": "record"}, "data": {"release": pack_record({})}})
    monkeypatch.setattr(Cluster, "kubectl", lambda *arguments, **_: record if "json" in arguments else "1 2")
    monkeypatch.setattr(HelmUser, "_helm", lambda *_: "")
    fleet = Fleet(CLUSTER, count=len(Kind), charts_url="")
    fleet.xapps[:] = [each for each in fleet.xapps if each.kind is kind]
    charts = SimpleNamespace(add=lambda *_: None, redirecting=lambda *_: nullcontext())
    system = SimpleNamespace(cluster=CLUSTER, charts=charts, pause=lambda _seconds: None)
    scene = Scene(cast("System", system), fleet, random.Random(1), 1)
    next(each for each in FAULTS if each.name == fault).inject(scene)
    assert sum(scene.may_repeat.values()) == counted


@pytest.mark.parametrize(("may_repeat", "lost"), [(0, [f"round 1: {REPEATS.format(3, 2)}"]), (1, [])])
def test_a_round_with_a_repeat_is_lost(monkeypatch: pytest.MonkeyPatch, may_repeat: int, lost: list[str]) -> None:
    now = release(INSTALL, SECOND, AGAIN)
    monkeypatch.setattr(campaign, "read_snapshot", lambda *_arguments, **_options: now)
    system = SimpleNamespace(
        cluster=CLUSTER,
        wait=lambda condition, _seconds: condition(),
        helm_processes=list,
        helm_watch=SimpleNamespace(take=list),
        new_error_lines=list,
        new_events=lambda _reason: 2,
    )
    scene = Scene(cast("System", system), Fleet(CLUSTER, count=1, charts_url=""), random.Random(1), 1)
    scene.may_repeat[KEY] = may_repeat
    result = FaultResult()
    campaign._finish_round(scene, Fault(name="x", inject=lambda _: None), result, {})
    assert [each for each in result.lost if "repeats" in each] == lost
    assert result.leftovers == 2
