"""Which of two representations a client sends or asks for: JSON or YAML."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

YAML_MEDIA_TYPE: Final = "application/yaml"
"""RFC 9512."""
_YAML_TYPES: Final = frozenset({YAML_MEDIA_TYPE, "application/x-yaml", "text/yaml", "text/x-yaml"})
_JSON_TYPE: Final = "application/json"


def sends_yaml(request: Request) -> bool:
    """Tell whether the body is YAML; with any other or no Content-Type it is taken for JSON."""
    return _media_type(request.headers.get("content-type", "")) in _YAML_TYPES


def accepts_yaml(request: Request) -> bool:
    """Tell whether the client prefers YAML to JSON, which is the default."""
    yaml = json = 0.0
    for each in request.headers.get("accept", "").split(","):
        name = _media_type(each)
        if name in _YAML_TYPES:
            yaml = max(yaml, quality(each))
        elif name == _JSON_TYPE:
            json = max(json, quality(each))
    return yaml > json


def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def quality(element: str) -> float:
    """Return the weight of one element of an Accept header (RFC 9110, 12.4.2); one that is not positive means never."""
    for parameter in element.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return min(float(value), 1.0)
            except ValueError:
                return 0.0
    return 1.0
