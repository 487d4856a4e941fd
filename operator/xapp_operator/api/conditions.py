"""Conditions and their reasons, as in kstatus: Ready always exists, Reconciling and Stalled only while True.

The text below a condition or a reason is its row in `docs/reference/conditions.md` (`make reference`). Links in it
start in `docs/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from xapp_operator.api.models import Condition
from xapp_operator.api.status_texts import CAUSE_MAX
from xapp_operator.common.text import shorten
from xapp_operator.errors import XAppError

READY: Final = "Ready"
"""True if the release matches the spec and its objects are healthy. Otherwise the message contains the root cause: the
failing pod with its container and last event, or the error of helm. During a rollout, an unhealthy pod of the new
revision comes before the pods that it replaces.
"""
RELEASED: Final = "Released"
"""The result of the last step of helm."""
DRIFTED: Final = "Drifted"
"""True if objects of the release differ from its manifest. See [Drift](user-guide.md#drift). Present since the first
drift.
"""
TEST_SUCCESS: Final = "TestSuccess"
"""The result of the [tests of the chart](user-guide.md#test-an-xapp) on the current revision. Unknown while they run.
Missing before the first run.
"""
RECONCILING: Final = "Reconciling"
"""The operator is working, or will try again by itself. Present only while True."""
STALLED: Final = "Stalled"
"""Another attempt would not help. Change the spec, the chart or the values, or set
[`retry-at`](user-guide.md#ask-the-operator-to-act). Present only while True. An
[event](troubleshooting.md#events-of-an-xapp) of type Warning says so, too.
"""

_DISPLAY_ORDER = (READY, RECONCILING, STALLED, RELEASED, DRIFTED, TEST_SUCCESS)


_STATUS_TEXT: dict[bool | None, Literal["True", "False", "Unknown"]] = {True: "True", False: "False", None: "Unknown"}


class Reason(StrEnum):
    """Every reason that a condition of an XApp may have, and what to do."""

    INSTALL_SUCCEEDED = "InstallSucceeded"
    """The chart is installed. Nothing to do."""
    INSTALL_FAILED = "InstallFailed"
    """helm could not install the chart. Read the error of helm in the message. If a hook failed, the message names the
    hook and what was last seen of its pod. If a record of Helm cannot be read, restore its Secret from a backup, or
    remove it and set the annotation [`retry-at`](user-guide.md#ask-the-operator-to-act).
    """
    UPGRADE_SUCCEEDED = "UpgradeSucceeded"
    """The release is upgraded. Nothing to do."""
    UPGRADE_FAILED = "UpgradeFailed"
    """helm could not upgrade the release. Do the same as after `InstallFailed`. See
    [When an upgrade fails](user-guide.md#when-an-upgrade-fails).
    """
    ROLLBACK_SUCCEEDED = "RollbackSucceeded"
    """The release is back at an earlier revision. If you did not ask for it, an upgrade failed before: `Stalled` says
    why.
    """
    ROLLBACK_FAILED = "RollbackFailed"
    """helm could not roll back. Do the same as after `InstallFailed`."""
    UNINSTALL_FAILED = "UninstallFailed"
    """helm could not remove the release. Do the same as after `InstallFailed`. To delete the XApp and leave its
    objects, set `deletionPolicy: Orphan`.
    """
    TEST_SUCCEEDED = "TestSucceeded"
    """The tests of the chart passed. Nothing to do."""
    TEST_FAILED = "TestFailed"
    """A test of the chart failed. Read the test that the message names, its exit code, and its log. See
    [Test an xApp](user-guide.md#test-an-xapp).
    """
    PROGRESSING = "Progressing"
    """A step runs, or the objects become healthy. Nothing to do. If helm waits for a hook for more than 5 s, the
    message names the hook and the problem of its pod.
    """
    HEALTH_CHECK_FAILED = "HealthCheckFailed"
    """An object is not healthy. Look at the pod that the message names. See
    [Troubleshooting](troubleshooting.md#a-pod-does-not-start).
    """
    CHART_PULL_FAILED = "ChartPullFailed"
    """The chart could not be read from its source. Check the address, the name and the version of the chart. If the
    version does not exist, the message lists the existing versions.
    """
    CHART_INVALID = "ChartInvalid"
    """The chart cannot be used. Check its [requirements](user-guide.md#requirements-for-charts), its templates, and its
    [signature](user-guide.md#install-only-signed-charts).
    """
    VALUES_INVALID = "ValuesInvalid"
    """The schema of the chart refuses the values, or a field of the spec such as `chartVersion` is not valid. The
    message names the path of the value, and the rule.
    """
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    """The XApp waits for others: those that it [depends on](user-guide.md#wait-for-other-xapps), a cycle of them, or
    those that keep it from being deleted. The message names them.
    """
    ACCESS_DENIED = "AccessDenied"
    """A right is missing, or the service account does not exist, or a name belongs to somebody else: there is a release
    of that name, or a ChartRepository `repoName` with another `url`. If the namespace is not prepared for xApps, the
    message contains the command that an administrator of the namespace runs once. To take over a release that a person
    installed, see [Adopt a release](user-guide.md#adopt-a-release).
    """
    SUSPENDED = "Suspended"
    """`spec.suspend` is true. Set it to false to continue."""
    UNLOCKED = "Unlocked"
    """The operator unlocked a release that an interrupted helm had left pending. Nothing to do."""
    DRIFT_DETECTED = "DriftDetected"
    """Somebody changed objects of the release. The message names them. See [Drift](user-guide.md#drift)."""
    DRIFT_CORRECTED = "DriftCorrected"
    """The fields of the manifest have its values again. An item that somebody added stays: see
    [Drift](user-guide.md#drift).
    """
    DRIFT_UNKNOWN = "DriftUnknown"
    """The operator cannot compare the objects with the manifest. The message says why. See
    [Drift](user-guide.md#drift).
    """
    NO_DRIFT = "NoDrift"
    """The objects are as in the manifest. Nothing to do."""


class RepositoryReason(StrEnum):
    """Every reason that a condition of a ChartRepository may have, and what to do."""

    FETCHED = "Fetched"
    """The repository answers. The message says how many charts its index lists; a registry has no index. Nothing to
    do.
    """
    CHART_PULL_FAILED = "ChartPullFailed"
    """The repository could not be read. The message names the cause: its address, its network, its certificate, its
    answer, or the Secret with its credentials. Change the ChartRepository or that Secret. What may pass is
    `Reconciling`, and needs nothing.
    """
    CHART_INVALID = "ChartInvalid"
    """Signatures cannot be checked: the Secret with the keys in `spec.verify` is missing, or holds no usable keys.
    Create it again. See [Install only signed charts](user-guide.md#install-only-signed-charts).
    """
    ACCESS_DENIED = "AccessDenied"
    """The service account of the namespace may not read a Secret that the ChartRepository names, or does not exist. Let
    an administrator [prepare the namespace](operations.md#3-apply-the-manifests).
    """

    @classmethod
    def of(cls, error: XAppError) -> RepositoryReason:
        """Return the reason for an error that kept a repository from being read."""
        return cls(error.reason) if error.reason in list(cls) else cls.CHART_PULL_FAILED


def find_condition(conditions: Iterable[Condition] | None, kind: str) -> Condition | None:
    """Return the condition `kind` of a status, or None."""
    return next((each for each in conditions or () if each.type == kind), None)


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
            message=shorten(message, CAUSE_MAX),
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
