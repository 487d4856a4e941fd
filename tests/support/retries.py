"""Runs tests of a real cluster or browser once more when they fail, for `make test` only.

A control plane, a browser and their tests share the cores of one machine, and now and then one of thousands meets a
moment that its author did not foresee. A test that fails twice fails the run, and so do more than FLAKY_MAX tests that
passed only the second time. The summary names them: each is a defect of the test or of what it tests. A test with the
marker `no_retry` looks for races: what it finds need not come a second time.
"""

from __future__ import annotations

import pytest

OPTION = "--retry-cluster-tests"
FOLDERS = ("tests/browser/", "tests/e2e/", "tests/integration/", "tests/security/")
FLAKY_MAX = 5


class Retries:
    """Names the tests that were run twice, and fails the run when they are many."""

    def __init__(self) -> None:
        self._retried: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: str = report.outcome
        if outcome == "rerun":  # an outcome of pytest-rerunfailures
            self._retried.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if len(self._retried) > FLAKY_MAX and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._retried:
            terminalreporter.section("tests that were run twice", yellow=True)
            for test in self._retried:
                terminalreporter.line(test)
            terminalreporter.line(f"At most {FLAKY_MAX} may pass only the second time. Each is a defect: mend it.")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run from its main process, which gets the reports of all workers."""
    if config.getoption(OPTION) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Retries(), "retries")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption(OPTION):
        for item in items:
            if item.nodeid.startswith(FOLDERS) and item.get_closest_marker("no_retry") is None:
                item.add_marker(pytest.mark.flaky(reruns=1))
