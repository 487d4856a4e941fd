"""Conditions and their reasons, as in kstatus: Ready always exists, Reconciling and Stalled only while True."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from xapp_operator.api.models import Condition
from xapp_operator.api.status_texts import MESSAGE_MAX
from xapp_operator.common.text import shorten

READY: Final = "Ready"
RELEASED: Final = "Released"
DRIFTED: Final = "Drifted"
TEST_SUCCESS: Final = "TestSuccess"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"

_DISPLAY_ORDER = (READY, RECONCILING, STALLED, RELEASED, DRIFTED, TEST_SUCCESS)


_STATUS_TEXT: dict[bool | None, Literal["True", "False", "Unknown"]] = {True: "True", False: "False", None: "Unknown"}


class Reason(StrEnum):
    """Every reason that a condition may have."""

    INSTALL_SUCCEEDED = "InstallSucceeded"
    INSTALL_FAILED = "InstallFailed"
    UPGRADE_SUCCEEDED = "UpgradeSucceeded"
    UPGRADE_FAILED = "UpgradeFailed"
    ROLLBACK_SUCCEEDED = "RollbackSucceeded"
    ROLLBACK_FAILED = "RollbackFailed"
    UNINSTALL_FAILED = "UninstallFailed"
    TEST_SUCCEEDED = "TestSucceeded"
    TEST_FAILED = "TestFailed"
    PROGRESSING = "Progressing"
    HEALTH_CHECK_FAILED = "HealthCheckFailed"
    CHART_PULL_FAILED = "ChartPullFailed"
    CHART_INVALID = "ChartInvalid"
    VALUES_INVALID = "ValuesInvalid"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    ACCESS_DENIED = "AccessDenied"
    SUSPENDED = "Suspended"
    UNLOCKED = "Unlocked"
    DRIFT_DETECTED = "DriftDetected"
    DRIFT_CORRECTED = "DriftCorrected"
    DRIFT_UNKNOWN = "DriftUnknown"
    NO_DRIFT = "NoDrift"


class ConditionSet:
    """The conditions to write. It starts with the present ones, so that unchanged ones keep their times."""

    def __init__(self, previous: Iterable[Condition], *, generation: int, now: datetime) -> None:
        self._by_type = {condition.type: condition for condition in previous}
        self._generation = generation
        self._now = now

    def set(self, kind: str, *, status: bool | None, reason: str, message: str) -> None:
        """Set condition `kind`; `status` None is Unknown. The transition time changes only with the status."""
        status_text = _STATUS_TEXT[status]
        before = self._by_type.get(kind)
        status_changed = before is None or before.status != status_text
        self._by_type[kind] = Condition.model_construct(
            type=kind,
            status=status_text,
            observed_generation=self._generation,
            last_transition_time=self._now if status_changed or before is None else before.last_transition_time,
            reason=reason,
            message=shorten(message, MESSAGE_MAX),
        )

    def remove(self, *kinds: str) -> None:
        for kind in kinds:
            self._by_type.pop(kind, None)

    def get(self, kind: str) -> Condition | None:
        return self._by_type.get(kind)

    def to_list(self) -> list[Condition]:
        """Return all conditions, Ready first."""
        known = [self._by_type[kind] for kind in _DISPLAY_ORDER if kind in self._by_type]
        return known + [condition for kind, condition in self._by_type.items() if kind not in _DISPLAY_ORDER]
