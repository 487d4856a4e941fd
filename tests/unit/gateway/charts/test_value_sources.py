"""The values files of `valuesFrom` that the gateway reads with the caller's token, and those that it cannot read."""

from __future__ import annotations

import pytest

from tests.support.fakes.api_server import FakeApiServer, FakeTransport, Refused, Target
from tests.support.fakes.operator import fake_credentials
from tests.unit.gateway.deploy.test_forms import REMOTE, checked
from xapp_operator.api.models import XAppSpec
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.charts.value_sources import SourcedValues, ValueSources
from xapp_operator.kube.advertise_address import AdvertiseAddress
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.transport import ApiRequest

UNREAD = ("ConfigMap radio in valuesFrom could not be read and was left out",)


def spec(*, optional: bool) -> XAppSpec:
    source = {"kind": "ConfigMap", "name": "radio", "key": "values.yaml", "optional": optional}
    return checked(**REMOTE, valuesFrom=[source]).spec


async def read(server: FakeApiServer, spec: XAppSpec, *, refusal: Refused | None = None) -> SourcedValues:
    """Read the values of `spec`; the API server answers each request with `refusal`, if there is one."""

    def refuse(_request: ApiRequest) -> None:
        if refusal is not None:
            raise refusal

    settings = Settings(cluster_advertise_address="203.0.113.1")
    async with KubeClient(FakeTransport(server, fake_credentials(), refuse=refuse)) as client:
        sources = ValueSources(settings, advertise_address=AdvertiseAddress(client, settings))
        return await sources.read(client, spec, chart_values={})


@pytest.mark.parametrize("optional", [False, True], ids=["required", "optional"])
@pytest.mark.parametrize(
    "refusal",
    [Refused(403, "Forbidden", "no"), Refused(503, "ServiceUnavailable", "away")],
    ids=["denied", "not available"],
)
async def test_a_source_that_cannot_be_read_is_named(refusal: Refused, optional: bool) -> None:
    found = await read(FakeApiServer(), spec(optional=optional), refusal=refusal)
    assert found.unread_warnings == UNREAD
    assert ("ConfigMap/radio", None) in [(each.origin, each.values) for each in found.layers]


@pytest.mark.parametrize(("optional", "warnings"), [(False, UNREAD), (True, ())], ids=["required", "optional"])
async def test_only_an_optional_source_may_be_missing(optional: bool, warnings: tuple[str, ...]) -> None:
    assert (await read(FakeApiServer(), spec(optional=optional))).unread_warnings == warnings


async def test_an_optional_source_is_merged() -> None:
    server, wanted = FakeApiServer(), spec(optional=True)
    body = {"metadata": {"name": "radio"}, "data": {"values.yaml": "band: 78"}}
    server.create(Target("", "v1", "configmaps", wanted.namespace), body)
    found = await read(server, wanted)
    assert (found.merged, found.unread_warnings) == ({"band": 78}, ())
