"""How the models are written: camelCase on the wire, frozen in memory, CEL rules beside the field they guard.

`Rule` is one `x-kubernetes-validations` entry (Kubernetes: "Validation rules" of CustomResourceDefinitions). The CRD
generator (`crds.py`) lifts them from the JSON schema that pydantic makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, SkipValidation, WithJsonSchema
from pydantic.alias_generators import to_camel

from xapp_operator.api.json import JsonObject

VALIDATIONS_KEY = "x-kubernetes-validations"

if TYPE_CHECKING:
    UnvalidatedObject = JsonObject
else:  # pydantic need not look into values: the API server has, and 300 KB of them would cost milliseconds each time
    UnvalidatedObject = Annotated[
        dict,
        SkipValidation,
        WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    ]


class Model(BaseModel):
    """Base of every part of a custom resource; unknown fields are ignored, the API server refuses or prunes them."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", arbitrary_types_allowed=True
    )


@dataclass(frozen=True, slots=True)
class CelRule:
    """One CEL rule: the expression, the sentence a person reads, and the field it is about."""

    rule: str
    message: str
    field_path: str | None = None
    reason: str | None = None

    def as_schema(self) -> dict[str, str]:
        """Return the entry as the CRD schema spells it."""
        entry = {"rule": self.rule, "message": self.message}
        if self.field_path is not None:
            entry["fieldPath"] = self.field_path
        if self.reason is not None:
            entry["reason"] = self.reason
        return entry


def cel_rules(*entries: CelRule) -> dict[str, Any]:
    """Return the `json_schema_extra` that carries `entries`."""
    return {VALIDATIONS_KEY: [entry.as_schema() for entry in entries]}
