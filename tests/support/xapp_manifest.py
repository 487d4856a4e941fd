"""Objects as somebody writes them who knows the API and nothing of the package."""

from __future__ import annotations

from typing import Any


def xapp_manifest(name: str, *, namespace: str, **spec: Any) -> dict[str, Any]:
    """Return an XApp that the API server accepts."""
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "xAppName": name,
            "organization": "acme",
            "team": "ran",
            "version": "0.2.1",
            "owner": "jane",
            "method": "Remote Chart Repository",
            "namespace": namespace,
            "chartName": "hello",
            "url": "https://charts.example.com",
            "repoName": "acme",
            **spec,
        },
    }
