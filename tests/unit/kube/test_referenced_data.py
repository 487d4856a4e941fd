"""What an XApp refers to is read by one reader, which says what is missing or wrong."""

from __future__ import annotations

import base64
from typing import Any, Literal

import pytest
from aiohttp import web

from tests.support.yaml_aliases import count_values, values_with_aliases
from tests.unit.kube.conftest import Connect
from xapp_operator.api.json import JsonObject
from xapp_operator.api.spec_parts import ArchiveSource, KeyRef, NameRef, ValuesRef
from xapp_operator.config.settings import Settings
from xapp_operator.domain.chart_values.yaml_values import MAX_NODES
from xapp_operator.errors import AccessDenied, ChartNotFound, FormInvalid, ValuesInvalid, ValuesNotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.referenced_data import ValuesFileReader, read_archive

CHART = b"a packaged chart"
ENCODED = base64.b64encode(CHART).decode()
OBJECTS: dict[str, dict[str, Any]] = {
    "secrets/values": {
        "data": {"values.yaml": base64.b64encode(b"a: 1\n").decode(), "broken": "%%%", "list": "LSAxCg=="}
    },
    "configmaps/values": {"data": {"values.yaml": "a: 2\n", "half": "#" * 512, "one": "#", "bell": 'a: "\\a"'}},
    "configmaps/aliases": {
        "data": {
            "values": values_with_aliases(lists=399),
            "texts": f"a: &a {'x' * 300}\nl: [*a, *a]\n",
            "one": "a: 1\n",
        }
    },
    "chartarchives/upload": {
        "metadata": {"uid": "u1"},
        "spec": {"archive": ENCODED, "digest": "sha256:ab", "chart": {"name": "hello", "version": "0.1.0"}},
    },
    "chartarchives/signed": {"metadata": {"uid": "u5"}, "spec": {"archive": ENCODED, "provenance": "signed"}},
    "secrets/signed": {"data": {"chart.tgz": ENCODED, "chart.tgz.prov": base64.b64encode(b"signed").decode()}},
    "configmaps/signed": {"binaryData": {"chart.tgz": ENCODED}, "data": {"chart.tgz.prov": "signed"}},
    "secrets/odd": {"data": {"chart.tgz": ENCODED, "chart.tgz.prov": "c2ln*bmVk"}},
    "chartarchives/broken": {"metadata": {"uid": "u2"}, "spec": {"archive": "%%%"}},
    "secrets/own": {"metadata": {"uid": "u3"}, "type": "Opaque", "data": {"chart.tgz": ENCODED, "broken": "%%%"}},
    "configmaps/own": {"metadata": {"uid": "u4"}, "binaryData": {"chart.tgz": ENCODED}},
}


@pytest.fixture
async def kube(connect: Connect) -> KubeClient:
    async def handle(request: web.Request) -> web.Response:
        key = "/".join(request.path.split("/")[-2:])
        if key == "secrets/denied":
            return web.json_response(
                {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}, status=403
            )
        if key not in OBJECTS:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound", "message": "no"}, status=404)
        return web.json_response(OBJECTS[key])

    return await connect(handle)


async def _values(
    kube: KubeClient,
    name: str,
    key: str = "values.yaml",
    *,
    kind: Literal["Secret", "ConfigMap"] = "Secret",
    optional: bool = False,
) -> object:
    source = ValuesRef(kind=kind, name=name, key=key, optional=optional)
    settings = Settings(values_max_bytes=1024, values_from_max_bytes=1500)
    return (await ValuesFileReader(kube, settings, namespace="ns").read(source)).parse()


async def test_values_come_from_secrets_and_config_maps(kube: KubeClient) -> None:
    assert await _values(kube, "values") == {"a": 1}
    assert await _values(kube, "values", kind="ConfigMap") == {"a": 2}


@pytest.mark.parametrize(
    ("name", "key", "part"), [("none", "values.yaml", "does not exist"), ("values", "x", "no key x")]
)
async def test_missing_values_are_an_error_unless_optional(kube: KubeClient, name: str, key: str, part: str) -> None:
    with pytest.raises(ValuesNotFound, match=part):
        await _values(kube, name, key)
    assert await _values(kube, name, key, optional=True) == {}


async def test_control_characters_in_values_are_an_error(kube: KubeClient) -> None:
    with pytest.raises(ValuesInvalid, match="key bell of ConfigMap values: values"):
        await _values(kube, "values", "bell", kind="ConfigMap")


@pytest.mark.parametrize(("key", "part"), [("broken", "base64"), ("list", "key list of Secret values")])
async def test_malformed_values_are_an_error_even_if_optional(kube: KubeClient, key: str, part: str) -> None:
    with pytest.raises(ValuesInvalid, match=part) as caught:
        await _values(kube, "values", key, optional=True)
    assert not isinstance(caught.value, ValuesNotFound)


async def test_forbidden_values_are_an_error_even_if_optional(kube: KubeClient) -> None:
    with pytest.raises(AccessDenied):
        await _values(kube, "denied", optional=True)


