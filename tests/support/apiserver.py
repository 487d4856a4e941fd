"""A client of the test cluster's API server, fast enough to check the cluster after every request of a table.

It does not use the package, so that what the package wrote is read back by other code.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import httpx

from tests.localcluster import Cluster

JsonObject = dict[str, Any]

XAPPS: Final = "/apis/xapp-operator.io/v1alpha1/namespaces/{}/xapps"
REPOSITORIES: Final = "/apis/xapp-operator.io/v1alpha1/namespaces/{}/chartrepositories"
ARCHIVES: Final = "/apis/xapp-operator.io/v1alpha1/namespaces/{}/chartarchives"
SECRETS: Final = "/api/v1/namespaces/{}/secrets"
NAMESPACES: Final = "/api/v1/namespaces"
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404


class ApiServer:
    """Requests of the cluster's administrator; a context manager closes the connections."""

    def __init__(self, cluster: Cluster) -> None:
        config = json.loads(cluster.kubeconfig.read_text())
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        self._http = httpx.Client(
            base_url=cluster.server,
            headers={"Authorization": f"Bearer {cluster.token}"},
            verify=ssl.create_default_context(cadata=authority),
            trust_env=False,
            timeout=30,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def is_served(self, path: str) -> bool:
        """Return whether `path` is served. A new kind is served a moment after its definition is created."""
        return self._http.get(path).is_success

    def find(self, path: str) -> JsonObject | None:
        """Return the object at `path`, or None where there is none."""
        answer = self._http.get(path)
        return None if answer.status_code == NOT_FOUND else _json_object(answer)

    def get(self, path: str) -> JsonObject:
        """Return the object or the list at `path`."""
        return _json_object(self._http.get(path))

    def names(self, path: str) -> list[str]:
        """Return the names of all objects in the collection at `path`."""
        return [item["metadata"]["name"] for item in self.get(path)["items"]]

    def create(self, path: str, body: Mapping[str, Any]) -> JsonObject:
        """Create an object in the collection at `path`."""
        return _json_object(self._http.post(path, json=body))

    def is_create_forbidden(self, path: str, body: Mapping[str, Any]) -> bool:
        """Return whether creating an object is forbidden, in a dry run. RBAC takes a moment to apply a new rule."""
        answer = self._http.post(path, json=body, params={"dryRun": "All"})
        return answer.status_code == FORBIDDEN

    def refused_fields(self, path: str, body: Mapping[str, Any]) -> dict[str, str]:
        """Return field → message of what the API server refuses in an object; empty if it would create it."""
        answer = self._http.post(path, json=body, params={"dryRun": "All"})
        causes = answer.json().get("details", {}).get("causes", [])
        assert answer.is_success or causes, answer.text
        return {each["field"]: each["message"] for each in causes}

    def patch(self, path: str, body: Mapping[str, Any]) -> JsonObject:
        """Send a JSON merge patch."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return _json_object(self._http.patch(path, content=json.dumps(body), headers=headers))

    def delete(self, path: str) -> None:
        """Delete the object or the whole collection at `path`, if it exists."""
        answer = self._http.delete(path)
        if answer.status_code != NOT_FOUND:
            _json_object(answer)


def _json_object(answer: httpx.Response) -> JsonObject:
    assert answer.is_success, f"{answer.request.method} {answer.request.url.path}: {answer.text}"
    found: JsonObject = answer.json()
    return found
