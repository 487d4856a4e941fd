"""What must hold after each round, whatever the fault was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.chaos.fleet import MAX_HISTORY, Fleet
from tests.chaos.snapshot import Snapshot, XAppKey

SETTLED_STATUSES = frozenset({"deployed", "superseded", "failed"})


def losses(fleet: Fleet, snapshot: Snapshot, history: Mapping[XAppKey, int]) -> list[str]:
    """Return what is wrong with the objects. `history` is the number of records before the round, where it counts."""
    return [
        *(f"{_name(each.key)}: {found}" for each in fleet.xapps if (found := each.difference(snapshot))),
        *_wrong_records(fleet, snapshot, history),
        *_orphans(snapshot),
        *_duplicates(fleet, snapshot),
    ]


def unexplained(lines: Iterable[str], explains: Iterable[str]) -> list[str]:
    """Return the error lines that no pattern explains."""
    return [line for line in lines if not any(re.search(pattern, line) for pattern in explains)]


def _wrong_records(fleet: Fleet, snapshot: Snapshot, history: Mapping[XAppKey, int]) -> list[str]:
    found = []
    records = snapshot.records
    for xapp in fleet.xapps:
        revisions = records.get(xapp.key, {})
        statuses = Counter(revisions.values())
        if statuses["deployed"] != 1 or set(statuses) - SETTLED_STATUSES:
            found.append(f"{_name(xapp.key)}: one record must be deployed and none in progress: {revisions}")
        kept = min(history.get(xapp.key, 0), MAX_HISTORY)
        if len(revisions) < kept:
            found.append(f"{_name(xapp.key)}: {len(revisions)} records are left of {kept}")
    known = {each.key for each in fleet.xapps}
    return found + [f"{_name(key)}: a release without an XApp" for key in records if key not in known]


def _orphans(snapshot: Snapshot) -> list[str]:
    return [
        f"{_name(owner)}: a {kind} is left, but no XApp"
        for kind, owner in snapshot.labelled
        if owner not in snapshot.xapps
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
