"""A request to deploy or upgrade, once everything that can be checked without the cluster has been checked.

Lives between the parts of a request and the writes: what comes out of here is typed and within every bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from xapp_operator.api.json import JsonObject
from xapp_operator.charts.info import ArchiveLimits
from xapp_operator.charts.inspection import inspect_archive
from xapp_operator.config import Settings
from xapp_operator.domain.redaction import unmask
from xapp_operator.domain.yamlvalues import load_values
from xapp_operator.errors import ChartInvalid, FieldError, FormInvalid, MalformedRequest, ValuesInvalid, XAppError
from xapp_operator.gateway.forms import FORM, Form, checked_form, decode_form
from xapp_operator.gateway.multipart import PartRule, Parts
from xapp_operator.gateway.uploads import UploadedChart

FILE: Final = "file"
VALUES: Final = "values"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Submission:
    """A form, the values and the chart that came with it; None is what did not come."""

    form: Form
    values: JsonObject | None
    chart: UploadedChart | None


def part_rules(settings: Settings) -> tuple[PartRule, ...]:
    """Return the parts of a deployment and their caps."""
    return (
        PartRule(FORM, settings.form_max_bytes),
        PartRule(FILE, settings.chart_max_bytes, to_file=True),
        PartRule(VALUES, settings.values_max_bytes, to_file=True),
    )


async def checked_submission(
    form: JsonObject,
    parts: Parts,
    *,
    settings: Settings,
    threads: ThreadPoolExecutor,
    current_values: JsonObject | None = None,
) -> Submission:
    """Return what was sent when every rule is kept that needs no cluster.

    Args:
        form: the decoded form.
        parts: all parts.
        settings: the bounds.
        threads: where values and archives are read; as many of them lie unpacked in memory at a time.
        current_values: of the XApp that is upgraded; a mask in the new values keeps the old value.

    Raises:
        InputError: for the first of parts, form, values and archive that is wrong, with all wrong fields of it.
    """
    parts.check_names()
    checked = checked_form(form, settings=settings)
    if FILE in parts.files and not checked.is_upload:
        raise _wrong_part("is not sent with a remote chart: leave it out, or use method 'Upload Chart'")
    values = chart = None
    if VALUES in parts.files:
        read = partial(_values, parts.files[VALUES], settings=settings, current=current_values or {})
        values = await _in_thread(threads, VALUES, read)
    if FILE in parts.files:
        chart = await _in_thread(threads, FILE, partial(_chart, parts.files[FILE], settings=settings))
    return Submission(form=checked, values=values, chart=chart)


def form_in(parts: Parts) -> JsonObject:
    """Return the JSON object in the part xAppForm.

    Raises:
        MalformedRequest: when there is none, or it is not JSON.
        FormInvalid: when it is JSON of another kind, or has a key twice.
    """
    data = parts.data.get(FORM)
    if data is None:
        message = "is missing: send the deployment form in it, as JSON"
        raise MalformedRequest(f"the part {FORM} {message}", errors=(FieldError(FORM, message), *parts.misnamed))
    return decode_form(data)


def require_file(submission: Submission) -> None:
    """Refuse an upload without a chart.

    Raises:
        FormInvalid: naming the part.
    """
    if submission.form.is_upload and submission.chart is None:
        raise _wrong_part("is required with method 'Upload Chart': send the packed chart (.tgz)")


def _values(path: Path, *, settings: Settings, current: JsonObject) -> JsonObject:
    values = load_values(path.read_bytes(), what=VALUES, max_bytes=settings.values_max_bytes)
    return unmask(values, current)


def _chart(path: Path, *, settings: Settings) -> UploadedChart:
    data = path.read_bytes()
    return UploadedChart(path=path, data=data, info=inspect_archive(data, limits=ArchiveLimits.of(settings)))


async def _in_thread(threads: ThreadPoolExecutor, field: str, work: Callable[[], T]) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, work)
    except (ChartInvalid, ValuesInvalid) as error:
        raise with_field(error, field) from None


def with_field(error: XAppError, field: str) -> XAppError:
    """Return `error` with an entry for `field`, unless it names fields itself."""
    errors = error.errors or (FieldError(field, error.message),)
    return type(error)(error.message, errors=errors)


def _wrong_part(message: str) -> FormInvalid:
    return FormInvalid(f"the part {FILE} {message}", errors=(FieldError(FILE, message),))
