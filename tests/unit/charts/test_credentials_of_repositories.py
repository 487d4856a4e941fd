"""The credentials of a ChartRepository, as its Secret has them."""

from __future__ import annotations

import base64
from typing import cast

import pytest

from xapp_operator.api.chart_repository import ChartRepositorySpec
from xapp_operator.api.json import JsonObject
from xapp_operator.charts.chart_repositories import load_repository
from xapp_operator.charts.chart_request import BasicCredentials, Repository, TokenCredentials
from xapp_operator.errors import ChartSourceError
from xapp_operator.kube.client import KubeClient

URL = "https://charts.example.com"


class OneSecret:
    """A client that reads one Secret."""

    def __init__(self, data: dict[str, str]) -> None:
        self.data = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}

    async def get(self, _resource: object, name: str, *, namespace: str) -> JsonObject:
        metadata: JsonObject = {"name": name, "namespace": namespace, "annotations": {"xapp-operator.io/origin": URL}}
        return {"metadata": metadata, "type": "kubernetes.io/basic-auth", "data": {**self.data}}


async def load(**data: str) -> Repository:
    spec = ChartRepositorySpec.model_validate({"url": URL, "secretRef": {"name": "creds"}})
    return await load_repository(cast("KubeClient", OneSecret(data)), spec, namespace="ns")


async def test_token_comes_before_a_password() -> None:
    basic = {"username": "jane", "password": "pw"}
    assert (await load(**basic)).credentials == BasicCredentials("jane", "pw")
    assert (await load(**basic, token="t")).credentials == TokenCredentials("t")


@pytest.mark.parametrize("key", ["token", "username", "password"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\0"])
async def test_line_break_is_refused_without_the_value(key: str, end: str) -> None:
    data = {"token": "s3cret"} if key == "token" else {"username": "s3cret", "password": "s3cret"}
    with pytest.raises(ChartSourceError, match=f"the key {key} of Secret creds has a line break") as caught:
        await load(**{**data, key: f"s3cret{end}"})
    assert caught.value.permanent
    assert "s3cret" not in caught.value.message
