"""What tests read of the audit log of a cluster."""

from __future__ import annotations

from pathlib import Path

from tests.support.audit import read_audit_events


def test_events_of_a_renamed_log_come_first(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text('{"n": 3}\n{"n": 4}\n{"n":')
    (tmp_path / "audit-2026-01-02T00-00-00.000.log").write_text('{"n": 2}\n')
    (tmp_path / "audit-2026-01-01T00-00-00.000.log").write_text('{"n": 1}\n')
    (tmp_path / "audit-policy.yaml").write_text("kind: Policy\n")
    assert [each["n"] for each in read_audit_events(log)] == [1, 2, 3, 4]
    assert read_audit_events(log, containing='"n": 4') == [{"n": 4}]
