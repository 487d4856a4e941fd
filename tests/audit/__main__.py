"""The command line: ``python -m tests.audit``. Fails on findings, and says what could not be examined.

``AUDIT_REQUIRED=1`` makes it fail on that too, for a machine that reaches the vulnerability data.
"""

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

from tests.audit.report import AuditFailed, Report, open_findings, read_exemptions, stale_exemptions
from tests.audit.scanners import audit_go, audit_lock
from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.tools import GOTOOLS, SAMPLES, TOOLS

EXEMPTIONS = ROOT / "hack" / "audit-exemptions.yaml"
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-build.lock")
FOUND, INCOMPLETE = 1, 2


def main() -> int:
    """Audit everything and return the exit status."""
    try:
        exemptions = read_exemptions(EXEMPTIONS)
        reports = [_printed(report) for report in _reports()]
    except AuditFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return FOUND
    today = datetime.now(UTC).date()
    found = open_findings(reports, exemptions, today=today)
    for finding in found:
        print(f"error: {finding}", file=sys.stderr)
    for message in stale_exemptions(reports, exemptions, today=today):
        print(f"note: {EXEMPTIONS.name}: {message}; remove it", file=sys.stderr)
    if found:
        print(f"error: update the packages, or accept a finding in hack/{EXEMPTIONS.name}", file=sys.stderr)
        return FOUND
    if os.environ.get("AUDIT_REQUIRED") == "1" and any(report.skipped for report in reports):
        print("error: AUDIT_REQUIRED=1, and the audit is incomplete", file=sys.stderr)
        return INCOMPLETE
    return 0


def _reports() -> Iterator[Report]:
    for name in LOCKS:
        yield audit_lock(ROOT / name)
    try:
        govulncheck = Binaries().resolve(["govulncheck"])["govulncheck"]
    except BuildFailed as error:
        yield Report("Go programs", skipped=str(error).splitlines()[0])
        return
    yield audit_go(govulncheck, SAMPLES / "kpi-monitor", ["./..."])
    yield audit_go(govulncheck, GOTOOLS / "helm", [TOOLS["helm"].package])


def _printed(report: Report) -> Report:
    state = f"{report.examined} packages examined, {len(report.findings)} findings"
    print(f"audit of {report.subject}: {f'SKIPPED: {report.skipped}; ' if report.skipped else ''}{state}", flush=True)
    return report


if __name__ == "__main__":
    sys.exit(main())
