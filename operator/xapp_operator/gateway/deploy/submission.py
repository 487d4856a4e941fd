"""A request to deploy or upgrade, after all checks that need no cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from xapp_operator.api.chart_archive import PROVENANCE_MAX
from xapp_operator.api.json import JsonObject
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.inspection import inspect_archive
from xapp_operator.config.settings import Settings
from xapp_operator.domain.control_characters import is_plain_text
from xapp_operator.errors import (
    ChartInvalid,
    FieldError,
    FormInvalid,
    MalformedRequest,
    SignatureInvalid,
    ValuesInvalid,
    XAppError,
)
from xapp_operator.gateway.charts.uploads import UploadedChart
from xapp_operator.gateway.deploy.forms import FORM_PART, Form, validate_form
from xapp_operator.gateway.deploy.new_repository import (
    REPOSITORY_PART,
    read_repository_part,
    validate_repository_part,
)
from xapp_operator.gateway.deploy.values_input import SentValues, read_values
from xapp_operator.gateway.http.requests.bodies import JSON_MAX_BYTES, decode_json_object
from xapp_operator.gateway.http.requests.multipart import PartRule, ReceivedParts
from xapp_operator.gateway.schemas.repositories import RepositoryRequest

FILE_PART: Final = "file"
VALUES_PART: Final = "values"
PROVENANCE_PART: Final = "provenance"

_SIGNED_MESSAGE: Final = "-----BEGIN PGP SIGNED MESSAGE-----"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Submission:
    """A valid form, with the values and the chart if they were sent."""

    form: Form
    values: SentValues | None
    chart: UploadedChart | None
    repository: RepositoryRequest | None = None
    """The repository to save under the repoName of the form, with its credentials."""


def part_rules(settings: Settings, *, with_repository: bool = False) -> tuple[PartRule, ...]:
    """Return the parts of a deployment or an upgrade and their size limits."""
    rules = (
        PartRule(FORM_PART, settings.form_max_bytes),
        PartRule(FILE_PART, settings.chart_max_bytes, to_file=True),
        PartRule(VALUES_PART, settings.values_max_bytes, to_file=True),
        PartRule(PROVENANCE_PART, PROVENANCE_MAX),
    )
    return (*rules, PartRule(REPOSITORY_PART, JSON_MAX_BYTES)) if with_repository else rules


async def validate_submission(
    form: JsonObject,
    parts: ReceivedParts,
    *,
    settings: Settings,
    threads: ThreadPoolExecutor,
    current_values: JsonObject | None = None,
) -> Submission:
    """Return the submission after all checks that need no cluster.

    Args:
        form: the decoded form.
        parts: all parts.
        settings: the bounds.
        threads: reads values and archives; their number bounds the archives that are unpacked at a time.
        current_values: the values of the XApp to upgrade, None for a new one; a mask in the new values keeps the
            current value.

    Raises:
        InputError: for the first invalid one of parts, form, repository, values and archive, naming all of its invalid
            fields.
    """
    parts.require_expected_names()
    valid_form = validate_form(form, settings=settings)
    if FILE_PART in parts.files and not valid_form.is_upload:
        raise invalid_file_part("cannot be combined with a remote chart: remove it, or use method 'Upload Chart'")
    if PROVENANCE_PART in parts.data and FILE_PART not in parts.files:
        message = (
            "is the provenance file of an uploaded chart: send the chart as the part file with it, or leave it out"
        )
        raise FormInvalid.for_field(PROVENANCE_PART, message, subject=f"the part {PROVENANCE_PART}")
    part = read_repository_part(parts)
    repository = None if part is None else validate_repository_part(part, valid_form, settings=settings)
    values = chart = None
    if VALUES_PART in parts.files:
        read = partial(_read_values_part, parts.files[VALUES_PART], settings=settings, current=current_values)
        values = await _run_in_thread(threads, VALUES_PART, read)
    if FILE_PART in parts.files:
        chart = await read_chart_file(parts.files[FILE_PART], settings=settings, threads=threads)
        chart = replace(chart, provenance=read_provenance(parts))
    return Submission(form=valid_form, values=values, chart=chart, repository=repository)


async def read_chart_file(path: Path, *, settings: Settings, threads: ThreadPoolExecutor) -> UploadedChart:
    """Return the chart in the part `file`, after all checks of its archive.

    Raises:
        ChartInvalid: naming the part.
    """
    return await _run_in_thread(threads, FILE_PART, partial(_read_uploaded_chart, path, settings=settings))


def read_form(parts: ReceivedParts) -> JsonObject:
    """Return the JSON object in the part xAppForm.

    Raises:
        MalformedRequest: when it is missing or not JSON.
        FormInvalid: when it is not a JSON object, or has a duplicate key.
    """
    data = parts.data.get(FORM_PART)
    if data is None:
        message = "is missing: send the deployment form as JSON"
        raise MalformedRequest(
            f"the part {FORM_PART} {message}", errors=(FieldError(FORM_PART, message), *parts.unexpected)
        )
    return decode_json_object(data, what=FORM_PART)


def read_provenance(parts: ReceivedParts) -> str | None:
    """Return the part provenance, or None if there is none.

    Raises:
        FormInvalid: when it is not a provenance file. Its signature is not checked here.
    """
    data = parts.data.get(PROVENANCE_PART)
    if data is None:
        return None
    try:
        found = data.decode()
    except UnicodeDecodeError:
        found = ""
    if _SIGNED_MESSAGE not in found or not is_plain_text(found):
        message = "is not a provenance file: send the .prov file that 'helm package --sign' has written"
        raise FormInvalid.for_field(PROVENANCE_PART, message, subject=f"the part {PROVENANCE_PART}")
    return found


def require_provenance_of(chart: UploadedChart) -> None:
    """Refuse a provenance file that does not name the archive; call it after the check of the signature.

    Raises:
        SignatureInvalid: when it does not have the sha256 of the archive.
    """
    if chart.provenance is not None and f"sha256:{chart.info.digest}" not in chart.provenance:
        raise SignatureInvalid(
            f"the provenance file does not name this chart archive (sha256:{chart.info.digest}): send the .prov file "
            "that 'helm package --sign' has written beside it"
        )


def require_chart_file(submission: Submission) -> None:
    """Refuse an upload without a chart.

    Raises:
        FormInvalid: naming the part.
    """
    if submission.form.is_upload and submission.chart is None:
        raise invalid_file_part("is required with method 'Upload Chart': send the chart archive (.tgz)")


def _read_values_part(path: Path, *, settings: Settings, current: JsonObject | None) -> SentValues:
    # Browsers end each line of a form's text with CRLF, whatever was typed (HTML, "Multipart form data").
    data = path.read_bytes().replace(b"\r\n", b"\n")
    return read_values(data, source=VALUES_PART, max_bytes=settings.values_max_bytes, current=current)


def _read_uploaded_chart(path: Path, *, settings: Settings) -> UploadedChart:
    data = path.read_bytes()
    return UploadedChart(path=path, data=data, info=inspect_archive(data, limits=ArchiveLimits.from_settings(settings)))


async def _run_in_thread(threads: ThreadPoolExecutor, field: str, function: Callable[[], T]) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, function)
    except (ChartInvalid, ValuesInvalid) as error:
        raise with_field_error(error, field) from None


def with_field_error(error: XAppError, field: str) -> XAppError:
    """Return `error` with an entry for `field`, unless it names fields itself."""
    errors = error.errors or (FieldError(field, error.message),)
    return type(error)(error.message, errors=errors)


def invalid_file_part(message: str) -> FormInvalid:
    return FormInvalid.for_field(FILE_PART, message, subject=f"the part {FILE_PART}")
