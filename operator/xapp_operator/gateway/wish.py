"""The XApp that a request wishes for, made of what was sent and of what is there. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.models import UPLOAD, XAppSpec
from xapp_operator.api.names import API_VERSION, XAPP_KIND
from xapp_operator.errors import FieldError, FormInvalid, IdentityConflict
from xapp_operator.gateway.forms import FORM, IDENTITY, REMOTE_ONLY, Form
from xapp_operator.gateway.query import shown
from xapp_operator.gateway.submission import Submission, require_file
from xapp_operator.gateway.uploads import UploadedChart

ONLY_REMOTE_FIELDS: Final = (*REMOTE_ONLY, "chartVersion")


@dataclass(frozen=True, slots=True)
class Wish:
    """An XApp as it should be written: its name, its spec, the form behind it, and a chart that came along."""

    name: str
    spec: JsonObject
    form: Form
    chart: UploadedChart | None

    @property
    def namespace(self) -> str:
        """Return the namespace of the XApp."""
        return self.form.spec.namespace


def new_wish(submission: Submission) -> Wish:
    """Return the wish for a new XApp.

    Raises:
        FormInvalid: for an upload without a chart.
    """
    require_file(submission)
    form = submission.form
    spec: JsonObject = dict(form.fields)
    if submission.values is not None:
        spec["values"] = submission.values
    if submission.chart is not None:
        spec["archive"] = submission.chart.archive
    return Wish(form.name, spec, form, submission.chart)


def changed_wish(current: JsonObject, submission: Submission) -> Wish:
    """Return the wish to upgrade `current`: what the form gives counts, what it leaves out stays, null clears.

    Raises:
        FormInvalid: when the identity would change, or an upload has no chart.
    """
    before, form = obj(current, "spec"), submission.form
    _check_identity(before, form)
    spec: JsonObject = {**before, **form.fields}
    for name in form.cleared:
        spec.pop(name, None)
    if submission.values is not None:
        spec["values"] = submission.values
    if not form.is_upload:
        spec.pop("archive", None)
    else:
        for name in ONLY_REMOTE_FIELDS:
            spec.pop(name, None)
        if submission.chart is not None:
            spec["archive"] = submission.chart.archive
        elif text(before, "method") != UPLOAD:
            require_file(submission)
    return Wish(text(obj(current, "metadata"), "name"), spec, form, submission.chart)


def valued_wish(current: JsonObject, values: JsonObject) -> Wish:
    """Return the wish to have `current` with other values, and everything else as it is."""
    spec: JsonObject = {**obj(current, "spec"), "values": values}
    name = text(obj(current, "metadata"), "name")
    form = Form(fields=spec, cleared=(), spec=XAppSpec.model_validate(spec), name=name)
    return Wish(name, spec, form, None)


def _check_identity(before: JsonObject, form: Form) -> None:
    errors = tuple(
        FieldError(
            f"{FORM}.{name}",
            f"is part of the xApp's identity and cannot be changed (it is {shown(text(before, name))}): keep it, or "
            "deploy a new xApp",
        )
        for name in (*IDENTITY, "namespace")
        if form.fields.get(name) != before.get(name)
    )
    if errors:
        raise FormInvalid(f"{errors[0].field} {errors[0].message}", errors=errors)


def check_same_identity(before: JsonObject, wish: Wish) -> None:
    """Refuse a name that another organization, team and xAppName have taken: they compose to the same text.

    Raises:
        IdentityConflict: naming whose it is.
    """
    if all(wish.spec.get(name) == before.get(name) for name in IDENTITY):
        return
    whose = ", ".join(f"{name} {shown(text(before, name))}" for name in IDENTITY)
    message = f"composes to the name {wish.name}, which belongs to another xApp ({whose}): choose another xAppName"
    raise IdentityConflict(f"the identity {message}", errors=(FieldError(f"{FORM}.xAppName", message),))


def body_of(wish: Wish) -> JsonObject:
    """Return the XApp to create."""
    return {
        "apiVersion": API_VERSION,
        "kind": XAPP_KIND,
        "metadata": {"name": wish.name, "namespace": wish.namespace},
        "spec": wish.spec,
    }


def replaced(current: JsonObject, wish: Wish) -> JsonObject:
    """Return `current` with the spec wished for; its resourceVersion makes a concurrent write a conflict."""
    metadata = {key: value for key, value in obj(current, "metadata").items() if key != "managedFields"}
    return {"apiVersion": API_VERSION, "kind": XAPP_KIND, "metadata": metadata, "spec": wish.spec}
