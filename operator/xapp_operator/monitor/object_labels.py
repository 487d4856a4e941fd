"""Reads from labels and annotations to which xApp, release and chart an object belongs. Pure.

Objects of one release have equal texts, so each text is stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Final, TypeAlias

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import (
    HELM_RELEASE_NAME,
    HELM_RELEASE_NAMESPACE,
    LABEL_COMPONENT,
    LABEL_ORGANIZATION,
    LABEL_TEAM,
    LABEL_XAPP,
    REGISTRATION_LABELS,
)
from xapp_operator.common.text import shorten
from xapp_operator.label_sets import LabelSet

OPERATOR_LABEL_SET: Final = LabelSet(selector=LABEL_XAPP, name=LABEL_XAPP, component=LABEL_COMPONENT)
"""The labels that the operator puts on every object of a release."""

CHART_LABEL: Final = "helm.sh/chart"
APP_VERSION_LABEL: Final = "app.kubernetes.io/version"
ANNOTATION_TEXT_MAX: Final = 253
"""Characters that are stored of a name in an annotation: no organization, release or namespace has more."""

ReleaseKey: TypeAlias = tuple[str, str]  # (namespace, name of the release, or of the xApp when Helm did not install it)


@dataclass(frozen=True, slots=True)
class ObjectLabels:
    """The labels and annotations of an object that concern xApps; empty where it has none.

    `name` is the xApp's name by the first label set that has it, `release` the name in Helm's annotation. The last four
    are the operator's own: the values of REGISTRATION_LABELS, the component label, and the annotations with the
    original texts.
    """

    name: str
    release: str
    component: str
    chart: str
    app_version: str
    registration_values: tuple[str, ...]
    xapp_component: str
    organization_annotation: str
    team_annotation: str

    def has_labels(self, labels: Mapping[str, str], *, component: bool) -> bool:
        """Return whether the object has the operator's `labels`, and with `component` any component label."""
        return all(self.registration_label(label) == value for label, value in labels.items()) and (
            not component or self.xapp_component != ""
        )

    def registration_label(self, label: str) -> str:
        """Return the value of one of REGISTRATION_LABELS."""
        return self.registration_values[REGISTRATION_LABELS.index(label)]


def read_labels(metadata: JsonObject, sets: Iterable[LabelSet]) -> ObjectLabels:
    """Return the labels of the first matching sets, and Helm's annotations."""
    labels, annotations = obj(metadata, "labels"), obj(metadata, "annotations")
    release = annotation_text(annotations, HELM_RELEASE_NAME) if text(annotations, HELM_RELEASE_NAMESPACE) else ""
    matching_sets = [each for each in sets if matches(labels, each)]
    name = next((found for each in matching_sets if each.name and (found := text(labels, each.name))), "")
    component = next(
        (found for each in matching_sets if each.component and (found := text(labels, each.component))), ""
    )
    return ObjectLabels(
        name=intern(name),
        release=release,
        component=intern(component),
        chart=intern(text(labels, CHART_LABEL)),
        app_version=intern(text(labels, APP_VERSION_LABEL)),
        registration_values=_shared(tuple(intern(text(labels, label)) for label in REGISTRATION_LABELS)),
        xapp_component=intern(text(labels, LABEL_COMPONENT)),
        organization_annotation=annotation_text(annotations, LABEL_ORGANIZATION),
        team_annotation=annotation_text(annotations, LABEL_TEAM),
    )


def annotation_text(annotations: JsonObject, key: str) -> str:
    """Return the text of an annotation as it is stored, cut if it is longer than any name."""
    return intern(shorten(text(annotations, key), ANNOTATION_TEXT_MAX))


@lru_cache(maxsize=4096)
def _shared(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return one tuple for all equal ones: the objects of an xApp have the same labels."""
    return values


def has_labels(body: JsonObject, labels: Mapping[str, str], *, component: bool) -> bool:
    """Return whether an object has the operator's `labels` (see `ObjectLabels.has_labels`)."""
    return read_labels(obj(body, "metadata"), (OPERATOR_LABEL_SET,)).has_labels(labels, component=component)


def release_key_of(metadata: JsonObject, object_labels: ObjectLabels) -> ReleaseKey | None:
    """Return the release that an object belongs to, or None when nothing names one.

    An object counts for its own namespace only. Otherwise anyone who can write in one namespace could make xApps appear
    in another. So objects in other namespaces than their release's do not register it.
    """
    namespace = text(metadata, "namespace")
    if object_labels.release:
        declared = text(obj(metadata, "annotations"), HELM_RELEASE_NAMESPACE)
        return (namespace, object_labels.release) if declared == namespace else None
    return (namespace, object_labels.name) if namespace and object_labels.name else None


def matches(labels: JsonObject, label_set: LabelSet) -> bool:
    return all(key in labels and value in (None, labels[key]) for key, value in label_set.required_labels)


def has_controller(metadata: JsonObject) -> bool:
    """Return whether another object controls this one, as a ReplicaSet controls its pods."""
    owners = metadata.get("ownerReferences")
    return isinstance(owners, list) and any(isinstance(each, dict) and each.get("controller") for each in owners)
