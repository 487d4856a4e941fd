"""The XApp that a request asks for, from the submission and the current XApp. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import METHOD_UPLOAD, XAppSpec
from xapp_operator.api.names import ANNOTATION_VALUES_TEXT, API_VERSION, XAPP_KIND
from xapp_operator.common.text import quote_input
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.errors import FieldError, IdentityConflict
from xapp_operator.gateway.charts.uploads import UploadedChart
from xapp_operator.gateway.deploy.forms import FORM_PART, IDENTITY_FIELDS, REQUIRED_REMOTE_FIELDS, Form
from xapp_operator.gateway.deploy.submission import Submission, require_chart_file
from xapp_operator.gateway.deploy.values_input import SentValues, kept_text_of
from xapp_operator.gateway.http.requests.validation import form_invalid
from xapp_operator.gateway.schemas.repositories import RepositoryRequest

REMOTE_FIELDS: Final = (*REQUIRED_REMOTE_FIELDS, "chartVersion")


@dataclass(frozen=True, slots=True)
class DesiredXApp:
    """The XApp to write: its name and spec, the form behind it, and the chart that was uploaded with it.

    `sent_text` is the text that its values were sent as, and `kept_text` what is kept of it. `repository` is the new
    repository of its chart, to save with it.
    """

    name: str
    spec: JsonObject
    form: Form
    chart: UploadedChart | None
    sent_text: str | None = None
    kept_text: str | None = None
    repository: RepositoryRequest | None = None

    @property
    def namespace(self) -> str:
        return self.form.spec.namespace


def desired_new_xapp(submission: Submission) -> DesiredXApp:
    """Return the new XApp that a submission asks for.

    Raises:
        FormInvalid: for an upload without a chart.
    """
    require_chart_file(submission)
    form = submission.form
    spec: JsonObject = dict(form.fields)
    sent = submission.values or SentValues({})
    if submission.values is not None:
        spec["values"] = sent.values
    if submission.chart is not None:
        spec["archive"] = submission.chart.archive
    return DesiredXApp(
        form.name, spec, form, submission.chart, sent.text, sent.kept_text, repository=submission.repository
    )


def desired_upgrade(current: JsonObject, submission: Submission) -> DesiredXApp:
    """Return `current` with the fields that the form sets; null clears a field, and others are kept.

    Raises:
        FormInvalid: when the identity would change, or an upload has no chart.
        ValuesInvalid: when no values were sent and the current ones are nested too deep: they were not read in full, so
            to keep them would overwrite them.
    """
    current_spec, form = obj(current, "spec"), submission.form
    _require_same_identity(current_spec, form)
    spec: JsonObject = {**current_spec, **form.fields}
    for name in form.cleared:
        spec.pop(name, None)
    sent = submission.values or SentValues({}, kept_text=kept_text_of(current))
    if submission.values is not None:
        spec["values"] = sent.values
    else:
        merge_values(obj(current_spec, "values"))
    if not form.is_upload:
        spec.pop("archive", None)
    else:
        for name in REMOTE_FIELDS:
            spec.pop(name, None)
        if submission.chart is not None:
            spec["archive"] = submission.chart.archive
        elif text(current_spec, "method") != METHOD_UPLOAD:
            require_chart_file(submission)
    name = text(obj(current, "metadata"), "name")
    return DesiredXApp(name, spec, form, submission.chart, sent.text, sent.kept_text)


def desired_with_values(current: JsonObject, sent: SentValues) -> DesiredXApp:
    """Return `current` with other values and everything else unchanged."""
    spec: JsonObject = {**obj(current, "spec"), "values": sent.values}
    name = text(obj(current, "metadata"), "name")
    form = Form(fields=spec, cleared=(), spec=XAppSpec.model_validate(spec), name=name)
    return DesiredXApp(name, spec, form, None, sent.text, sent.kept_text)


def _require_same_identity(current_spec: JsonObject, form: Form) -> None:
    errors = [
        FieldError(
            f"{FORM_PART}.{name}",
            f"is part of the xApp's identity and cannot be changed (it is {quote_input(text(current_spec, name))}): "
            "keep it, or deploy a new xApp",
        )
        for name in (*IDENTITY_FIELDS, "namespace")
        if form.fields.get(name) != current_spec.get(name)
    ]
    if errors:
        raise form_invalid(errors)


def require_name_free(current_spec: JsonObject, desired: DesiredXApp) -> None:
    """Refuse a composed name that belongs to an xApp with another identity.

    Raises:
        IdentityConflict: naming that identity.
    """
    if all(desired.spec.get(name) == current_spec.get(name) for name in IDENTITY_FIELDS):
        return
    identity = ", ".join(f"{name} {quote_input(text(current_spec, name))}" for name in IDENTITY_FIELDS)
    raise IdentityConflict.for_field(
        f"{FORM_PART}.xAppName",
        f"composes to the name {desired.name}, which belongs to another xApp ({identity}): choose another xAppName",
        subject="the identity",
    )


def xapp_body(desired: DesiredXApp) -> JsonObject:
    return {
        "apiVersion": API_VERSION,
        "kind": XAPP_KIND,
        "metadata": _with_kept_text({"name": desired.name, "namespace": desired.namespace}, desired.kept_text),
        "spec": desired.spec,
    }


def replacement_body(current: JsonObject, desired: DesiredXApp) -> JsonObject:
    """Return `current` with the desired spec; its resourceVersion makes a concurrent write a conflict."""
    metadata = {key: value for key, value in obj(current, "metadata").items() if key != "managedFields"}
    metadata = _with_kept_text(metadata, desired.kept_text)
    return {"apiVersion": API_VERSION, "kind": XAPP_KIND, "metadata": metadata, "spec": desired.spec}


def _with_kept_text(metadata: JsonObject, kept_text: str | None) -> JsonObject:
    annotations = {key: each for key, each in obj(metadata, "annotations").items() if key != ANNOTATION_VALUES_TEXT}
    if kept_text is not None:
        annotations[ANNOTATION_VALUES_TEXT] = kept_text
    return {**metadata, "annotations": annotations}
