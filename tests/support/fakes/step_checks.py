"""What must be true of the steps of helm, whatever users did between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.support.fakes.helm import Step
from tests.support.fakes.json_patch import Json


def check_steps(steps: Iterable[Step]) -> None:
    """Check the steps that changed a release, and what users did between them, in order.

    A step that has succeeded is repeated only after a user did something, or when it answers another force-at.
    """
    deleting, good, done = False, False, set[tuple[str, str | None]]()
    for step in steps:
        if step.command == "user":
            deleting = deleting or step.what in ("delete", "left uninstalling")
            done.clear()
            if step.what in ("uninstall by hand", "create") or step.what.startswith("left"):
                good = False
            continue
        if step.command == "uninstall":
            assert deleting, "a remedy has uninstalled a release"
            good, done = False, set()
        elif step.command == "install":
            assert not good, "a release that was deployed is installed again"
        if step.done and step.command in ("install", "upgrade"):
            answer = step.what, step.force
            assert answer not in done, f"{step} is repeated, although it had succeeded"
            done.add(answer)
        good = good or (step.done and step.command != "uninstall")


def check_released(steps: Sequence[Step], records: Sequence[Json], released: Json | None) -> None:
    """The condition Released tells of a rollback if that is what helm did last, whoever asked for it, or why."""
    newest = records[-1]["info"] if records else {"status": ""}
    if not steps or steps[-1].command != "rollback" or newest["status"] != "deployed" or released is None:
        return
    if newest["description"] == f"Rollback to {steps[-1].what}":  # helm records nothing if its target is gone
        assert (released["status"], released["reason"]) == ("True", "RollbackSucceeded"), released
