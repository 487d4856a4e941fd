"""XApps as the API server returns them."""

from __future__ import annotations

from typing import Any

from xapp_operator.api.models import XApp


def raw(**spec: Any) -> dict[str, Any]:
    """Return an XApp as JSON, version 5 of its object, generation 2."""
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "metadata": {
            "name": "hello",
            "namespace": "ns",
            "uid": "u1",
            "generation": 2,
            "resourceVersion": "5",
            "managedFields": [{"manager": "kubectl"}],
        },
        "spec": {
            "xAppName": "hello",
            "organization": "acme",
            "team": "ran",
            "version": "0.1.0",
            "owner": "jane",
            "method": "Upload Chart",
            "namespace": "ns",
            **spec,
        },
        "status": {"observedGeneration": -1},
    }


def xapp(**spec: Any) -> XApp:
    return XApp.model_validate(raw(**spec))
