"""The record of an xApp that is known only by its labels."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.unit.monitor.objects import drax_labels, labelled
from xapp_operator.gateway.catalog.xapp_sources import build_label_entry
from xapp_operator.gateway.schemas.records import XAppDetails
from xapp_operator.label_sets import DRAX_LABEL_SET
from xapp_operator.monitor.live_objects import to_live_object
from xapp_operator.monitor.object_labels import OPERATOR_LABEL_SET, read_labels
from xapp_operator.monitor.registry import Registration


def record(*objects: Any, release: str = "by-hand") -> dict[str, Any]:
    lives = tuple(
        to_live_object(
            body,
            kind=body["kind"],
            owner=("ric", release),
            labels=read_labels(body["metadata"], (OPERATOR_LABEL_SET, DRAX_LABEL_SET)),
        )
        for body in objects
    )
    found: dict[str, Any] = orjson.loads(build_label_entry(Registration("ric", release, lives)).detailed_record_json())
    XAppDetails.model_validate(found)
    return found


def service(name: str = "a", *, labels: dict[str, str] | None = None, **body: Any) -> Any:
    return labelled(name, drax_labels() | (labels or {}), release="by-hand", spec={"ports": [{"port": 80}]}, **body)


def balanced(name: str = "balanced") -> Any:
    return service(name) | {"spec": {"type": "LoadBalancer"}}


def lost() -> Any:
    body = labelled("claim", drax_labels(), release="by-hand", status={"phase": "Lost"})
    return body | {"kind": "PersistentVolumeClaim"}


LEAVING = {"deletionTimestamp": "2026-11-20T09:00:00Z"}


@pytest.mark.parametrize(
    ("objects", "phase", "health", "ready"),
    [
        ((service(),), "Deployed", "Healthy", True),
        ((service(), balanced()), "Deploying", "Progressing", False),
        ((service(), lost(), balanced()), "Degraded", "Degraded", False),
        ((service(metadata=LEAVING),), "Uninstalling", "Progressing", False),
        ((service(metadata=LEAVING), service("b")), "Deploying", "Progressing", False),
    ],
)
def test_phase_and_health_are_those_of_the_objects(
    objects: tuple[Any, ...], phase: str, health: str, ready: bool
) -> None:
    found = record(*objects)
    assert (found["phase"], found["health"], found["ready"]) == (phase, health, ready)
    assert found["resources"]["total"] == len(objects)


@pytest.mark.parametrize(
    ("label", "chart", "version"),
    [
        ("hello-world-0.2.1", "hello-world", "0.2.1"),
        ("hello-2-0.2.1", "hello-2", "0.2.1"),
        ("hello-v1.2.3-rc.1_build.5", "hello", "v1.2.3-rc.1+build.5"),
        ("hello", "hello", None),
        ("", None, None),
    ],
)
def test_chart_and_version_come_from_the_label_of_helm(label: str, chart: str | None, version: str | None) -> None:
    found = record(service(labels={"helm.sh/chart": label} if label else {}))
    assert (found["chart"]["name"], found["chart"]["version"], found["version"]) == (chart, version, version)
    assert (found["release"]["chart"], found["release"]["chartVersion"]) == (chart, version)


def test_created_at_is_the_oldest_object_and_updated_at_the_newest_change() -> None:
    old = service(metadata={"creationTimestamp": "2026-11-19T08:00:00Z"})
    fields = [{"manager": "helm", "time": "2026-11-21T08:00:00Z"}]
    new = service("b", metadata={"managedFields": fields})
    found = record(new, old)
    assert (found["createdAt"], found["updatedAt"]) == ("2026-11-19T08:00:00Z", "2026-11-21T08:00:00Z")


def test_the_record_is_read_from_the_operators_labels_and_annotations() -> None:
    ours = {
        "xapp-operator.io/xapp": "acme-ran-hello",
        "xapp-operator.io/organization": "acme-corp",
        "xapp-operator.io/team": "ran",
        "xapp-operator.io/version": "0.3",
    }
    found = record(service(labels=ours, annotations={"xapp-operator.io/organization": "ACME Corp"}))
    assert (found["xAppName"], found["organization"], found["team"]) == ("acme-ran-hello", "ACME Corp", "ran")
    assert (found["version"], found["source"], found["uid"]) == ("0.3", "labels", "ric/by-hand")


def test_the_health_message_is_the_records_message() -> None:
    assert record(service(), balanced())["message"].startswith("Service balanced: no load balancer")
    assert record(service())["message"] == "known by its labels; no XApp manages it"
