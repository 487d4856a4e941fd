"""The actions that `plan` can choose: one frozen class each, plain data that the reconciler executes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from xapp_operator.api.status_parts import Step
from xapp_operator.domain.drift import DriftedObject
from xapp_operator.domain.planning.plan_input import Digests


@dataclass(frozen=True, slots=True)
class Install:
    """Install the release; `replace` when a failed record has the same name."""

    replace: bool = False
    take_ownership: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Upgrade the release to the desired digests."""

    take_ownership: bool = False


@dataclass(frozen=True, slots=True)
class Adopt:
    """Take over `revision`, which a person made of the desired chart and values, without running helm."""

    revision: int
    digests: Digests


@dataclass(frozen=True, slots=True)
class Rollback:
    """Roll back to `revision`; `hold` keeps it there until the generation changes.

    `again`: it is held already, and somebody has changed the release.
    """

    revision: int
    hold: bool = False
    again: bool = False


@dataclass(frozen=True, slots=True)
class RejectRollback:
    """Report why rollback-to is not carried out, or not again, and mark the annotation as handled."""

    message: str


@dataclass(frozen=True, slots=True)
class RejectRequest:
    """Report why what an annotation asks for can have no effect now, and mark the annotation as handled."""

    annotation: Literal["force-at", "test-at", "rollback-to"]
    message: str


@dataclass(frozen=True, slots=True)
class Uninstall:
    """Uninstall the release; without hooks when they can no longer run. `dependents` are still there."""

    hooks: bool = True
    dependents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unlock:
    """Mark the pending `revision`, on which no helm process works any more, as failed; first correct a wrong label."""

    revision: int


@dataclass(frozen=True, slots=True)
class Restore:
    """Give `revision` the `status` that it had before an uninstall that has deleted nothing of it."""

    revision: int
    status: str


@dataclass(frozen=True, slots=True)
class MarkSuperseded:
    """Mark `revisions`, which are called deployed besides the newest one, as superseded."""

    revisions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SaveRepository:
    """Create the ChartRepository that `spec.repoName` names."""


@dataclass(frozen=True, slots=True)
class UpdateArchiveOwners:
    """Make the XApp an owner of the ChartArchive that it uses, and remove it from the owners of all others."""


@dataclass(frozen=True, slots=True)
class DeleteOrphans:
    """Delete the objects of a release whose record is gone; `namespaced`: not only the cluster-scoped ones.

    Kubernetes deletes the others if the record went away with the namespace.
    """

    namespaced: bool = False


@dataclass(frozen=True, slots=True)
class RepairLabels:
    """Put the registration labels back where they are missing; with `all_objects` on every object of the release."""

    all_objects: bool = False


@dataclass(frozen=True, slots=True)
class EndTests:
    """End the tests that run: the release is about to change, or is to be left as it is."""


@dataclass(frozen=True, slots=True)
class CorrectDrift:
    """Apply the manifest again to the objects that differ from it: no new revision, no hooks."""

    objects: tuple[DriftedObject, ...]


@dataclass(frozen=True, slots=True)
class Recreate:
    """Create these objects of the deployed release again, which were being deleted when helm applied them."""

    objects: tuple[DriftedObject, ...]


@dataclass(frozen=True, slots=True)
class DeleteLeftovers:
    """Delete the objects of revisions that failed which helm has left: the deployed revision does not have them."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing now. `stalled`: until something changes; otherwise plan again at `until` (seconds since the epoch).

    With both, another try is made although it would hardly help: a deletion never gives up. `step` is what it waits
    for, where the reason does not tell. `at_rest`: what is wrong is only in the way of the next upgrade, and otherwise
    the decision would be Nothing. `told`: an event has told it already.
    """

    reason: str
    message: str
    stalled: bool = False
    until: float | None = None
    step: Step | None = None
    at_rest: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """The actual state is the desired one; for a deletion, nothing is left to remove. Ready's message shows `note`."""

    note: str | None = None
    at_rest: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class StartTests:
    """Start the tests of the chart; they run beside everything else. `settled` is the decision that the status shows.

    `requested`: only the annotation test-at asks for it, so a failure undoes nothing.
    """

    settled: Wait | Nothing
    requested: bool = False


HelmAction: TypeAlias = "Install | Upgrade | Rollback | Uninstall"
MaintenanceAction: TypeAlias = UpdateArchiveOwners | RepairLabels | CorrectDrift | Recreate | DeleteLeftovers
RecordAction: TypeAlias = Adopt | Unlock | Restore | MarkSuperseded
Rejection: TypeAlias = RejectRollback | RejectRequest
PlainAction: TypeAlias = RecordAction | Rejection | SaveRepository | DeleteOrphans | EndTests | MaintenanceAction
Action: TypeAlias = "HelmAction | PlainAction | StartTests | Wait | Nothing"

_WORD_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def action_label(action: Action) -> str:
    """Return the name of an action in the metrics, such as `repair_labels`."""
    return _WORD_START.sub("_", type(action).__name__).lower()
