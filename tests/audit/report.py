"""What an audit found, and the findings that are accepted for a while."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import yaml


class AuditFailed(Exception):
    """The audit itself is wrong, such as an accepted finding without a reason."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One vulnerability of one package."""

    id: str
    package: str
    version: str
    aliases: frozenset[str] = frozenset()
    """Its other names, such as a CVE."""
    fixed_in: str = ""
    """The versions without it, as text; empty if there is none."""

    def __str__(self) -> str:
        names = ", ".join([self.id, *sorted(self.aliases)])
        return f"{self.package} {self.version}: {names}; fixed in: {self.fixed_in or 'no version yet'}"


@dataclass(frozen=True, slots=True)
class Report:
    """The result for one lock file or one program."""

    subject: str
    findings: tuple[Finding, ...] = ()
    examined: int = 0
    """Packages that the vulnerability data was looked up for."""
    skipped: str = ""
    """Why nothing, or not everything, was examined; empty if everything was."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """A finding that is accepted until a day, for a reason."""

    id: str
    reason: str
    expires: date


def read_exemptions(file: Path) -> list[Exemption]:
    """Return the accepted findings of a YAML list of `{id, reason, expires}`.

    Raises AuditFailed if an entry lacks one of them.
    """
    entries = yaml.safe_load(file.read_text()) or []
    return [_exemption(entry, file) for entry in entries]


def _exemption(entry: object, file: Path) -> Exemption:
    match entry:
        case {"id": str(name), "reason": str(reason), "expires": date() as expires, **other} if (
            name and reason.strip() and not other
        ):
            return Exemption(name, reason, expires)
    raise AuditFailed(f"{file.name}: an entry needs id, reason and expires (YYYY-MM-DD), and nothing else: {entry}")


def open_findings(reports: Iterable[Report], exemptions: Iterable[Exemption], *, today: date) -> list[Finding]:
    """Return the findings that no exemption accepts today, each once."""
    accepted = {each.id for each in exemptions if today <= each.expires}
    found = {
        (finding.id, finding.package): finding
        for report in reports
        for finding in report.findings
        if not ({finding.id} | finding.aliases) & accepted
    }
    return sorted(found.values(), key=lambda finding: (finding.package, finding.id))


def stale_exemptions(
    reports: Iterable[Report], exemptions: Iterable[Exemption], *, today: date
) -> Mapping[str, Exemption]:
    """Return the exemptions that are expired, or that nothing needs; keys say which.

    An exemption is only called unused if every report is complete.
    """
    listed = list(reports)
    found = {name for report in listed for finding in report.findings for name in {finding.id} | finding.aliases}
    complete = not any(report.skipped for report in listed)
    stale = {f"{each.id} expired on {each.expires}": each for each in exemptions if today > each.expires}
    unused = {f"{each.id} is not found any more": each for each in exemptions if complete and each.id not in found}
    return {**unused, **stale}
