"""What must hold after each round, whatever the fault was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.fleet import MAX_HISTORY, NAMED, Fleet, ManagedXApp
from tests.chaos.snapshot import Json, Record, Snapshot, XAppKey

SETTLED_STATUSES = frozenset({"deployed", "superseded", "failed"})
SUCCESSES = frozenset({"Install complete", "Upgrade complete"})
"""What helm says of a step that succeeded. The status does not tell: helm calls a failed try superseded when it has
replaced it. A rollback says so."""


@dataclass(frozen=True, slots=True)
class History:
    """The records of a release before a round, and the revisions whose records the fault of the round hits."""

    records: Mapping[int, Record]
    hit: Collection[int] = ()
    never_healthy: Collection[int] = ()
    """The revisions of which the status said that before the round."""


def losses(
    fleet: Fleet, snapshot: Snapshot, history: Mapping[XAppKey, History], may_repeat: Mapping[XAppKey, int]
) -> list[str]:
    """Return what is wrong with the objects.

    `history` is that of the releases that the fault does not remove, and `may_repeat` is explained at `Scene`.
    """
    return [
        *(f"{_name(each.key)}: {found}" for each in fleet.xapps if (found := each.difference(snapshot))),
        *_wrong_records(fleet, snapshot, history),
        *_repeats(fleet, snapshot, history, may_repeat),
        *_orphans(snapshot),
        *_duplicates(fleet, snapshot),
        *(f"{_name(each.key)}: {found}" for each in fleet.xapps for found in _wrong_names(fleet, each, snapshot)),
    ]


def unexplained(lines: Iterable[str], explains: Iterable[str]) -> list[str]:
    """Return the error lines that no pattern explains."""
    return [line for line in lines if not any(re.search(pattern, line) for pattern in explains)]


def _wrong_records(fleet: Fleet, snapshot: Snapshot, history: Mapping[XAppKey, History]) -> list[str]:
    found = []
    records = snapshot.records
    for xapp in fleet.xapps:
        revisions = records.get(xapp.key, {})
        statuses = {revision: record.status for revision, record in revisions.items()}
        counts = Counter(statuses.values())
        if counts["deployed"] != 1 or set(counts) - SETTLED_STATUSES:
            found.append(f"{_name(xapp.key)}: one record must be deployed and none in progress: {statuses}")
        if xapp.key in history:
            found += [f"{_name(xapp.key)}: {each}" for each in lost_history(xapp, history[xapp.key], revisions)]
    known = {each.key for each in fleet.xapps}
    return found + [f"{_name(key)}: a release without an XApp" for key in records if key not in known]


def find_never_healthy(xapp: Json) -> frozenset[int]:
    """Return the revisions of which the status says that they never were healthy."""
    told = xapp.get("status", {}).get("history", [])
    return frozenset(each["revision"] for each in told if each.get("wasHealthy") is False)


def lost_history(xapp: ManagedXApp, history: History, now: Mapping[int, Record]) -> list[str]:
    """Return which revisions are gone, or changed, that neither the fault nor `maxHistory` explains."""
    intact = {revision: record for revision, record in history.records.items() if revision not in history.hit}
    changed = [each for each in intact if each in now and now[each].manifest_digest != intact[each].manifest_digest]
    good = [each for each in _good(intact) if each not in history.never_healthy]
    later = max([*now, *history.hit], default=0) - max(good, default=0)
    kept, without_newest = _kept(xapp, good, later=later), _kept(xapp, good[:-1], later=later)
    was_in_force = bool(good) and intact[good[-1]].status == "deployed"
    if was_in_force and len(without_newest) == len(kept) and now.keys() >= {*without_newest}:
        # It may have become one that never was healthy for a minute, because somebody deleted its objects, for example.
        kept = without_newest
    gone = [each for each in kept if each not in now]
    least = min(len(intact), MAX_HISTORY - len(history.hit))
    found = [f"revision {each} has another manifest" for each in changed]
    found += [f"revision {each} is gone, though not beyond maxHistory: {sorted(now)}" for each in gone]
    return found + ([f"{len(now)} records are left of {least}"] if len(now) < least else [])


def _good(intact: Mapping[int, Record]) -> list[int]:
    """Return the revisions that are no failed tries; those after the deployed one are, whatever their status."""
    deployed = [each for each, record in intact.items() if record.status == "deployed"]
    in_force = max(deployed or intact, default=0)
    return sorted(each for each, record in intact.items() if record.status != "failed" and each <= in_force)


def _kept(xapp: ManagedXApp, good: Sequence[int], *, later: int) -> Sequence[int]:
    """Return the revisions that pruning leaves: the last good ones, as many as `later` ones leave room for.

    Those that failed or never were healthy are pruned first.
    """
    room = MAX_HISTORY - later - xapp.held
    return good[-room:] if room > 0 else []


def _repeats(
    fleet: Fleet, snapshot: Snapshot, history: Mapping[XAppKey, History], may_repeat: Mapping[XAppKey, int]
) -> list[str]:
    records = snapshot.records
    return [
        f"{_name(each.key)}: {found}"
        for each in fleet.xapps
        for found in repeated_steps(
            history.get(each.key, History({})), records.get(each.key, {}), may_repeat=may_repeat.get(each.key, 0)
        )
    ]


def repeated_steps(history: History, now: Mapping[int, Record], *, may_repeat: int) -> list[str]:
    """Return which revisions an operator has made although it had made the one before from the same chart and values.

    Both steps have succeeded. A correction of drift is no excuse: it makes no revision.
    """
    first_of_attempt: dict[str, int] = {}
    for revision, record in (*history.records.items(), *now.items()):
        first_of_attempt[record.attempt] = min(revision, first_of_attempt.get(record.attempt, revision))

    def find(records: Mapping[int, Record]) -> dict[str, int]:
        made = {
            revision: record
            for revision, record in records.items()
            if record.description in SUCCESSES
            and first_of_attempt[record.attempt] == revision  # a later one has the labels of this
            and revision not in history.hit
        }
        return {
            record.attempt: revision
            for revision, record in sorted(made.items())
            if revision - 1 in made and made[revision - 1].digests == record.digests
        }

    known = find(history.records)
    new = [revision for attempt, revision in find(now).items() if attempt not in known]
    return [f"revision {each} repeats revision {each - 1}, which had succeeded" for each in new[may_repeat:]]


def _orphans(snapshot: Snapshot) -> list[str]:
    return [
        f"{_name(owner)}: a {kind} is left, but no XApp"
        for kind, owner in snapshot.labelled
        if owner not in snapshot.xapps
    ]


def leftovers(fleet: Fleet, snapshot: Snapshot, owner: XAppKey, wanted: Collection[str] = ()) -> list[str]:
    """Return what is left of an XApp under the name of a greeting, other than the `wanted` names.

    Those of `Fleet.unrecorded` are explained.
    """
    names = sorted(snapshot.named.get(owner, frozenset()) - set(wanted))
    return [
        f"ConfigMap {name} is left of another revision" for name in names if (owner[0], name) not in fleet.unrecorded
    ]


def _wrong_names(fleet: Fleet, xapp: ManagedXApp, snapshot: Snapshot) -> list[str]:
    if xapp.kind not in NAMED:
        return []
    wanted = [xapp.name_after(each) for each in (xapp.in_force, xapp.deployed) if each]
    missing = wanted[0] not in snapshot.named.get(xapp.key, frozenset())
    return [
        *([f"ConfigMap {wanted[0]} of the greeting in force does not exist"] if missing else []),
        *leftovers(fleet, snapshot, xapp.key, wanted),
    ]


def _duplicates(fleet: Fleet, snapshot: Snapshot) -> list[str]:
    workloads = Counter(owner for kind, owner in snapshot.labelled if kind == "Deployment")
    return [
        f"{_name(each.key)}: {workloads[each.key]} Deployments instead of 1"
        for each in fleet.xapps
        if workloads[each.key] != 1
    ]


def _name(key: XAppKey) -> str:
    return "/".join(key)
