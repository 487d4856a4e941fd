"""Runs pip-audit and govulncheck, bounded in time, and reads what they say."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.audit.report import AuditFailed, Finding, Report

SCAN_SECONDS = 180.0
_UNREACHABLE = ("ConnectionError", "ProxyError", "SSLError", "Timeout", "fetching vulnerabilities:", "ServiceError")
"""What the scanners say when they cannot reach their vulnerability data."""


def audit_lock(lock: Path) -> Report:
    """Look up every package of a lock file. Raises AuditFailed."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip"]
    answer = _run([*command, "--format", "json", "--progress-spinner", "off"], folder=lock.parent)
    if isinstance(answer, str):
        return Report(lock.name, skipped=answer)
    return read_pip_audit(answer.stdout, subject=lock.name)


def read_pip_audit(output: str, *, subject: str) -> Report:
    """Return what the JSON of pip-audit says.

    pip-audit succeeds when a registry has no data for a version. Here, that is an incomplete audit.
    """
    packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    findings = tuple(
        Finding(
            id=vulnerability["id"],
            package=each["name"],
            version=each["version"],
            aliases=frozenset(vulnerability["aliases"]),
            fixed_in=", ".join(vulnerability["fix_versions"]),
        )
        for each in packages
        for vulnerability in each.get("vulns", [])
    )
    reason = f"no vulnerability data for {len(unknown)} of {len(packages)} packages" if unknown else ""
    return Report(subject, findings, examined=len(packages) - len(unknown), skipped=reason)


def audit_go(govulncheck: Path, folder: Path, packages: Sequence[str]) -> Report:
    """Look up every module that the Go packages in ``folder`` use. Raises AuditFailed."""
    answer = _run([str(govulncheck), "-format", "json", *packages], folder=folder)
    if isinstance(answer, str):
        return Report(folder.name, skipped=answer)
    return read_govulncheck(answer.stdout, subject=folder.name)


def read_govulncheck(output: str, *, subject: str) -> Report:
    """Return what the JSON messages of govulncheck say: vulnerabilities whose code the program calls."""
    messages = list(_json_values(output))
    aliases = {each["osv"]["id"]: frozenset(each["osv"].get("aliases", [])) for each in messages if "osv" in each}
    findings: dict[tuple[str, str], Finding] = {}
    for finding in (each["finding"] for each in messages if "finding" in each):
        place = finding["trace"][0]
        if "function" in place:
            name = finding["osv"]
            findings[name, place["module"]] = Finding(
                id=name,
                package=place["module"],
                version=place.get("version", ""),
                aliases=aliases.get(name, frozenset()),
                fixed_in=finding.get("fixed_version", ""),
            )
    modules: list[object] = next((each["SBOM"]["modules"] for each in messages if "SBOM" in each), [])
    return Report(subject, tuple(findings.values()), examined=len(modules))


def _json_values(output: str) -> Iterator[dict[str, Any]]:
    decoder, position = json.JSONDecoder(), 0
    while rest := output[position:].lstrip():
        position = len(output) - len(rest)
        value, position = decoder.raw_decode(output, position)
        yield value


def _run(command: Sequence[str], *, folder: Path) -> subprocess.CompletedProcess[str] | str:
    """Return the result of a scanner, or why it has none. Raises AuditFailed if the scanner is broken."""
    try:
        answer = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SCAN_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {SCAN_SECONDS:.0f} s"
    if any(word in answer.stderr for word in _UNREACHABLE):
        return "the vulnerability data is not reachable"
    if not answer.stdout.lstrip().startswith("{"):
        raise AuditFailed(f"{Path(command[0]).name} failed: {answer.stderr.strip().splitlines()[-1:]}")
    return answer
