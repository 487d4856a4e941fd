"""The health checks for Argo CD, run by a Lua interpreter on objects of the API server."""

import pytest

from tests.support.argocd import run_health_check


def xapp(
    *,
    conditions: dict[str, str] | None = None,
    observed: int = 2,
    health: str = "Healthy",
    deleting: bool = False,
    suspend: bool = False,
) -> dict[str, object]:
    listed = [
        {"type": name, "status": status, "message": f"because of {name}"} for name, status in (conditions or {}).items()
    ]
    metadata: dict[str, object] = {"generation": 2}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"observedGeneration": observed, "conditions": listed, "health": {"status": health}}
    return {"metadata": metadata, "spec": {"suspend": suspend}, "status": status}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (xapp(conditions={"Ready": "True"}), "Healthy"),
        (xapp(conditions={"Ready": "True"}, observed=1), "Progressing"),
        (xapp(conditions={"Ready": "Unknown", "Reconciling": "True"}), "Progressing"),
        (xapp(conditions={"Ready": "False", "Stalled": "True"}), "Degraded"),
        (xapp(conditions={"Ready": "False"}, health="Degraded"), "Degraded"),
        (xapp(conditions={"Ready": "False", "Reconciling": "True"}, health="Degraded"), "Progressing"),
        (xapp(conditions={"Ready": "True"}, suspend=True), "Suspended"),
        (xapp(conditions={"Ready": "True"}, deleting=True), "Progressing"),
        ({"metadata": {"generation": 1}, "spec": {}}, "Progressing"),
    ],
)
def test_the_health_of_an_xapp_comes_from_its_conditions(body: dict[str, object], expected: str) -> None:
    assert run_health_check("XApp", body)["status"] == expected


def test_a_degraded_xapp_has_a_message() -> None:
    assert (
        run_health_check("XApp", xapp(conditions={"Ready": "False", "Stalled": "True"}))["message"]
        == "because of Stalled"
    )


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], "Healthy"),
        ([{"type": "Ready", "status": "True", "message": ""}], "Healthy"),
        ([{"type": "Ready", "status": "False", "message": "no answer"}], "Progressing"),
        ([{"type": "Stalled", "status": "True", "message": "refused"}], "Degraded"),
    ],
)
def test_the_health_of_a_repository_comes_from_its_conditions(conditions: list[dict[str, str]], expected: str) -> None:
    assert (
        run_health_check("ChartRepository", {"metadata": {}, "status": {"conditions": conditions}})["status"]
        == expected
    )
