"""Compares every response of a gateway with its OpenAPI document: status, headers, media type and schema."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Self

import httpx
from jsonschema import Draft202012Validator

from tests.support.gateway import GatewayServer

UNDOCUMENTED_STATUSES: Final = frozenset({404, 405})
"""Statuses of requests that match no route; no operation can document them."""


@dataclass(frozen=True, slots=True)
class OpenApiContract:
    """The OpenAPI document, with its paths as patterns."""

    document: dict[str, Any]
    routes: list[tuple[re.Pattern[str], dict[str, Any]]]

    @classmethod
    def from_gateway(cls, gateway: GatewayServer) -> Self:
        """Return the document that `gateway` publishes."""
        with gateway.client() as http:
            document = http.get("/api/v1/openapi.json").json()
        routes = [
            (re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), operations)
            for path, operations in document["paths"].items()
        ]
        return cls(document, routes)

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
            resolvable_schema = {**schema, "components": self.document["components"]}
            errors = [
                f"{error.json_path}: {error.message}"
                for error in Draft202012Validator(resolvable_schema).iter_errors(answer.json())
            ]
            assert not errors, f"{answer.request.url.path}: {errors}"
