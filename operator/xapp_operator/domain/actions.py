"""What `plan` may answer: one frozen class a verb, pure data that the reconciler acts on and tests read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xapp_operator.domain.plan_input import Digests


@dataclass(frozen=True, slots=True)
class Install:
    """Install the release; `replace` where a failed record of the same name is in the way."""

    replace: bool = False
    take_ownership: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Upgrade the release to the desired digests."""

    take_ownership: bool = False


@dataclass(frozen=True, slots=True)
class Adopt:
    """Take over `revision`, which a person made of the desired chart and values, as it is: helm has nothing to do."""

    revision: int
    digests: Digests


@dataclass(frozen=True, slots=True)
class Rollback:
    """Return to `revision`; `hold` keeps it there until the generation changes."""

    revision: int
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Uninstall:
    """Uninstall the release; without hooks where they cannot run any more."""

    hooks: bool = True


@dataclass(frozen=True, slots=True)
class Unlock:
    """Mark the pending `revision`, on which no helm works any more, as failed."""

    revision: int


@dataclass(frozen=True, slots=True)
class CorrectDrift:
    """Apply the manifest again."""


@dataclass(frozen=True, slots=True)
class Test:
    """Run the chart's helm tests."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing now: `stalled` until something changes, otherwise look again at `until` (seconds since the epoch)."""

    reason: str
    message: str
    stalled: bool = False
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """What is, is what should be (when deleting: nothing is left to remove). `note` goes into Ready's message."""

    note: str | None = None


Action: TypeAlias = "Install | Upgrade | Adopt | Rollback | Uninstall | Unlock | CorrectDrift | Test | Wait | Nothing"
