"""The labels by which an xApp registers, and the annotations with the texts that they shorten. Pure."""

from __future__ import annotations

from xapp_operator.api.models import XAppSpec
from xapp_operator.api.names import LABEL_ORGANIZATION, LABEL_TEAM, LABEL_VERSION, LABEL_XAPP
from xapp_operator.domain.naming import label_value


def registration_labels(name: str, spec: XAppSpec) -> dict[str, str]:
    """Return a value for each of REGISTRATION_LABELS, for the XApp `name`.

    Organization and team are sanitised; the name and a dotted numeric version are valid label values as they are.
    """
    return {
        LABEL_XAPP: name,
        LABEL_ORGANIZATION: label_value(spec.organization),
        LABEL_TEAM: label_value(spec.team),
        LABEL_VERSION: spec.version,
    }


def original_text_annotations(spec: XAppSpec) -> dict[str, str]:
    """Return the annotations with the texts that label values cannot hold as they were written."""
    return {LABEL_ORGANIZATION: spec.organization, LABEL_TEAM: spec.team}
