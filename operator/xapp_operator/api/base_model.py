"""The base of the models: camelCase in JSON, frozen in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, SkipValidation, WithJsonSchema
from pydantic.alias_generators import to_camel

from xapp_operator.api.json import JsonObject

if TYPE_CHECKING:
    UnvalidatedObject = JsonObject
else:  # the API server has validated values; doing it again would take milliseconds for 300 KB
    UnvalidatedObject = Annotated[
        dict,
        SkipValidation,
        WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    ]


class Model(BaseModel):
    """Base of every part of a custom resource. Unknown fields are ignored: the API server refuses or prunes them."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", arbitrary_types_allowed=True
    )
