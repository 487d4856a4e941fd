"""The list of Services without an API server, and the store behind it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.support.gateway import offline_gateway, serve_gateway
from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.catalog.label_selector import LABEL_SELECTOR_MAX, parse_label_selector
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.service_store import ServiceEntry, ServiceFilters
from xapp_operator.gateway.http.lists.pagination import SINGLE_SORT
from xapp_operator.gateway.state import Gateway

PATH = "/api/discovery/services"


def known(namespace: str, name: str, *, ports: tuple[str, ...] = ("80",), **labels: str) -> ServiceEntry:
    record = {"name": name, "namespace": namespace, "type": "ClusterIP", "clusterIP": None, "labels": labels}
    packed = orjson.dumps({**record, "ports": []})
    return ServiceEntry(namespace, name, packed, labels, frozenset(ports), release=None, by_helm=False)


def empty_store() -> ObjectStore[ServiceEntry]:
    return ObjectStore(sorts=SINGLE_SORT)


def names(store: ObjectStore[ServiceEntry], *, within: frozenset[str] | None = None, **filters: object) -> list[str]:
    values = {name: (value,) for name, value in filters.items()}
    view = store.select(ServiceFilters(**values), sort=SINGLE_SORT[0], within=within)  # type: ignore[arg-type]
    return [f"{each.namespace}/{each.name}" for each in view[:]]


def test_services_stay_in_order_through_changes() -> None:
    store = empty_store()
    for namespace, name in (("b", "x"), ("a-b", "x"), ("a", "y"), ("a", "x"), ("b", "a")):
        store.put(known(namespace, name))
    assert names(store) == ["a/x", "a/y", "a-b/x", "b/a", "b/x"]
    assert names(store, namespace="a") == ["a/x", "a/y"]
    assert names(store, port="81") == []
    store.put(known("a", "y", ports=("81",)))
    assert names(store, port="81") == ["a/y"]
    store.remove("a", "y")
    store.remove("a", "y")
    assert names(store, port="81") == []
    assert names(store) == ["a/x", "a-b/x", "b/a", "b/x"]


def test_an_equal_object_is_not_a_change() -> None:
    store = empty_store()
    store.put(known("a", "x", app="ric"))
    version, namespaces = store.version, store.namespaces
    store.put(known("a", "x", app="ric"))
    store.remove("a", "absent")
    assert store.version == version
    store.put(known("a", "y"))
    assert store.version > version
    assert store.namespaces is namespaces
    store.put(known("b", "y"))
    assert store.namespaces == {"a", "b"}
    store.remove("b", "y")
    assert store.namespaces == {"a"}


def test_a_caller_sees_only_allowed_namespaces() -> None:
    store = empty_store()
    for namespace in ("a", "b", "c"):
        store.put(known(namespace, "x"))
    assert names(store, within=frozenset({"c", "a", "gone"})) == ["a/x", "c/x"]
    assert names(store, within=frozenset()) == []
    assert names(store, namespace="b", within=frozenset({"a"})) == []
    assert names(store, namespace="nowhere") == []


def test_a_hostile_selector_is_refused_at_once() -> None:
    for piece in ("a", " ", "a ", "a in (", "a,", "!", "a=", "in ", "a in (a,a),", "(", "é"):
        whole = (piece * LABEL_SELECTOR_MAX)[: LABEL_SELECTOR_MAX - 1] + "\x00"
        with pytest.raises(MalformedRequest):
            parse_label_selector("label", whole)


@pytest.mark.parametrize("label", ["in in (notin)", "notin", "!in", "a = b , c", "a.b/c_D-e=f.G_h-1", "a in ()"])
def test_unusual_selectors_are_accepted(label: str) -> None:
    assert parse_label_selector("label", label)


def fill(gateway: Gateway) -> None:
    for name in "xyz":
        gateway.services.store.put(known("ric", name))


def test_an_unpaginated_list_is_a_bare_array(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with (
        serve_gateway(settings.model_copy(update={"unpaginated_lists": ("services",)}), opened) as one,
        one.client() as http,
    ):
        assert http.get(PATH).json() == []
        one.run_in_loop(fill)
        answer = http.get(PATH)
        assert "link" not in answer.headers
        assert [each["name"] for each in answer.json()] == ["x", "y", "z"]
        assert http.get(PATH, params={"page": 1}).status_code == 400


def test_before_the_first_sync_the_list_is_503_and_never_empty(tmp_path: Path) -> None:
    settings, opened = offline_gateway(tmp_path)
    with serve_gateway(settings, opened) as one, one.client() as http:
        assert http.get(PATH).status_code == 200
        one.run_in_loop(lambda gateway: gateway.services.synced.clear())
        answer = http.get(PATH)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert http.get("/readyz").status_code == 200
