"""Which orders of helm steps are refused in every history."""

from __future__ import annotations

import pytest

from tests.support.fakes.helm import Step
from tests.support.fakes.step_checks import check_steps


def step(command: str, what: str = "one", *, force: str | None = None, done: bool = True) -> Step:
    return Step(command, what, done=done, force=force)


@pytest.mark.parametrize(
    "steps",
    [
        [step("install"), step("upgrade", "two"), step("upgrade", "two", force="1")],
        [step("install"), step("user", "force-at 1"), step("upgrade", force="1"), step("upgrade", force="2")],
        [step("install"), step("upgrade", "two", done=False), step("upgrade", "two")],
        [step("install"), step("user", "delete"), step("uninstall"), step("install")],
    ],
    ids=["force-at after a new tag", "two force-at before helm begins", "after a failure", "after a deletion"],
)
def test_steps_that_are_allowed(steps: list[Step]) -> None:
    check_steps(steps)


@pytest.mark.parametrize(
    "steps",
    [
        [step("install"), step("upgrade", "two"), step("upgrade", "two")],
        [step("install"), step("user", "force-at 1"), step("upgrade", force="1"), step("upgrade", force="1")],
        [step("install"), step("user", "retry-at 1"), step("install")],
        [step("install"), step("uninstall")],
    ],
    ids=["an upgrade again", "two upgrades for one force-at", "an install again", "a remedy that uninstalls"],
)
def test_steps_that_are_refused(steps: list[Step]) -> None:
    with pytest.raises(AssertionError):
        check_steps(steps)
