"""XApps as the API server returns them, for tests without an API server."""

from __future__ import annotations

from xapp_operator.api.json import Json, JsonObject


def raw_xapp(
    name: str = "acme-ran-hello",
    *,
    namespace: str = "ric-xapps",
    uid: str | None = None,
    spec: JsonObject | None = None,
    status: JsonObject | None = None,
    metadata: JsonObject | None = None,
) -> JsonObject:
    """Return an XApp with a remote chart; arguments override the defaults."""
    whole_spec: JsonObject = {
        "xAppName": "hello",
        "organization": "acme",
        "team": "ran",
        "version": "0.2.1",
        "owner": "jane",
        "method": "Remote Chart Repository",
        "namespace": namespace,
        "chartName": "hello",
        "url": "https://charts.example.com",
        "repoName": "acme",
    }
    whole_metadata: JsonObject = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-of-{namespace}-{name}",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-20T08:00:00Z",
    }
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "metadata": whole_metadata | (metadata or {}),
        "spec": whole_spec | (spec or {}),
        "status": status if status is not None else {"observedGeneration": -1},
    }


def ready_status(*, generation: int = 1, health: str = "Healthy", phase: str = "Deployed") -> JsonObject:
    """Return the status of an XApp that is deployed and healthy."""
    conditions: list[Json] = [
        {
            "type": "Ready",
            "status": "True",
            "reason": "InstallSucceeded",
            "message": "Helm install succeeded",
            "lastTransitionTime": "2026-11-20T08:01:00Z",
            "observedGeneration": generation,
        }
    ]
    return {
        "observedGeneration": generation,
        "phase": phase,
        "conditions": conditions,
        "health": {"status": health},
        "release": {
            "name": "acme-ran-hello",
            "revision": 1,
            "chart": "hello",
            "chartVersion": "0.2.1",
            "appVersion": "1.0",
            "lastDeployed": "2026-11-20T08:00:30Z",
        },
        "history": [{"revision": 1, "status": "deployed", "action": "Install"}],
        "resources": {"total": 2, "ready": 2},
        "services": [
            {
                "name": "hello",
                "type": "ClusterIP",
                "clusterIP": "10.0.0.7",
                "ports": [{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}],
            }
        ],
    }
