"""The verbs of the client against a real API server, and the errors of that server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing

import pytest

from tests.integration.kube.conftest import config_map, grant_to_default
from tests.localcluster import LocalCluster
from tests.support.eventually import eventually_async
from tests.support.xapp_manifest import xapp_manifest
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, AlreadyExists, Conflict, Invalid, NotFound, Unauthenticated, WatchExpired
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import (
    CONFIGMAPS,
    NAMESPACES,
    SECRETS,
    SELF_SUBJECT_REVIEWS,
    XAPPS,
    Resource,
)

pytestmark = pytest.mark.integration

SERVICEACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)

REVIEW: JsonObject = {"apiVersion": SELF_SUBJECT_REVIEWS.api_version, "kind": SELF_SUBJECT_REVIEWS.kind}


async def user_of(client: KubeClient) -> str:
    """Return the user name that the API server sees."""
    return text(obj(obj(await client.create(SELF_SUBJECT_REVIEWS, REVIEW), "status"), "userInfo"), "username")


async def token_of(kube: KubeClient, *, namespace: str, name: str) -> str:
    """Return a token of a service account."""
    path = SERVICEACCOUNTS.path(namespace=namespace, name=name, subresource="token")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    answer = await kube.request_bytes(
        "POST", path, headers={"Content-Type": "application/json"}, body=json.dumps(request).encode()
    )
    token: str = json.loads(answer.body)["status"]["token"]
    return token


async def test_an_object_is_created_read_changed_and_deleted(kube: KubeClient, namespace: str) -> None:
    created = await kube.create(CONFIGMAPS, config_map("a", data={"k": "1"}), namespace=namespace)
    uid = text(obj(created, "metadata"), "uid")
    assert (await kube.get(CONFIGMAPS, "a", namespace=namespace))["data"] == {"k": "1"}
    with pytest.raises(AlreadyExists, match='"a" already exists'):
        await kube.create(CONFIGMAPS, config_map("a"), namespace=namespace)

    patched = await kube.patch(CONFIGMAPS, "a", {"data": {"k": None, "l": "2"}}, namespace=namespace)
    assert patched["data"] == {"l": "2"}
    replaced = await kube.replace(CONFIGMAPS, {**patched, "data": {"only": "this"}})
    assert replaced["data"] == {"only": "this"}
    with pytest.raises(Conflict, match="has been modified"):
        await kube.replace(CONFIGMAPS, {**patched, "data": {}})

    with pytest.raises(Conflict):
        await kube.delete(CONFIGMAPS, "a", namespace=namespace, uid="00000000-0000-0000-0000-000000000000")
    await kube.delete(CONFIGMAPS, "a", namespace=namespace, uid=uid)
    with pytest.raises(NotFound, match='"a" not found'):
        await kube.get(CONFIGMAPS, "a", namespace=namespace)
    with pytest.raises(NotFound):
        await kube.delete(CONFIGMAPS, "a", namespace=namespace)


async def test_a_dry_run_changes_nothing(kube: KubeClient, namespace: str) -> None:
    made = await kube.create(CONFIGMAPS, config_map("a"), namespace=namespace, dry_run=True)
    assert text(obj(made, "metadata"), "name") == "a"
    await kube.create(CONFIGMAPS, config_map("b"), namespace=namespace)
    replaced = await kube.replace(CONFIGMAPS, config_map("b", data={"k": "1"}), namespace=namespace, dry_run=True)
    assert replaced["data"] == {"k": "1"}
    names = {text(obj(each, "metadata"), "name") for each in (await kube.list(CONFIGMAPS, namespace=namespace)).items}
    assert "b" in names
    assert "a" not in names
    assert "data" not in await kube.get(CONFIGMAPS, "b", namespace=namespace)


async def test_a_list_is_read_in_pages_and_its_items_name_their_kind(kube: KubeClient, namespace: str) -> None:
    for number in range(5):
        body = config_map(f"c{number}", labels={"side": "left" if number % 2 else "right"})
        await kube.create(CONFIGMAPS, body, namespace=namespace)
    whole = await kube.list(CONFIGMAPS, namespace=namespace, label_selector="side", limit=2)
    assert [text(obj(each, "metadata"), "name") for each in whole.items] == [f"c{number}" for number in range(5)]
    assert {(each["apiVersion"], each["kind"]) for each in whole.items} == {("v1", "ConfigMap")}
    assert int(whole.resource_version) > 0
    left = await kube.list(CONFIGMAPS, namespace=namespace, label_selector="side=left")
    assert len(left.items) == 2
    one = await kube.list(CONFIGMAPS, namespace=namespace, field_selector="metadata.name=c3")
    assert len(one.items) == 1


async def test_a_metadata_request_returns_no_content(kube: KubeClient, namespace: str) -> None:
    secret: JsonObject = {"metadata": {"name": "s", "labels": {"a": "b"}}, "stringData": {"password": "hidden"}}
    await kube.create(SECRETS, secret, namespace=namespace)
    one = await kube.get(SECRETS, "s", namespace=namespace, metadata_only=True)
    listed = await kube.list(SECRETS, namespace=namespace, metadata_only=True)
    async with aclosing(kube.watch(SECRETS, namespace=namespace, initial_events=True, metadata_only=True)) as events:
        watched = (await anext(events)).object
    for body in (one, listed.items[0], watched):
        assert obj(obj(body, "metadata"), "labels") == {"a": "b"}
        assert "data" not in body


async def test_unknown_fields_are_refused(kube: KubeClient, namespace: str, crds: None) -> None:
    body = xapp_manifest("a", namespace=namespace)
    body["spec"] = {**obj(body, "spec"), "chartNam": "typo"}
    with pytest.raises(Invalid, match=r'unknown field "spec\.chartNam"'):
        await kube.create(XAPPS, body)


async def test_a_schema_violation_names_the_fields(kube: KubeClient, namespace: str, crds: None) -> None:
    body = xapp_manifest("a", namespace=namespace)
    body["spec"] = {**obj(body, "spec"), "version": "one", "organization": ""}
    with pytest.raises(Invalid) as caught:
        await kube.create(XAPPS, body)
    assert {error.field for error in caught.value.errors} >= {"spec.version", "spec.organization"}
    assert caught.value.permanent


async def test_a_missing_permission_is_named(kube: KubeClient, namespace: str) -> None:
    nobody = kube.with_token(await token_of(kube, namespace=namespace, name="default"))
    with pytest.raises(AccessDenied) as caught:
        await nobody.list(XAPPS, namespace=namespace)
    message = caught.value.message
    assert f"system:serviceaccount:{namespace}:default" in message
    assert 'cannot list resource "xapps" in API group "xapp-operator.io"' in message
    assert f'in the namespace "{namespace}"' in message
    assert not await nobody.is_allowed(XAPPS, "list", namespace=namespace)
    assert await kube.is_allowed(XAPPS, "list")


async def test_an_access_review_names_the_exact_resource(kube: KubeClient, namespace: str) -> None:
    rule: JsonObject = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
    await grant_to_default(kube, namespace, rule)
    reader = kube.with_token(await token_of(kube, namespace=namespace, name="default"))
    pods = Resource("", "v1", "pods", "Pod")

    async def may_read() -> bool:
        return await reader.is_allowed(pods, "get", namespace=namespace, subresource="log")

    await eventually_async(may_read, what="the role binding to take effect")
    assert not await reader.is_allowed(pods, "get", namespace=namespace)
    assert not await reader.is_allowed(pods, "get", subresource="log")


async def test_a_request_with_a_callers_token_runs_as_that_caller(kube: KubeClient, namespace: str) -> None:
    account = f"system:serviceaccount:{namespace}:default"
    ours = await user_of(kube)
    assert await user_of(kube.with_token(await token_of(kube, namespace=namespace, name="default"))) == account
    assert await user_of(kube.impersonate(account)) == account
    assert await user_of(kube) == ours != account
    with pytest.raises(Unauthenticated, match="Unauthorized"):
        await user_of(kube.with_token("not-a-token"))


async def test_the_client_certificate_is_not_presented_for_another_caller(
    private_cluster: Callable[[], LocalCluster],
) -> None:
    local = await asyncio.to_thread(private_cluster)
    kubeconfig = local.layout.config / "system-kube-controller-manager.kubeconfig"
    async with await KubeClient.connect(Settings(KUBECONFIG=str(kubeconfig))) as client:
        assert await user_of(client) == "system:kube-controller-manager"
        assert await user_of(client.with_token(local.connect().token)) == "local-admin"
        # A certificate has priority over a token: with the client's own one, the server would see its user.
        with pytest.raises(Unauthenticated, match="Unauthorized"):
            await user_of(client.with_token("not-a-token"))


async def test_only_requests_of_callers_repeat_what_the_server_quotes(kube: KubeClient, namespace: str) -> None:
    await grant_to_default(kube, namespace, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]})
    account = kube.with_token(await token_of(kube, namespace=namespace, name="default"))

    async def refusal(client: KubeClient) -> str:
        with pytest.raises(Invalid) as caught:
            await client.create(CONFIGMAPS, config_map("Not-valid"), namespace=namespace)
        return caught.value.message.partition("metadata.name: ")[2]

    await eventually_async(lambda: account.is_allowed(CONFIGMAPS, "create", namespace=namespace), what="the right")
    assert (await refusal(kube)).startswith("Invalid value: a lowercase RFC 1123")
    for client in (kube.for_callers(), account):
        assert (await refusal(client)).startswith('Invalid value: "Not-valid": a lowercase RFC 1123')


async def test_an_impersonated_service_account_has_its_groups(kube: KubeClient, namespace: str) -> None:
    client = kube.impersonate(f"system:serviceaccount:{namespace}:default")
    info = obj(obj(await client.create(SELF_SUBJECT_REVIEWS, REVIEW), "status"), "userInfo")
    assert f"system:serviceaccounts:{namespace}" in str(info["groups"])


async def test_a_list_from_an_unknown_resource_version_must_be_restarted(kube: KubeClient) -> None:
    watch = kube.watch(NAMESPACES, resource_version="99999999999", initial_events=True, timeout_seconds=30)
    async with aclosing(watch) as events:
        with pytest.raises(WatchExpired, match="Too large resource version"):
            await anext(events)


async def test_objects_over_the_limits_of_the_server_are_a_permanent_error(
    kube: KubeClient, namespace: str, crds: None
) -> None:
    for size, message in ((1_600_000, "at most 1.5 MiB"), (3_500_000, "limit is 3145728")):
        with pytest.raises(Invalid, match=message) as caught:
            await kube.create(XAPPS, xapp_manifest("big", namespace=namespace, values={"text": "x" * size}))
        assert caught.value.permanent


async def test_api_versions_have_the_format_that_helm_expects(kube: KubeClient) -> None:
    versions = await kube.discovery.api_versions()
    assert {"v1", "v1/Pod", "apps/v1", "apps/v1/Deployment", "networking.k8s.io/v1/Ingress"} <= set(versions)
    assert list(versions) == sorted(versions)
    assert (await kube.server_version()).startswith("v1.")


async def test_a_kind_is_found_by_its_api_version(kube: KubeClient) -> None:
    found = await kube.discovery.resource_for(api_version="apps/v1", kind="Deployment")
    assert found == Resource("apps", "v1", "deployments", "Deployment", namespaced=True)
    found = await kube.discovery.resource_for(api_version="v1", kind="Namespace")
    assert found == NAMESPACES
    with pytest.raises(NotFound, match=r"does not serve Widget of example\.com/v9"):
        await kube.discovery.resource_for(api_version="example.com/v9", kind="Widget")


async def test_a_kind_that_is_defined_later_is_found(kube: KubeClient, namespace: str) -> None:
    plural = f"{namespace}s".replace("-", "")
    group = "later.example.com"
    definition: JsonObject = {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    with pytest.raises(NotFound):
        await kube.discovery.resource_for(api_version=f"{group}/v1", kind=plural.capitalize())
    await kube.create(CRDS, definition)
    try:

        async def found() -> Resource | None:
            try:
                return await kube.discovery.resource_for(api_version=f"{group}/v1", kind=plural.capitalize())
            except NotFound:
                return None

        served = await eventually_async(found, what="the new kind")
        assert served == Resource(group, "v1", plural, plural.capitalize(), namespaced=False)
        assert (await kube.list(served)).items == []
    finally:
        await kube.delete(CRDS, f"{plural}.{group}")
