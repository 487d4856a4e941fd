"""To which revision `xapp rollback` goes back by itself. Pure.

The dashboard and the actions of Argo CD offer the same one: `rollbackTarget` in the dashboard's advice.ts explains it.
"""

from __future__ import annotations

import re
from typing import Final

from xapp_operator.api.json import JsonObject, integer, items, obj, text

RESTORED: Final = re.compile(r"Rollback to ([0-9]{1,10})")
"""What helm writes as the description of a rollback."""
MAY_HAVE_WORKED: Final = frozenset({"superseded", "deployed"})


def rollback_target(record: JsonObject) -> int | None:
    """Return the newest revision that worked and is another one than that in force, or None.

    Args:
        record: the record of an xApp with its history.
    """
    revisions = sorted(items(record, "history"), key=_number, reverse=True)
    in_force = integer(obj(record, "release"), "revision", _number(revisions[0]) if revisions else 0)
    for each in revisions:
        number = _number(each)
        if number == in_force:
            in_force = _restored(each, number)
        elif number < in_force and text(each, "status") in MAY_HAVE_WORKED and each.get("wasHealthy") is not False:
            return number
    return None


def _number(revision: JsonObject) -> int:
    return integer(revision, "revision")


def _restored(revision: JsonObject, number: int) -> int:
    """Return the revision whose content a rollback brought back; the revision itself, if it is no rollback."""
    found = RESTORED.fullmatch(text(revision, "description"))
    return int(found[1]) if found is not None and int(found[1]) < number else number
