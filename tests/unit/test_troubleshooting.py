"""What docs/troubleshooting.md says of messages: programs write them, and the operator tries again if it says so."""

import re
from pathlib import Path

import pytest

from xapp_operator.helm.results.error_rules import error_from_stderr

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
SOURCES = "\n".join(path.read_text() for path in (ROOT / "operator" / "xapp_operator").rglob("*.py"))

STDERR = {
    "provided port is already allocated": (
        'Service "x" is invalid: spec.ports[0].nodePort: Invalid value: 31315: provided port is already allocated'
    ),
    "exceeded quota": 'services "x" is forbidden: exceeded quota: q, requested: count/services=1',
    "Admission control of this cluster refuses it": 'admission webhook "x.example.com" denied the request: no',
    "error looking up service account": 'pods "x" is forbidden: error looking up service account n/y: not found',
    "resource name may not be empty": "failed pre-install: resource name may not be empty",
    "failed calling webhook": 'Internal error occurred: failed calling webhook "x.example.com": connection refused',
    "the cluster does not serve kind": 'resource mapping not found: no matches for kind "Widget" in version "x.io/v1"',
    "exists and belongs to no release or to another one": (
        'ConfigMap "x" in namespace "n" exists and cannot be imported into the current release'
    ),
    "Duplicate value": 'Service "x" is invalid: spec.ports[1].name: Duplicate value: "http"',
    "field is immutable": 'Job.batch "x" is invalid: spec.x: Invalid value: {"a": 1}: field is immutable',
    "quantities must match the regular expression": (
        "server-side apply failed for object n/x apps/v1, Kind=Deployment: unable to convert unstructured object to "
        "apps/v1, Kind=Deployment: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    ),
    "hook failed": "resource Job/n/x not ready. status: Failed, message: Job Failed",
}
"""What helm prints, by what the page quotes."""

OWN_TEXTS = (
    "the release is too large",
    "does not parse",
    "renders invalid YAML",
    "waiting for the CRDs",
    "watch interrupted",
    "belongs to the release",
    "of the object protects the item",
    "the item in its place is applied server-side by",
    "the item in its place was written with another version of the API",
)
"""Texts of this project that the page quotes."""


def rows() -> list[list[str]]:
    section = PAGE.partition("\n### helm cannot install or upgrade\n")[2].partition("\n### ")[0]
    return [row.strip("| ").split(" | ") for row in re.findall(r"^\| .*", section, flags=re.MULTILINE)[1:]]


@pytest.mark.parametrize("quoted", STDERR)
def test_the_page_says_whether_the_operator_tries_again(quoted: str) -> None:
    (row,) = (row for row in rows() if quoted in row[0])
    error = error_from_stderr(f"Error: INSTALLATION FAILED: {STDERR[quoted]}")
    assert [word for word in quoted.split() if word not in error.message] == []
    assert row[-1] == ("no" if error.permanent else "yes")


def test_every_row_of_the_page_is_tested() -> None:
    assert len(rows()) == len(STDERR)


@pytest.mark.parametrize("text", OWN_TEXTS)
def test_the_page_quotes_what_the_programs_write(text: str) -> None:
    assert text in PAGE
    assert text in SOURCES
