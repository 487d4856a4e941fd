"""Fails a run that skips tests of the real node or the browser on a machine that has to run them.

That is where XAPP_FORBID_SKIPS is 1. `.ci/run` sets the variable. Otherwise a broken kubelet or a missing package would
show only as a few skipped tests.
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "XAPP_FORBID_SKIPS"
FOLDERS = (
    "tests/browser/",
    "tests/e2e/",
    "tests/integration/cli/",
    "tests/integration/localrun/",
    "tests/integration/realnode/",
    "tests/security/signatures/",
)
"""Where no test may be skipped."""


class SkipGuard:
    """Collects the reasons for the skips in FOLDERS, and fails the run when there are any."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        """Reason by test."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not hasattr(report, "wasxfail"):
            self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and report.nodeid.startswith(FOLDERS):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self._reasons[report.nodeid] = reason

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._reasons and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._reasons:
            return
        terminalreporter.section("tests of the real node or the browser were skipped", red=True)
        for reason in sorted(set(self._reasons.values())):
            count = list(self._reasons.values()).count(reason)
            terminalreporter.line(f"{count} skipped: {reason}")
        terminalreporter.line(
            "This machine runs as root and has the packages that these tests need, so they have to run. "
            "Mend the reason above, or set XAPP_ALLOW_SKIPS=1 to allow the skips."
        )


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run from its main process, which gets the reports of all workers."""
    if os.environ.get(VARIABLE) == "1" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGuard(), "skip-guard")
