from __future__ import annotations

import pytest

from xapp_operator.api.json import Json, JsonObject, items
from xapp_operator.gateway.xapps.health.pod_report import pod_json


def pod(*owners: JsonObject, labels: JsonObject | None = None, **spec: Json) -> JsonObject:
    return {"metadata": {"name": "p", "labels": labels or {}, "ownerReferences": [*owners]}, "spec": spec}


def owner(kind: str, name: str, *, controller: bool = True) -> JsonObject:
    return {"kind": kind, "name": name, "controller": controller}


HASH: JsonObject = {"pod-template-hash": "5c4b"}


@pytest.mark.parametrize(
    ("owners", "labels", "shown"),
    [
        ([], {}, None),
        ([owner("Something", "s", controller=False)], {}, None),
        ([owner("StatefulSet", "kpi")], HASH, ("StatefulSet", "kpi")),
        ([owner("ReplicaSet", "web-5c4b")], HASH, ("Deployment", "web")),
        ([owner("ReplicaSet", "other-5c4b")], HASH, ("ReplicaSet", "other-5c4b")),  # no Deployment of the xApp
        ([owner("ReplicaSet", "web-5c4b")], {}, ("ReplicaSet", "web-5c4b")),
        ([owner("X", "x", controller=False), owner("Job", "once")], {}, ("Job", "once")),
    ],
)
def test_the_owner_of_a_pod_is_the_workload_that_people_know(
    owners: list[JsonObject], labels: JsonObject, shown: tuple[str, str] | None
) -> None:
    found = pod_json(pod(*owners, labels=labels), {}, deployments={"web"})["owner"]

    assert found == (None if shown is None else {"kind": shown[0], "name": shown[1]})


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({"terminated": {"exitCode": 1, "reason": "Error", "message": "password=hunter2"}}, None),
        ({"terminated": {"exitCode": 0, "reason": "Completed", "message": "password=hunter2"}}, None),
        (
            {"terminated": {"exitCode": 128, "reason": "StartError", "message": "no such file: /run"}},
            "no such file: /run",
        ),
        ({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}, "no such image"),
    ],
)
def test_without_its_log_a_container_shows_the_words_of_the_kubelet_only(state: JsonObject, shown: str | None) -> None:
    body = pod(containers=[{"name": "main", "image": "i:1"}])
    body["status"] = {"phase": "Running", "containerStatuses": [{"name": "main", "state": state}]}
    (container,) = items(pod_json(body, {}, deployments=()), "containers")

    assert container["message"] == shown


def test_a_container_without_a_status_shows_what_the_pod_asks_for() -> None:
    limits: JsonObject = {"limits": {"cpu": "1", "example.com/radio": 2}}
    found = pod_json(
        pod(
            initContainers=[{"name": "first", "image": "i:0"}],
            containers=[{"name": "main", "image": "i:1", "resources": limits}],
        ),
        {},
        deployments=(),
    )["containers"]

    assert isinstance(found, list)
    first, main = found
    assert isinstance(first, dict)
    assert isinstance(main, dict)
    assert (first["image"], first["init"], main["image"], main["init"]) == ("i:0", True, "i:1", False)
    assert main["resources"] == {"requests": {}, "limits": {"cpu": "1", "example.com/radio": "2"}}
    assert (main["state"], main["restarts"], main["lastState"]) == ("waiting", 0, None)
