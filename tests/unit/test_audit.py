"""`make audit` finds what the scanners find, and never calls an incomplete audit a clean one."""

import json
from datetime import date
from pathlib import Path

import pytest

from tests.audit.__main__ import EXEMPTIONS
from tests.audit.report import (
    AuditFailed,
    Exemption,
    Finding,
    Report,
    open_findings,
    read_exemptions,
    stale_exemptions,
)
from tests.audit.scanners import audit_lock, read_govulncheck, read_pip_audit

TODAY = date(2026, 11, 22)
CVE = "CVE-2026-9999"
FINDING = Finding("GO-2026-9999", "example.org/websocket", "v1.8.15", frozenset({CVE}), "v1.9.0")

# As pip-audit 2.10 and govulncheck 1.8 write them.
PIP_AUDIT = {
    "dependencies": [
        {"name": "clean", "version": "1.0", "vulns": []},
        {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": [CVE]}]},
    ],
    "fixes": [],
}
PLACE = {"module": FINDING.package, "version": FINDING.version}
GOVULNCHECK = [
    {"config": {"scanner_name": "govulncheck"}},
    {"SBOM": {"modules": [{"path": "a"}, {"path": FINDING.package, "version": FINDING.version}]}},
    {"osv": {"id": FINDING.id, "aliases": [CVE]}},
    {"finding": {"osv": FINDING.id, "fixed_version": "v1.9.0", "trace": [PLACE]}},
]
CALL = {"finding": {"osv": FINDING.id, "fixed_version": "v1.9.0", "trace": [{**PLACE, "function": "Read"}]}}


def test_findings_of_python_packages_are_reported() -> None:
    report = read_pip_audit(json.dumps(PIP_AUDIT), subject="lock")
    assert report.findings == (Finding("PYSEC-1", "old", "1.0", frozenset({CVE}), "1.1"),)
    assert (report.examined, report.skipped) == (2, "")


def test_a_registry_without_data_is_no_clean_audit() -> None:
    skipped = {"dependencies": [{"name": "a", "skip_reason": "Dependency not found"}, *PIP_AUDIT["dependencies"]]}
    report = read_pip_audit(json.dumps(skipped), subject="lock")
    assert report.skipped == "no vulnerability data for 1 of 3 packages"
    assert report.examined == 2
    assert len(report.findings) == 1


def test_a_registry_that_is_not_reachable_is_no_clean_audit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    lock = tmp_path / "requirements.lock"
    lock.write_text("of-no-cache==1.0 --hash=sha256:" + "0" * 64 + "\n")
    report = audit_lock(lock)
    assert (report.examined, report.skipped) == (0, "the vulnerability data is not reachable")


def test_go_vulnerabilities_count_if_the_program_calls_them() -> None:
    unused = read_govulncheck("\n".join(json.dumps(each, indent=1) for each in GOVULNCHECK), subject="x")
    called = read_govulncheck("\n".join(json.dumps(each) for each in [*GOVULNCHECK, CALL, CALL]), subject="x")
    assert (unused.findings, unused.examined) == ((), 2)
    assert called.findings == (FINDING,)


@pytest.mark.parametrize("name", [FINDING.id, CVE])
def test_an_exemption_ends_with_its_last_day(name: str) -> None:
    reports = [Report("x", (FINDING,)), Report("y", (FINDING,))]
    accepted = [Exemption(name, "not called", expires=TODAY)]
    assert open_findings(reports, [], today=TODAY) == [FINDING]
    assert open_findings(reports, accepted, today=TODAY) == []
    assert open_findings(reports, accepted, today=date(2026, 11, 23)) == [FINDING]


def test_exemptions_that_nothing_needs_are_named() -> None:
    exemption = Exemption("PYSEC-9", "gone", expires=TODAY)
    assert list(stale_exemptions([Report("x")], [exemption], today=TODAY)) == ["PYSEC-9 is not found any more"]
    assert not stale_exemptions([Report("x", skipped="away")], [exemption], today=TODAY)


@pytest.mark.parametrize(
    "entry",
    [
        "{id: X, expires: 2026-12-31}",
        "{id: X, reason: ' ', expires: 2026-12-31}",
        "{id: X, reason: r}",
        "{id: X, reason: r, expires: never}",
        "{id: X, reason: r, expires: 2026-12-31, package: y}",
    ],
)
def test_an_exemption_needs_a_reason_and_a_day(entry: str, tmp_path: Path) -> None:
    file = tmp_path / "exemptions.yaml"
    file.write_text(f"- {entry}\n")
    with pytest.raises(AuditFailed, match="needs id, reason and expires"):
        read_exemptions(file)


def test_the_exemptions_of_this_project_are_valid() -> None:
    assert all(each.expires.year < TODAY.year + 2 for each in read_exemptions(EXEMPTIONS))
