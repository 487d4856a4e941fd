"""The gateway refuses exactly the forms that the API server would refuse: both read the rules of one model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.localcluster import Cluster
from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.errors import FormInvalid, Invalid
from xapp_operator.gateway.deploy.forms import to_form_error, validate_form
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS

pytestmark = pytest.mark.integration

TEXTS = {
    "xAppName": ["hello", "...", "Hello World!", "日本", "日本x", "x" * 253, "x" * 254, "", "\n", "a\nb"],
    "organization": ["O-RAN Alliance", "---", "9"],
    "team": ["ran", "é", "É9"],
    "owner": ["jane", "", "Jörg\tX", "x" * 254],
    "version": [
        "0",
        "0.1",
        "1.2.3.4.5",
        "v1",
        "1.",
        ".1",
        "1..2",
        "0.1\n",
        "\n0.1",
        "1 ",
        "\u0661",
        "",
        "1" * 63,
        "1" * 64,
    ],
    "chartName": ["hello", "", "x" * 253, "x" * 254],
    "url": [
        "http://a",
        "https://a.b:80/c?d#e",
        "oci://a/b",
        "HTTP://a",
        "ftp://a",
        "https://",
        "https:///a",
        "https://?a",
        "https://a@b",
        "https://a:b@c",
        "https://a/b@c",
        "https://a?b@c",
        " https://a",
        "https://a\n",
        "https://a\nb@c",
        "",
        "https://" + "a" * 2040,
        "https://" + "a" * 2041,
    ],
    "repoName": ["a", "a-b", "a.b", "A", "-a", "a-", "a\n", "", "a" * 63, "a" * 64],
    "releaseName": ["a", "a.b", "a..b", ".a", "A", "a-", "a\n", "", "a" * 53, "a" * 54],
    "chartVersion": ["1.0.0", "", "~1", "1" * 254],
    "timeout": [
        "1s",
        "24h",
        "90s",
        "1h30m",
        "1.5h",
        "500ms",
        "1500ms",
        "0s",
        "24h1s",
        "5",
        "5m\n",
        "-5m",
        "5d",
        "m",
        "",
    ],
    "serviceAccountName": ["a", "", "a" * 253, "a" * 254],
    "deletionPolicy": ["Uninstall", "Orphan", "orphan", ""],
}
OTHERS: list[JsonObject] = [
    {"maxHistory": 1},
    {"maxHistory": 100},
    {"maxHistory": 0},
    {"maxHistory": 101},
    {"maxHistory": "5"},
    {"adopt": True},
    {"adopt": "true"},
    {"upgrade": {"onFailure": "none"}},
    {"upgrade": {"onFailure": "never"}},
    {"upgrade": {"onFail": "none"}},
    {"upgrade": "none"},
    {"driftDetection": {"mode": "off"}},
    {"test": {"enabled": 1}},
    {"dependsOn": [{"name": "a"}]},
    {"dependsOn": [{"name": ""}]},
    {"dependsOn": [{}]},
    {"dependsOn": [{"name": "a"}] * 33},
    {"valuesFrom": [{"kind": "Secret", "name": "a"}]},
    {"valuesFrom": [{"kind": "Pod", "name": "a"}]},
    {"valuesFrom": [{"kind": "Secret", "name": "a", "optional": "no"}]},
    {"xAppName": 1},
    {"version": 0.1},
    {"owner": ["jane"]},
    {"method": "remote"},
    {"unknown": 1},
]
PLAIN: list[JsonObject] = [{field: text} for field, texts in TEXTS.items() for text in texts]


@pytest.fixture
async def kube(cluster: Cluster, crds: None) -> AsyncIterator[KubeClient]:
    async with await KubeClient.connect(Settings.model_validate({"KUBECONFIG": str(cluster.kubeconfig)})) as client:
        yield client


def form(namespace: str) -> JsonObject:
    return {
        "xAppName": "hello",
        "organization": "acme",
        "team": "ran",
        "version": "0.1.0",
        "owner": "jane",
        "method": "Remote Chart Repository",
        "namespace": namespace,
        "chartName": "hello",
        "url": "https://charts.example.com",
        "repoName": "acme",
        "chartVersion": "1.0.0",
    }


async def test_both_refuse_the_same_fields(kube: KubeClient, namespace: str) -> None:
    differences: list[str] = []
    for change in PLAIN + OTHERS:
        whole = {**form(namespace), **change}
        ours, theirs = refused_here(whole), await refused_there(kube, whole, namespace)
        if ours != theirs:
            differences.append(f"{str(change)[:80]}: here {ours}, there {theirs}")

    assert not differences, "\n".join(differences)


def refused_here(whole: JsonObject) -> set[str]:
    """Return the top-level fields that the gateway refuses."""
    try:
        validate_form(whole, settings=Settings())
    except FormInvalid as error:
        return {top(each.field) for each in error.errors}
    return set()


async def refused_there(kube: KubeClient, whole: JsonObject, namespace: str) -> set[str]:
    """Return the top-level fields that the API server refuses."""
    body: dict[str, Any] = {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "metadata": {"name": "hello", "namespace": namespace},
        "spec": whole,
    }
    try:
        await kube.create(XAPPS, body, dry_run=True)
    except Invalid as error:
        form_error = to_form_error(error)
        # It names an unknown field only in the message.
        named = {top(each.field) for each in form_error.errors if each.field.count(".")}
        return named or {field for field in whole if f'"spec.{field}' in form_error.message}
    return set()


def top(field: str) -> str:
    return field.removeprefix("xAppForm.").partition(".")[0].partition("[")[0]
