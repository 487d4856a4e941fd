"""Compares every response of a gateway with its OpenAPI document: status, headers, media type and schema."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import httpx
from jsonschema_rs import Draft202012Validator

from tests.support.gateway import GatewayServer

UNDOCUMENTED_STATUSES: Final = frozenset({404, 405})
"""Statuses of requests that match no route; no operation can document them."""


@dataclass(frozen=True, slots=True)
class OpenApiContract:
    """The OpenAPI document, with its paths as patterns."""

    document: dict[str, Any]
    routes: list[tuple[re.Pattern[str], dict[str, Any]]]
    _validators: dict[str, Draft202012Validator] = field(default_factory=dict)

    @staticmethod
    def from_gateway(gateway: GatewayServer) -> OpenApiContract:
        """Return the document that `gateway` publishes."""
        with gateway.client() as http:
            return _parse(http.get("/api/v1/openapi.json").content)

    def check_response(self, answer: httpx.Response) -> None:
        """Fail unless the document describes `answer` for its operation."""
        path = answer.request.url.path.replace("/api/v1/", "/api/")
        method = answer.request.method.lower()
        operations = next((found for pattern, found in self.routes if pattern.fullmatch(path)), {})
        operation = operations.get(method)
        if operation is None:
            assert answer.status_code in UNDOCUMENTED_STATUSES, (
                f"{method} {path} is not described, yet {answer.status_code}"
            )
            return
        described = operation["responses"].get(str(answer.status_code))
        assert described is not None, f"{method} {path} answers {answer.status_code}, which is not described"
        asked = answer.request.url.params
        for name in described.get("headers", {}):
            snapshot = asked.get("snapshot")
            left_out = (
                "dryRun" in asked
                or (name == "Snapshot" and not snapshot)
                or (name == "Last-Event-ID" and snapshot not in (None, "", "new"))
            )
            assert name in answer.headers or left_out, f"{method} {path} lacks {name}"
        self._check_body(answer, described.get("content", {}))

    def _check_body(self, answer: httpx.Response, content: dict[str, Any]) -> None:
        answer.read()
        media = answer.headers.get("content-type", "").partition(";")[0]
        if not content:
            return
        assert media in content, f"{answer.request.url.path} answers {media}, described are {list(content)}"
        schema = content[media].get("schema")
        if schema and media.endswith("json"):
            errors = [
                f"{error.instance_path}: {error.message}"
                for error in self._validator(schema).iter_errors(answer.json())
            ]
            assert not errors, f"{answer.request.url.path}: {errors}"

    def _validator(self, schema: dict[str, Any]) -> Draft202012Validator:
        key = json.dumps(schema)
        if key not in self._validators:
            resolvable_schema = {**schema, "components": self.document["components"]}
            self._validators[key] = Draft202012Validator(resolvable_schema)
        return self._validators[key]


@cache  # few gateways have different documents
def _parse(content: bytes) -> OpenApiContract:
    document = json.loads(content)
    routes = [
        (re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), operations) for path, operations in document["paths"].items()
    ]
    return OpenApiContract(document, routes)
