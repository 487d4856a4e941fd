"""Manifests written without the package, as a user of the API writes them."""

from __future__ import annotations

from typing import Any


def xapp_manifest(name: str, *, namespace: str, **spec: Any) -> dict[str, Any]:
    """Return the manifest of a valid XApp."""
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