def _archive(name: str, key: str = "chart.tgz", *, config_map: bool = False) -> ArchiveSource:
    reference = KeyRef(name=name, key=key)
    return ArchiveSource(config_map_ref=reference) if config_map else ArchiveSource(secret_ref=reference)


def _upload(name: str) -> ArchiveSource:
    return ArchiveSource(chart_archive_ref=NameRef(name=name))


async def test_archives_come_from_uploads_and_from_objects_of_a_user(kube: KubeClient) -> None:
    upload = await read_archive(kube, _upload("upload"), namespace="ns")
    assert (upload.data, upload.uid) == (CHART, "u1")
    assert (upload.declared_digest, upload.declared_name, upload.declared_version) == ("sha256:ab", "hello", "0.1.0")
    for archive, uid in ((_archive("own"), "u3"), (_archive("own", config_map=True), "u4")):
        own = await read_archive(kube, archive, namespace="ns")
        assert (own.data, own.uid, own.declared_digest) == (CHART, uid, None)


@pytest.mark.parametrize(("name", "part"), [("none", "ChartArchive none"), ("broken", "under spec.archive")])
async def test_missing_or_malformed_chart_archive_is_named(kube: KubeClient, name: str, part: str) -> None:
    with pytest.raises(ChartNotFound, match=part):
        await read_archive(kube, _upload(name), namespace="ns")


@pytest.mark.parametrize(
    ("name", "key", "part"),
    [("none", "chart.tgz", "does not exist"), ("own", "x", "no key x"), ("own", "broken", "no chart archive")],
)
async def test_missing_or_malformed_archive_names_the_object(kube: KubeClient, name: str, key: str, part: str) -> None:
    with pytest.raises(ChartNotFound, match=part):
        await read_archive(kube, _archive(name, key), namespace="ns")


@pytest.mark.parametrize("archive", [None, ArchiveSource()])
async def test_archive_without_a_reference_is_refused(kube: KubeClient, archive: ArchiveSource | None) -> None:
    with pytest.raises(FormInvalid, match="names no"):
        await read_archive(kube, archive, namespace="ns")


async def test_values_files_are_bounded_together(kube: KubeClient) -> None:
    reader = ValuesFileReader(kube, Settings(values_from_max_bytes=1024), namespace="ns")
    half, one = (ValuesRef(kind="ConfigMap", name="values", key=key) for key in ("half", "one"))
    for _ in range(2):
        await reader.read(half)
    with pytest.raises(ValuesInvalid, match="more than 1,024 bytes together"):
        await reader.read(one)


async def _parsed(kube: KubeClient, settings: Settings, *keys: str) -> list[JsonObject]:
    """Return the values of keys of one ConfigMap, read as the files of one XApp."""
    reader = ValuesFileReader(kube, settings, namespace="ns")
    files = [await reader.read(ValuesRef(kind="ConfigMap", name="aliases", key=key)) for key in keys]
    return [each.parse() for each in files]


async def test_values_that_aliases_repeat_are_bounded_together(kube: KubeClient) -> None:
    two = await _parsed(kube, Settings(), "values", "values", "one")
    assert 80_000 < sum(map(count_values, two)) <= MAX_NODES
    with pytest.raises(ValuesInvalid) as caught:
        await _parsed(kube, Settings(), "values", "values", "values")
    assert caught.value.message == (
        "key values of ConfigMap aliases is refused at line 2, column 578: more than 100,000 values together with the "
        "files before it, aliases expanded. Use fewer, or fewer aliases."
    )


async def test_texts_that_aliases_repeat_are_bounded_together(kube: KubeClient) -> None:
    settings = Settings(values_max_bytes=1024, values_from_max_bytes=1900)
    assert len(await _parsed(kube, settings, "texts", "texts", "one")) == 3
    with pytest.raises(ValuesInvalid, match="more than 1,900 characters together with the files before it"):
        await _parsed(kube, settings, "texts", "texts", "texts")


@pytest.mark.parametrize(
    "source",
    [
        ArchiveSource(chart_archive_ref=NameRef(name="signed")),
        ArchiveSource(secret_ref=KeyRef(name="signed", key="chart.tgz")),
        ArchiveSource(config_map_ref=KeyRef(name="signed", key="chart.tgz")),
    ],
)
async def test_an_archive_has_the_provenance_that_is_stored_with_it(kube: KubeClient, source: ArchiveSource) -> None:
    found = await read_archive(kube, source, namespace="ns")
    assert (found.data, found.provenance) == (CHART, b"signed")
    assert (found.declared_digest, found.declared_name, found.declared_version) == (None, None, None)


async def test_an_archive_without_provenance_has_none(kube: KubeClient) -> None:
    for source in (
        ArchiveSource(chart_archive_ref=NameRef(name="upload")),
        ArchiveSource(secret_ref=KeyRef(name="own", key="chart.tgz")),
        ArchiveSource(config_map_ref=KeyRef(name="own", key="chart.tgz")),
        ArchiveSource(secret_ref=KeyRef(name="odd", key="chart.tgz")),
    ):
        assert (await read_archive(kube, source, namespace="ns")).provenance is None
