"""What a round gives to its changes and its fault: the system, the XApps, and the random numbers of the round."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.fleet import Fleet, Kind, ManagedXApp
from tests.chaos.snapshot import XAppKey
from tests.chaos.system import System

CONVERGENCE_SECONDS: Final = 240.0


class WithoutEffect(Exception):
    """The fault could not be injected; the message is the reason."""


@dataclass(slots=True)
class Scene:
    """One round. `changed` are the XApps that the round has changed already: a fault on an object leaves them out."""

    system: System
    fleet: Fleet
    rng: random.Random
    number: int
    changed: set[XAppKey] = field(default_factory=set)
    history_lost: set[XAppKey] = field(default_factory=set)
    """XApps whose releases the fault itself removes, with all records."""
    records_hit: dict[XAppKey, set[int]] = field(default_factory=dict)
    """The revisions whose records the fault itself writes, removes or damages, by XApp."""
    may_repeat: Counter[XAppKey] = field(default_factory=Counter)
    """How many revisions an operator may make again, by XApp: one for each helm that a person runs, because it may end
    after the step of the operator, and one for each request to upgrade or to try again."""
    notes: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """What the fault itself saw go wrong while it lasted."""

    def greeting(self, xapp: ManagedXApp, suffix: str = "") -> str:
        """Return a text that no other round gives to the XApp."""
        return f"{xapp.name} in round {self.number}{suffix}"

    def victims(
        self, count: int, *, suits: Callable[[ManagedXApp], bool] = lambda _: True, kinds: frozenset[Kind] | None = None
    ) -> list[ManagedXApp]:
        """Draw unchanged XApps that are Ready with the values of their spec, and count them as changed.

        Raises WithoutEffect when there is none.
        """
        free = [
            each
            for each in self.fleet.xapps
            if each.key not in self.changed and each.settled and suits(each) and (kinds is None or each.kind in kinds)
        ]
        chosen = self.rng.sample(free, min(count, len(free)))
        if not chosen:
            raise WithoutEffect("no XApp is suitable")
        self.changed |= {each.key for each in chosen}
        return chosen

    def hit_record(self, xapp: ManagedXApp, revision: int) -> None:
        """Count the record of a revision as one that the fault writes, removes or damages."""
        self.records_hit.setdefault(xapp.key, set()).add(revision)

    def request(self, xapp: ManagedXApp, annotation: str) -> None:
        """Ask the operator for something by an annotation, so that it may make the newest revision again."""
        self.may_repeat[xapp.key] += 1
        self.kubectl(xapp, "annotate", "--overwrite", f"xapp/{xapp.name}", f"{annotation}={self.number}")

    def kubectl(self, xapp: ManagedXApp, *arguments: str) -> str:
        return self.system.cluster.kubectl("-n", xapp.namespace, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault, and the error lines of the operators that it explains (regular expressions).

    `inject` runs after the changes of the round are applied.
    """

    name: str
    inject: Callable[[Scene], None]
    explains: tuple[str, ...] = ()
    limit: float = CONVERGENCE_SECONDS
    """Within how many seconds after the fault everything must have converged."""
