"""A client of the gateway for one caller, and a view of the objects that its requests create."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.support.apiserver import ARCHIVES, REPOSITORIES, SECRETS, XAPPS, ApiServer, JsonObject
from tests.support.charts import chart_archive

DEPLOYMENT: Final = "/api/deployment/xapp"
UPLOAD_METHOD: Final = "Upload Chart"
REMOTE_METHOD: Final = "Remote Chart Repository"
XAPP_NAME: Final = "acme-ran-hello"
"""The composed name of what `GatewayClient.form` describes."""


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """One caller with one namespace."""

    http: httpx.Client
    api: ApiServer
    namespace: str
    uploads: Path

    def deployment_form(self, **changes: Any) -> JsonObject:
        """Return the form of an uploaded chart; a change to None leaves the field out."""
        fields = {
            "xAppName": "hello",
            "organization": "acme",
            "team": "ran",
            "version": "0.1.0",
            "owner": "jane",
            "method": UPLOAD_METHOD,
            "namespace": self.namespace,
            **changes,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def remote_form(self, address: str, **changes: Any) -> JsonObject:
        """Return the form of a chart in a repository."""
        return self.deployment_form(
            **{"method": REMOTE_METHOD, "chartName": "hello", "url": address, "repoName": "charts", **changes}
        )

    def post_deployment(
        self,
        form: object,
        *,
        file: bytes | None = None,
        values: str | bytes | None = None,
        repository: object = None,
        **query: Any,
    ) -> httpx.Response:
        """Deploy; a form that is not a string is sent as JSON."""
        files = multipart_files(form, file=file, values=values)
        if repository is not None:
            files["repository"] = (None, json.dumps(repository))
        return self.http.post(DEPLOYMENT, files=files, params=query)

    def put_deployment(
        self,
        form: object,
        *,
        name: str = XAPP_NAME,
        file: bytes | None = None,
        values: str | bytes | None = None,
        **query: Any,
    ) -> httpx.Response:
        """Upgrade in place."""
        path = f"{DEPLOYMENT}/{self.namespace}/{name}"
        return self.http.put(path, files=multipart_files(form, file=file, values=values), params=query)

    def delete_deployment(self, body: object) -> httpx.Response:
        """Remove; a body that is not a string is sent as JSON."""
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.http.request("DELETE", DEPLOYMENT, content=content)

    def deploy(self, archive: bytes | None = None, *, values: str | None = None, **changes: Any) -> JsonObject:
        """Deploy an uploaded chart without errors, and return its record."""
        answer = self.post_deployment(self.deployment_form(**changes), file=archive or chart_archive(), values=values)
        assert answer.status_code == 202, answer.text
        record: JsonObject = answer.json()
        return record

    def xapp(self, name: str = XAPP_NAME) -> JsonObject:
        """Return the XApp as stored in the cluster."""
        return self.api.get(f"{XAPPS.format(self.namespace)}/{name}")

    def write_status(self, status: JsonObject, *, name: str = XAPP_NAME) -> None:
        """Write the status of an XApp, as the operator would."""
        self.api.patch(f"{XAPPS.format(self.namespace)}/{name}/status", {"status": status})

    def add_finalizer(self, name: str = XAPP_NAME) -> None:
        """Add the operator's finalizer, so that a deleted XApp stays."""
        self._set_finalizers(["xapp-operator.io/finalizer"], name)

    def remove_finalizer(self, name: str = XAPP_NAME) -> None:
        """Remove that finalizer."""
        self._set_finalizers([], name)

    def existing_objects(self) -> dict[str, list[str]]:
        """Return the existing objects: XApps, charts, repositories, and files of unfinished uploads."""
        return {
            "xapps": self.api.names(XAPPS.format(self.namespace)),
            "charts": self.api.names(ARCHIVES.format(self.namespace)),
            "repositories": self.api.names(REPOSITORIES.format(self.namespace)),
            "files": [path.name for path in self.uploads.iterdir()],
        }

    def delete_objects(self) -> None:
        """Delete the existing objects."""
        for path in (XAPPS, ARCHIVES, SECRETS, REPOSITORIES):
            self.api.delete(path.format(self.namespace))

    def _set_finalizers(self, names: list[str], name: str) -> None:
        self.api.patch(f"{XAPPS.format(self.namespace)}/{name}", {"metadata": {"finalizers": names}})


NO_OBJECTS: Final[dict[str, list[str]]] = {"xapps": [], "charts": [], "repositories": [], "files": []}


def multipart_files(
    form: object, *, file: bytes | None = None, values: str | bytes | None = None
) -> dict[str, tuple[str | None, bytes | str]]:
    """Return the parts of a request for httpx; None values are left out."""
    found: dict[str, tuple[str | None, bytes | str]] = {}
    if form is not None:
        found["xAppForm"] = (None, form if isinstance(form, str | bytes) else json.dumps(form))
    if file is not None:
        found["file"] = ("chart.tgz", file)
    if values is not None:
        found["values"] = ("values.yaml", values)
    return found


def ready_status(*, generation: int = 1) -> JsonObject:
    """Return the status of an XApp that is deployed and healthy."""
    return _status(generation, "Deployed", "Healthy", _condition("Ready", "True", "InstallSucceeded", generation))


def stalled_status(*, generation: int = 1) -> JsonObject:
    """Return the status of an XApp that is stalled."""
    return _status(
        generation,
        "Failed",
        "Unknown",
        _condition("Ready", "False", "ChartPullFailed", generation),
        _condition("Stalled", "True", "ChartPullFailed", generation),
    )


def _status(generation: int, phase: str, health: str, *conditions: JsonObject) -> JsonObject:
    return {
        "observedGeneration": generation,
        "phase": phase,
        "health": {"status": health},
        "conditions": list(conditions),
    }


def _condition(kind: str, status: str, reason: str, generation: int) -> JsonObject:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "written by a test",
        "lastTransitionTime": "2026-11-20T08:01:00Z",
        "observedGeneration": generation,
    }
