"""Secrets with values or charts that an XApp refers to."""

from __future__ import annotations

import base64
from typing import Final

import pytest

from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import History
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE


def secret(name: str, **data: str | bytes) -> Json:
    encoded = {
        key.replace("__", "."): base64.b64encode(each if isinstance(each, bytes) else each.encode()).decode()
        for key, each in data.items()
    }
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": name}, "data": encoded}


def replace_secret(history: History, body: Json) -> None:
    history.cluster.server.patch(Target("", "v1", "secrets", NAMESPACE, body["metadata"]["name"]), body)


def create_values(history: History, name: str, text: str) -> None:
    history.cluster.create(secret(name, values__yaml=text))


def delete_values(history: History) -> None:
    """Delete the Secret named values."""
    history.cluster.server.delete(Target("", "v1", "secrets", NAMESPACE, "values"), {})


def remove_key(history: History) -> None:
    delete_values(history)
    history.cluster.create(secret("values", other="x"))


def break_syntax(history: History) -> None:
    delete_values(history)
    create_values(history, "values", "text: [\n")


LOST_VALUES: Final = [
    pytest.param(delete_values, "Secret values in valuesFrom does not exist", id="deleted"),
    pytest.param(remove_key, "Secret values in valuesFrom has no key values.yaml", id="without-key"),
    pytest.param(break_syntax, "key values.yaml of Secret values is not YAML", id="broken"),
]
"""How the values of the Secret named values get lost, and what the XApp tells of it."""
