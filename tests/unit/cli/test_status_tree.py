"""What `xapp status` shows of one xApp, apart from its objects."""

from __future__ import annotations

from typing import Any, Final

import pytest

from xapp_operator.cli.output.status_tree import status_tree

RECORD: Final[dict[str, Any]] = {
    "name": "a",
    "namespace": "n",
    "phase": "Deployed",
    "health": "Healthy",
    "ready": True,
    "stalled": False,
    "message": "revision 1 of hello 0.1.0 is deployed and healthy",
    "progress": {"step": "ready"},
}


def shown(**changes: Any) -> list[str]:
    return [line.plain for line in status_tree({**RECORD, **changes}, None)]


@pytest.mark.parametrize(
    ("type_", "status", "line"),
    [
        ("Drifted", "True", "└─ drifted: Deployment a (/spec/replicas, changed by kubectl)"),
        ("Drifted", "Unknown", "└─ drift is not known: Deployment a (/spec/replicas, changed by kubectl)"),
        ("TestSuccess", "False", "└─ tests failed: Deployment a (/spec/replicas, changed by kubectl)"),
    ],
)
def test_what_a_ready_xapp_still_has_is_shown(type_: str, status: str, line: str) -> None:
    condition = {"type": type_, "status": status, "message": "Deployment a (/spec/replicas, changed by kubectl)"}
    assert shown(conditions=[condition])[-1] == line


@pytest.mark.parametrize(("type_", "status"), [("Drifted", "False"), ("TestSuccess", "True"), ("Released", "False")])
def test_what_nobody_must_know_is_not_shown(type_: str, status: str) -> None:
    assert shown(conditions=[{"type": type_, "status": status, "message": "m"}]) == shown()


def test_a_step_that_has_ended_does_not_seem_to_run() -> None:
    failed: dict[str, Any] = {"phase": "Failed", "ready": False, "message": "m", "progress": {"step": "helm"}}
    assert shown(**failed)[1] == "├─ step: running helm"
    assert shown(**failed, stalled=True)[1] == "├─ stopped while running helm"
