"""The CRDs and the namespace policy of `crds/`, built from the pydantic models; `make crds` writes them.

The schema is structural (Kubernetes: "Specifying a structural schema"): references are inlined, and there is no `null`,
no title, and no default except for `status`.
"""

from __future__ import annotations

from typing import cast

from xapp_operator.api.chart_archive import ARCHIVE_NAME_RULE, ChartArchive
from xapp_operator.api.chart_repository import ChartRepository
from xapp_operator.api.json import Json, JsonObject, obj
from xapp_operator.api.models import RELEASE_NAME_PATTERN, XAPP_NAME_MAX, XApp
from xapp_operator.api.names import (
    ANNOTATION_KEEP,
    API_VERSION,
    ARCHIVE_KIND,
    ARCHIVE_PLURAL,
    GROUP,
    RELEASE_NAME_MAX,
    REPOSITORY_KIND,
    REPOSITORY_PLURAL,
    VERSION,
    XAPP_KIND,
    XAPP_PLURAL,
)
from xapp_operator.api.rules import VALIDATIONS_KEY, CelRule, cel_literal
from xapp_operator.api.spec_parts import Model

_RELEASE_NAME_EXPRESSION = "(has({0}.spec.releaseName) ? {0}.spec.releaseName : {0}.metadata.name)"
_XAPP_RULES = (
    CelRule(
        f"self.metadata.name.size() <= {XAPP_NAME_MAX}",
        f"metadata.name must be at most {XAPP_NAME_MAX} characters, because it becomes a label value: shorten it",
    ),
    CelRule(
        f"self.metadata.name.size() <= {RELEASE_NAME_MAX} || has(self.spec.releaseName)",
        f"metadata.name with more than {RELEASE_NAME_MAX} characters cannot be a Helm release name: "
        "shorten it, or set spec.releaseName",
    ),
    CelRule(
        f"{_RELEASE_NAME_EXPRESSION.format('self')} == {_RELEASE_NAME_EXPRESSION.format('oldSelf')}",
        "spec.releaseName cannot be changed (default: metadata.name): create a new XApp instead",
    ),
    CelRule(
        f"has(self.spec.releaseName) || self.metadata.name.matches({cel_literal(RELEASE_NAME_PATTERN)})",
        "metadata.name is not a valid Helm release name: set spec.releaseName",
    ),
)

_PrinterColumn = tuple[str, str, str, int]
_READY_CONDITION = '.status.conditions[?(@.type=="Ready")]'
_XAPP_COLUMNS: tuple[_PrinterColumn, ...] = (
    ("xApp", "string", ".spec.xAppName", 0),
    ("Version", "string", ".spec.version", 0),
    ("Ready", "string", f"{_READY_CONDITION}.status", 0),
    ("Phase", "string", ".status.phase", 0),
    ("Health", "string", ".status.health.status", 0),
    ("Revision", "integer", ".status.release.revision", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Namespace", "string", ".spec.namespace", 1),
    ("Chart", "string", ".status.release.chart", 1),
    ("Message", "string", f"{_READY_CONDITION}.message", 1),
)
_REPOSITORY_COLUMNS: tuple[_PrinterColumn, ...] = (
    ("URL", "string", ".spec.url", 0),
    ("Ready", "string", f"{_READY_CONDITION}.status", 0),
    ("Charts", "integer", ".status.charts", 0),
    ("Fetched", "date", ".status.lastFetched", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Message", "string", f"{_READY_CONDITION}.message", 1),
)
_ARCHIVE_COLUMNS: tuple[_PrinterColumn, ...] = (
    ("Chart", "string", ".spec.chart.name", 0),
    ("Version", "string", ".spec.chart.version", 0),
    ("App version", "string", ".spec.chart.appVersion", 0),
    ("Age", "date", ".metadata.creationTimestamp", 0),
    ("Keep", "string", f".metadata.annotations.{ANNOTATION_KEEP.replace('.', chr(92) + '.')}", 1),
    ("Digest", "string", ".spec.digest", 1),
)


def xapp_crd() -> JsonObject:
    return _build_crd(
        XApp, kind=XAPP_KIND, plural=XAPP_PLURAL, short_name="xa", rules=_XAPP_RULES, columns=_XAPP_COLUMNS
    )


def chart_repository_crd() -> JsonObject:
    return _build_crd(
        ChartRepository,
        kind=REPOSITORY_KIND,
        plural=REPOSITORY_PLURAL,
        short_name="chartrepo",
        columns=_REPOSITORY_COLUMNS,
    )


def chart_archive_crd() -> JsonObject:
    return _build_crd(
        ChartArchive,
        kind=ARCHIVE_KIND,
        plural=ARCHIVE_PLURAL,
        short_name="xca",
        rules=(ARCHIVE_NAME_RULE,),
        columns=_ARCHIVE_COLUMNS,
    )


def namespace_policy() -> list[Json]:
    """Return the policy, and its binding, that require spec.namespace to equal metadata.namespace.

    CEL rules of a CRD cannot do that: of metadata, they only see name and generateName.
    """
    name = f"xapp-namespace.{GROUP}"
    policy: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            # With the defaults of the API server: who applies this field server-side owns it as a whole, and two who
            # apply the same would conflict over what was added.
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "resourceRules": [
                    {
                        "apiGroups": [GROUP],
                        "apiVersions": [VERSION],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": [XAPP_PLURAL],
                        "scope": "*",
                    }
                ],
            },
            "validations": [
                {
                    "expression": "object.spec.namespace == object.metadata.namespace",
                    "messageExpression": "'spec.namespace is ' + object.spec.namespace + ', but the XApp is in ' + "
                    "object.metadata.namespace + ': an xApp is installed in the namespace of its XApp, "
                    "make the two equal'",
                    "message": "spec.namespace must equal metadata.namespace: an xApp is installed in the namespace of "
                    "its XApp",
                    "reason": "Invalid",
                }
            ],
        },
    }
    binding: JsonObject = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [policy, binding]


