"""What a caller of the gateway does in these tests, and what of it can be found in the cluster afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.support.apiserver import REPOSITORIES, SECRETS, XAPPS, ApiServer, Object
from tests.support.charts import chart_archive

DEPLOYMENT: Final = "/api/deployment/xapp"
UPLOAD: Final = "Upload Chart"
REMOTE: Final = "Remote Chart Repository"
NAME: Final = "acme-ran-hello"
"""The composed name of what `Desk.form` describes."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One caller with one namespace."""

    http: httpx.Client
    api: ApiServer
    namespace: str
    uploads: Path

    def form(self, **changes: Any) -> Object:
        """Return the form of an uploaded chart; a change to None leaves the field out."""
        whole = {
            "xAppName": "hello",
            "organization": "acme",
            "team": "ran",
            "version": "0.1.0",
            "owner": "jane",
            "method": UPLOAD,
            "namespace": self.namespace,
            **changes,
        }
        return {name: value for name, value in whole.items() if value is not None}

    def remote(self, address: str, **changes: Any) -> Object:
        """Return the form of a chart in a repository."""
        return self.form(**{"method": REMOTE, "chartName": "hello", "url": address, "repoName": "charts", **changes})

    def post(
        self, form: object, *, file: bytes | None = None, values: str | bytes | None = None, **query: Any
    ) -> httpx.Response:
        """Deploy; a form that is no text is sent as JSON."""
        return self.http.post(DEPLOYMENT, files=parts(form, file=file, values=values), params=query)

    def put(
        self,
        form: object,
        *,
        name: str = NAME,
        file: bytes | None = None,
        values: str | bytes | None = None,
        **query: Any,
    ) -> httpx.Response:
        """Upgrade in place."""
        path = f"{DEPLOYMENT}/{self.namespace}/{name}"
        return self.http.put(path, files=parts(form, file=file, values=values), params=query)

    def delete(self, body: object) -> httpx.Response:
        """Remove; a body that is no text is sent as JSON."""
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.http.request("DELETE", DEPLOYMENT, content=content)

    def deploy(self, archive: bytes | None = None, *, values: str | None = None, **changes: Any) -> Object:
        """Deploy an uploaded chart that nothing is wrong with, and return its record."""
        answer = self.post(self.form(**changes), file=archive or chart_archive(), values=values)
        assert answer.status_code == 202, answer.text
        record: Object = answer.json()
        return record

    def xapp(self, name: str = NAME) -> Object:
        """Return the XApp as the cluster holds it."""
        return self.api.get(f"{XAPPS.format(self.namespace)}/{name}")

    def report(self, status: Object, *, name: str = NAME) -> None:
        """Write the status of an XApp, as the operator would."""
        self.api.patch(f"{XAPPS.format(self.namespace)}/{name}/status", {"status": status})

    def hold(self, name: str = NAME) -> None:
        """Keep an XApp from going when it is deleted, as the operator's finalizer does."""
        self._finalizers(["xapp-operator.io/finalizer"], name)

    def let_go(self, name: str = NAME) -> None:
        """Take that finalizer away."""
        self._finalizers([], name)

    def written(self) -> dict[str, list[str]]:
        """Return what there is: XApps, charts, repositories of the namespace, and files of unfinished uploads."""
        secrets = self.api.get(SECRETS.format(self.namespace))["items"]
        return {
            "xapps": self.api.names(XAPPS.format(self.namespace)),
            "charts": [each["metadata"]["name"] for each in secrets if each["type"] == "xapp-operator.io/chart"],
            "repositories": self.api.names(REPOSITORIES.format(self.namespace)),
            "files": [path.name for path in self.uploads.iterdir()],
        }

    def clear(self) -> None:
        """Remove what there is."""
        for path in (XAPPS, SECRETS, REPOSITORIES):
            self.api.delete(path.format(self.namespace))

    def _finalizers(self, names: list[str], name: str) -> None:
        self.api.patch(f"{XAPPS.format(self.namespace)}/{name}", {"metadata": {"finalizers": names}})


NOTHING: Final[dict[str, list[str]]] = {"xapps": [], "charts": [], "repositories": [], "files": []}


def parts(
    form: object, *, file: bytes | None = None, values: str | bytes | None = None
) -> dict[str, tuple[str | None, bytes | str]]:
    """Return the parts of a request as httpx takes them; what is None is left out."""
    found: dict[str, tuple[str | None, bytes | str]] = {}
    if form is not None:
        found["xAppForm"] = (None, form if isinstance(form, str | bytes) else json.dumps(form))
    if file is not None:
        found["file"] = ("chart.tgz", file)
    if values is not None:
        found["values"] = ("values.yaml", values)
    return found


def ready(*, generation: int = 1) -> Object:
    """Return the status of an XApp that is deployed and healthy."""
    return _status(generation, "Deployed", "Healthy", _condition("Ready", "True", "InstallSucceeded", generation))


def stalled(*, generation: int = 1) -> Object:
    """Return the status of an XApp that will not become ready."""
    return _status(
        generation,
        "Failed",
        "Unknown",
        _condition("Ready", "False", "ChartPullFailed", generation),
        _condition("Stalled", "True", "ChartPullFailed", generation),
    )


def _status(generation: int, phase: str, health: str, *conditions: Object) -> Object:
    return {
        "observedGeneration": generation,
        "phase": phase,
        "health": {"status": health},
        "conditions": list(conditions),
    }


def _condition(kind: str, status: str, reason: str, generation: int) -> Object:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "said by a test",
        "lastTransitionTime": "2026-11-20T08:01:00Z",
        "observedGeneration": generation,
    }
