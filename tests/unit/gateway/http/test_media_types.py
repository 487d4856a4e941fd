"""Which representation a client sends or asks for."""

from __future__ import annotations

import pytest

from tests.unit.gateway.http.requests import make_request
from xapp_operator.gateway.http.requests.media_types import accepts_yaml, sends_yaml


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/yaml", True),
        ("Application/YAML; charset=utf-8", True),
        ("application/x-yaml", True),
        ("text/yaml", True),
        (" text/x-yaml ;a=b", True),
        ("application/json", False),
        ("yaml", False),
        ("", False),
    ],
)
def test_a_body_is_yaml_by_its_content_type(content_type: str, expected: bool) -> None:
    assert sends_yaml(make_request(headers={"Content-Type": content_type})) is expected


def test_a_body_without_a_content_type_is_json() -> None:
    assert not sends_yaml(make_request())


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("application/yaml", True),
        ("text/html, application/yaml;q=0.1", True),
        ("application/json, application/yaml", False),
        ("application/yaml, application/json", False),
        ("application/yaml, application/json;q=1", False),
        ("application/yaml;q=nan", False),
        ("application/json;q=0.5, application/yaml;q=0.6", True),
        ("application/json;q=0.6, application/yaml;q=0.5", False),
        ("application/yaml;q=0", False),
        ("application/yaml; Q = 0.5, application/json;q=0.4", True),
        ("application/yaml;v=1;q=0.3, application/json;v=1;q=0.4", False),
        ("application/yaml;q=0.4;v=1, application/json;q=0.3", True),
        ("application/yaml;q=0.1, text/yaml;q=0.9, application/json;q=0.5", True),
        ("text/yaml;q=0.9, application/yaml;q=0.1, application/json;q=0.5", True),
        ("application/json;q=0.9, application/json;q=0.1, application/yaml;q=0.5", False),
        ("application/yaml;q=7, application/json", False),
        ("application/yaml;q=-1", False),
        ("application/yaml;q=much", False),
        ("application/yaml;q=0.5, application/json;q=much", True),
        ("*/*", False),
        ("", False),
    ],
)
def test_the_preferred_type_is_returned(accept: str, expected: bool) -> None:
    assert accepts_yaml(make_request(headers={"Accept": accept})) is expected
