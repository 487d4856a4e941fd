"""The labels by which an xApp registers, and the texts that they shorten."""

from __future__ import annotations

from tests.unit.domain.planning.plan_inputs import spec
from xapp_operator.api.names import LABEL_ORGANIZATION, LABEL_TEAM, REGISTRATION_LABELS
from xapp_operator.domain.registration import original_text_annotations, registration_labels


def test_texts_that_are_no_label_values_are_kept_as_they_were_written() -> None:
    written = spec().model_copy(update={"organization": "Acme & Co.", "team": "RAN / west"})
    labels = registration_labels("hello", written)
    assert set(labels) == set(REGISTRATION_LABELS)
    assert labels[LABEL_ORGANIZATION] != "Acme & Co."
    assert original_text_annotations(written) == {LABEL_ORGANIZATION: "Acme & Co.", LABEL_TEAM: "RAN / west"}
