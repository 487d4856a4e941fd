"""The stored fields of a live object: health, ports, addresses, rules and owner."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from tests.unit.monitor.objects import drax_labels, labelled
from xapp_operator.api.json import JsonObject
from xapp_operator.label_sets import DRAX_LABEL_SET
from xapp_operator.monitor.live_objects import (
    IngressBackend,
    LiveIngress,
    LiveObject,
    LiveService,
    owned_live_object,
    to_live_object,
    xapp_live_object,
)
from xapp_operator.monitor.object_labels import OPERATOR_LABEL_SET, read_labels, release_key_of

SETS = (OPERATOR_LABEL_SET, DRAX_LABEL_SET)


def kept(kind: str, **body: Any) -> LiveObject:
    return _kept(labelled("a", drax_labels(), **body), kind)


def _kept(body: JsonObject, kind: str) -> LiveObject:
    metadata: Any = body["metadata"]
    return to_live_object(body, kind=kind, owner=("ric", "r"), labels=read_labels(metadata, SETS))


def service(**body: Any) -> LiveService:
    found = kept("Service", **body).service
    assert found is not None
    return found


def ingress(**spec: Any) -> LiveIngress:
    found = kept("Ingress", spec=spec).ingress
    assert found is not None
    return found


def test_all_ports_of_a_service_are_kept() -> None:
    ports = [
        {"name": "grpc", "port": 5150, "targetPort": "grpc", "nodePort": 30100, "appProtocol": "grpc"},
        {"port": 36421, "protocol": "SCTP", "targetPort": 36421},
    ]
    status = service(spec={"type": "NodePort", "clusterIP": "10.0.0.7", "ports": ports}).status
    assert (status.name, status.type, status.cluster_ip) == ("a", "NodePort", "10.0.0.7")
    assert [port.model_dump(by_alias=True, exclude_none=True) for port in status.ports] == ports


def test_addresses_of_a_service_are_distinguished_by_type() -> None:
    assert service(spec={"clusterIP": "None"}).headless
    assert not service(spec={"clusterIP": "10.0.0.7"}).headless
    assert service(spec={"type": "ExternalName", "externalName": "db.example.com"}).external_name == "db.example.com"
    balanced = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}, {}]}}
    assert service(spec={"type": "LoadBalancer"}, status=balanced).addresses == ("192.0.2.1", "lb.example.com")


def test_workloads_keep_the_newest_revision_that_their_status_names() -> None:
    progress = {"type": "Progressing", "status": "True", "message": 'ReplicaSet "a-2b" is progressing.'}
    assert kept("Deployment", status={"conditions": [progress]}).revision == "a-2b"
    assert kept("StatefulSet", status={"updateRevision": "a-2b"}).revision == "a-2b"
    assert kept("Job", status={"conditions": [progress], "updateRevision": "a-2b"}).revision == ""


def test_rules_of_an_ingress_name_host_path_and_service() -> None:
    rules = [
        {"host": "a.example.com", "http": {"paths": [_path("/", "web", number=80), _path("/api", "api", name="http")]}},
        {"http": {"paths": [_path("/x", "other", number=8080), {"path": "/y", "backend": {"resource": {}}}]}},
    ]
    found = ingress(rules=rules, tls=[{"hosts": ["a.example.com"]}])
    assert found.backends == (
        IngressBackend("a.example.com", "/", "web", "80", tls=True),
        IngressBackend("a.example.com", "/api", "api", "http", tls=True),
        IngressBackend("", "/x", "other", "8080", tls=False),
    )


def test_so_many_rules_and_addresses_of_an_ingress_are_stored_as_are_shown() -> None:
    long, short = (_path("/".ljust(length, "x"), "web", number=80) for length in (2049, 2048))
    found = ingress(rules=[{"http": {"paths": [long, *(short for _ in range(501))]}}])
    assert [len(each.path) for each in found.backends] == [2048] * 500
    balanced = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}] * 501}}
    assert len(service(spec={"type": "LoadBalancer"}, status=balanced).addresses) == 500


@pytest.mark.parametrize(("length", "stored"), [(4096, True), (4097, False)])
def test_a_selector_is_stored_as_a_whole_or_not_at_all(length: int, stored: bool) -> None:
    labels = {"a": "b", "c": "d".ljust(length - len("a=b,c="), "d")}
    selector = kept("Deployment", spec={"selector": {"matchLabels": labels}}).selector
    assert selector == (f"a=b,c={labels['c']}" if stored else None)


def test_long_annotations_are_cut() -> None:
    names = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
    for length in (253, 254):
        text = "x" * length
        annotations = dict.fromkeys((*names, "xapp-operator.io/organization", "xapp-operator.io/team"), text)
        body = labelled("a", {"xapp-operator.io/xapp": "a"}, annotations=annotations)
        live = xapp_live_object(body, kind="ConfigMap")
        assert live is not None
        labels = live.labels
        stored = {live.owner[0], labels.release, labels.organization_annotation, labels.team_annotation}
        assert stored == {text if length == 253 else "x" * 252 + "…"}


def test_tls_without_hosts_is_for_every_rule() -> None:
    found = ingress(defaultBackend={"service": {"name": "web", "port": {"number": 80}}}, tls=[{}])
    assert found.backends == (IngressBackend("", "", "web", "80", tls=True),)


def _path(path: str, service: str, **port: Any) -> dict[str, Any]:
    return {"path": path, "backend": {"service": {"name": service, "port": port}}}


def test_a_status_change_is_no_change_of_the_object() -> None:
    fields = [
        {"manager": "helm", "time": "2026-11-20T08:00:05Z"},
        {"manager": "kubelet", "time": "2026-11-20T09:00:00Z", "subresource": "status"},
    ]
    live = kept("Deployment", metadata={"managedFields": fields})
    assert (live.created_at, live.changed_at) == ("2026-11-20T08:00:00Z", "2026-11-20T08:00:05Z")


@pytest.mark.parametrize(("keys", "shared"), [(1, True), (1000, False)])
def test_only_small_fields_of_helm_are_stored_once_for_all_objects(keys: int, shared: bool) -> None:
    """They stay in memory for long after their objects are gone."""
    names = [sha256(f"{number}".encode()).hexdigest() for number in range(keys)]
    entry = {"manager": "helm", "fieldsV1": {f"f:{name}": {} for name in names}}
    body = labelled("a", drax_labels(), metadata={"managedFields": [entry]})
    one, other = (owned_live_object(body, kind="ConfigMap", owner=("ric", "r")).helm_fields for _ in range(2))
    assert one == other
    assert (one is other) == shared


def test_an_object_read_as_metadata_has_the_requested_kind() -> None:
    body = labelled("a", drax_labels()) | {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    live = _kept(body, "ConfigMap")
    assert (live.key, live.health.status.value) == (("ConfigMap", "ric", "a"), "Healthy")


def test_the_operators_label_takes_precedence() -> None:
    body: Any = labelled("a", {**drax_labels("theirs", "part"), "xapp-operator.io/xapp": "ours"}, release="r")
    mark = read_labels(body["metadata"], SETS)
    assert (mark.name, mark.component, mark.release) == ("ours", "part", "r")


@pytest.mark.parametrize(
    ("labels", "release", "key"),
    [
        (drax_labels("one"), "r", ("ric", "r")),
        (drax_labels("one"), "", ("ric", "one")),
        (drax_labels(""), "r", ("ric", "r")),
        (drax_labels(""), "", None),
        ({"drax/role": "ric", "drax/xapp-name": "one"}, "", None),
        ({"drax/xapp-name": "one"}, "", None),
    ],
)
def test_the_release_of_an_object_is_helms_or_its_labels(
    labels: dict[str, str], release: str, key: tuple[str, str] | None
) -> None:
    body: Any = labelled("a", labels, release=release)
    assert release_key_of(body["metadata"], read_labels(body["metadata"], SETS)) == key
