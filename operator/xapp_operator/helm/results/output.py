"""Reads what helm prints: the JSON of a release, of a dry run, and plain text. Pure."""

from __future__ import annotations

import base64
from typing import Final, cast

import orjson

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.common.bounded_process import ProcessResult
from xapp_operator.errors import HelmError
from xapp_operator.helm.requests import LeftObject, LeftReason, ReleaseResult, RenderResult
from xapp_operator.helm.results.stderr import parse_warnings

CRDS_FOLDER: Final = "crds/"

_LEFT_HEADINGS: Final = {
    "were kept due to the resource policy:": LeftReason.KEPT,
    "were not deleted because they are not owned by this release:": LeftReason.NOT_OWNED,
    "were not deleted because their ownership could not be verified:": LeftReason.UNVERIFIED,
}
"""How the line ends below which helm lists the objects that an uninstall has left, one a line."""


def stdout_text(outcome: ProcessResult) -> str:
    """Return what helm printed."""
    return outcome.stdout.decode("utf-8", "replace")


def decode_stdout(outcome: ProcessResult) -> JsonObject:
    """Return the JSON object that helm printed.

    Raises:
        HelmError: when it is not JSON.
    """
    try:
        decoded = orjson.loads(outcome.stdout)
    except ValueError as error:
        raise HelmError("the output of helm is not JSON. Check that this is helm 4") from error
    return cast("JsonObject", decoded) if isinstance(decoded, dict) else {}


def parse_release(outcome: ProcessResult, *, labelled: bool = False) -> ReleaseResult:
    """Return the release of `helm install` or `helm upgrade`; `labelled` is what became of its labels."""
    release = decode_stdout(outcome)
    info, metadata = obj(release, "info"), obj(obj(release, "chart"), "metadata")
    return ReleaseResult(
        revision=integer(release, "version"),
        status=text(info, "status"),
        manifest=text(release, "manifest"),
        chart_name=text(metadata, "name"),
        chart_version=text(metadata, "version"),
        app_version=text(metadata, "appVersion"),
        last_deployed=text(info, "last_deployed"),
        first_deployed=text(info, "first_deployed"),
        description=text(info, "description"),
        labelled=labelled,
    )


def parse_dry_run(outcome: ProcessResult, *, upgrade: bool) -> RenderResult:
    """Return what a dry run would apply, with the CustomResourceDefinitions of a new release."""
    release = decode_stdout(outcome)
    definitions: list[str] = []
    if not upgrade:  # helm never changes those that are installed
        for file in items(obj(release, "chart"), "files"):
            if text(file, "name").startswith(CRDS_FOLDER):
                definitions.append(base64.b64decode(text(file, "data")).decode("utf-8", "replace"))
    return RenderResult(
        manifest="".join((*(f"---\n{each.strip()}\n" for each in definitions), text(release, "manifest"))),
        hooks="".join(f"---\n{text(each, 'manifest').strip()}\n" for each in items(release, "hooks")),
        notes=text(obj(release, "info"), "notes"),
        warnings=parse_warnings(outcome.stderr),
    )


def rendered_notes(dry_run: ProcessResult) -> str:
    """Return the notes of a dry run, empty if it failed."""
    # A dry run does not know this cluster's version and kinds, so it may fail when `template` does not.
    if dry_run.exit_code != 0 or dry_run.stdout_truncated:
        return ""
    return text(obj(decode_stdout(dry_run), "info"), "notes")


def parse_left_objects(outcome: ProcessResult) -> tuple[LeftObject, ...]:
    """Return the objects that an uninstall has left, in helm's order."""
    found: list[LeftObject] = []
    reason: LeftReason | None = None
    for line in stdout_text(outcome).splitlines():
        kind, is_object, name = line.removeprefix("[").partition("] ")
        if not line.startswith("[") or not is_object:
            reason = next((each for heading, each in _LEFT_HEADINGS.items() if line.endswith(heading)), None)
        elif reason is not None:
            name = name.partition(": ")[0] if reason is LeftReason.UNVERIFIED else name  # and why
            found.append(LeftObject(f"{kind}/{name}", reason))
    return tuple(found)
