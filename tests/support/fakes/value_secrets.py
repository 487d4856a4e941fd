"""Secrets with values or charts that an XApp refers to."""

from __future__ import annotations

import base64

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
