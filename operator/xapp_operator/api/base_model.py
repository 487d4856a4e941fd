"""How the models are written: camelCase on the wire, frozen in memory, CEL rules beside the field they guard.

`Rule` is one `x-kubernetes-validations` entry (Kubernetes: "Validation rules" of CustomResourceDefinitions). The CRD
generator (`crds.py`) lifts them from the JSON schema that pydantic makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, SkipValidation, WithJsonSchema
from pydantic.alias_generators import to_camel

from xapp_operator.api.json import JsonObject

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