def crd_files() -> dict[str, list[Json]]:
    """Return file name → YAML documents of everything under `crds/`."""
    files: dict[str, list[Json]] = {
        f"{GROUP}_{XAPP_PLURAL}.yaml": [xapp_crd()],
        f"{GROUP}_{REPOSITORY_PLURAL}.yaml": [chart_repository_crd()],
        f"{GROUP}_{ARCHIVE_PLURAL}.yaml": [chart_archive_crd()],
        "namespace-policy.yaml": namespace_policy(),
    }
    kustomization: JsonObject = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(files),
    }
    return {**files, "kustomization.yaml": [kustomization]}


def _build_crd(
    model: type[Model],
    *,
    kind: str,
    plural: str,
    short_name: str,
    columns: tuple[_PrinterColumn, ...],
    rules: tuple[CelRule, ...] = (),
) -> JsonObject:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short_name],
                "categories": ["all"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    **({"subresources": {"status": {}}} if "status" in model.model_fields else {}),
                    "additionalPrinterColumns": [_printer_column(column) for column in columns],
                    "schema": {"openAPIV3Schema": _root_schema(model, kind=kind, rules=rules)},
                }
            ],
        },
    }


def _printer_column(column: _PrinterColumn) -> JsonObject:
    name, kind, path, priority = column
    entry: JsonObject = {"name": name, "type": kind, "jsonPath": path}
    if priority:
        entry["priority"] = priority
    return entry


def _root_schema(model: type[Model], *, kind: str, rules: tuple[CelRule, ...]) -> JsonObject:
    raw = cast("JsonObject", model.model_json_schema(by_alias=True))
    definitions = obj(raw, "$defs")
    properties = obj(raw, "properties")
    root: JsonObject = {
        "type": "object",
        "description": raw["description"],
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"Always {API_VERSION}."},
            "kind": {"type": "string", "description": f"Always {kind}."},
            "metadata": {"type": "object"},
            "spec": _structural_schema(properties["spec"], definitions),
        },
    }
    if "status" in properties:
        status = cast("JsonObject", _structural_schema(properties["status"], definitions))
        obj(root, "properties")["status"] = {
            **status,
            "default": {"observedGeneration": -1},
            # The operator alone writes it, so managedFields need not list its fields. The API server decodes and
            # encodes them several times for each write: a list of all fields makes up a seventh of its work.
            "x-kubernetes-map-type": "atomic",
        }
    if rules:
        root[VALIDATIONS_KEY] = [cast("Json", rule.as_schema()) for rule in rules]
    return root


_DROPPED_KEYWORDS = frozenset({"title", "default", "$defs", "propertyNames"})


def _structural_schema(schema: Json, definitions: JsonObject) -> Json:
    """Return `schema` without references, nulls, titles and defaults."""
    if not isinstance(schema, dict):
        return schema
    merged = _inline_references(schema, definitions)
    if merged.get("x-kubernetes-int-or-string"):
        merged.pop("anyOf", None)
    result: JsonObject = {}
    for key, value in merged.items():
        if key == "const":
            result["enum"] = [value]
        elif key == "properties" and isinstance(value, dict):
            result[key] = {name: _structural_schema(inner, definitions) for name, inner in value.items()}
        elif key in {"items", "additionalProperties"}:
            result[key] = _structural_schema(value, definitions)
        elif key not in _DROPPED_KEYWORDS:
            result[key] = value
    if "enum" in result:
        result.setdefault("type", "string")
    return result


def _inline_references(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """Return `schema` with its `$ref`, and the one branch of its `anyOf` that is not null, merged in."""
    merged = dict(schema)
    reference = merged.pop("$ref", None)
    if isinstance(reference, str):
        target = definitions[reference.rsplit("/", 1)[-1]]
        merged = {**_inline_references(cast("JsonObject", target), definitions), **merged}
    branches = merged.get("anyOf")
    if isinstance(branches, list):
        present = [branch for branch in branches if isinstance(branch, dict) and branch.get("type") != "null"]
        if len(present) == 1:
            del merged["anyOf"]
            merged = {**_inline_references(present[0], definitions), **merged}
    return merged
