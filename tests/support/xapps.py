"""Applies XApps in one namespace with kubectl, and waits for their conditions with a deadline."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.localcluster import Cluster
from tests.localcluster.access import KubectlFailed
from tests.support.apiserver import REPOSITORIES, XAPPS, ApiServer
from tests.support.charts import chart_archive_manifest

WAIT_SECONDS = 120.0
"""The garbage collector alone needs up to 30 s to discover a new kind."""
POLL_SECONDS = 0.1

Json = dict[str, Any]

_COLLECTIONS: Final = {
    "chartrepository": REPOSITORIES,
    "configmap": "/api/v1/namespaces/{}/configmaps",
    "deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "service": "/api/v1/namespaces/{}/services",
    "xapp": XAPPS,
}
"""What tests wait for: a request takes 6 ms of processor time, kubectl 77 ms."""


@dataclass(frozen=True, slots=True)
class XAppClient:
    """Applies, reads and waits for XApps in one namespace."""

    cluster: Cluster
    namespace: str

    def remote_manifest(self, name: str, *, url: str, chart: str, version: str = "0.1.0", **spec: Any) -> Json:
        """Return the manifest of an XApp from a chart repository."""
        return self._manifest(
            name,
            version,
            {"method": "Remote Chart Repository", "url": url, "chartName": chart, "repoName": "charts", **spec},
        )

    def uploaded_manifest(
        self, name: str, archive: bytes, *, version: str = "0.1.0", digest: bool = True, **spec: Any
    ) -> Json:
        """Store `archive` as the gateway does, and return the manifest of an XApp from it."""
        stored = chart_archive_manifest(archive, namespace=self.namespace)
        self.apply(stored)
        archive_source: Json = {"chartArchiveRef": {"name": stored["metadata"]["name"]}}
        if digest:
            archive_source["digest"] = stored["spec"]["digest"]
        return self._manifest(name, version, {"method": "Upload Chart", "archive": archive_source, **spec})

    def secret_manifest(self, name: str, archive: bytes, *, version: str = "0.1.0", **spec: Any) -> Json:
        """Store `archive` in a Secret, as earlier versions of the gateway did, and return the manifest of an XApp."""
        secret = f"chart-{hashlib.sha256(archive).hexdigest()[:16]}"
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "xapp-operator.io/chart",
                "immutable": True,
                "metadata": {"name": secret, "namespace": self.namespace},
                "data": {"chart.tgz": base64.b64encode(archive).decode()},
            }
        )
        source: Json = {"secretRef": {"name": secret, "key": "chart.tgz"}}
        return self._manifest(name, version, {"method": "Upload Chart", "archive": source, **spec})

    def _manifest(self, name: str, version: str, spec: Json) -> Json:
        return {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "XApp",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "xAppName": name,
                "organization": "ACME Corp",
                "team": "ran",
                "version": version,
                "owner": "jane",
                "namespace": self.namespace,
                **spec,
            },
        }

    def apply(self, manifest: Json) -> None:
        """Apply a manifest server-side, as the docs recommend."""
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(manifest))

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - the name that subprocess uses
        return self.cluster.kubectl("-n", self.namespace, *arguments, input=input)

    def get(self, kind: str, name: str) -> Json | None:
        """Return an object, or None if it does not exist."""
        if kind in _COLLECTIONS:
            with ApiServer(self.cluster) as server:
                return server.find(f"{_COLLECTIONS[kind].format(self.namespace)}/{name}")
        try:
            found: Json = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        except KubectlFailed as error:
            if "NotFound" in str(error):
                return None
            raise
        return found

    def names(self, kind: str, selector: str = "") -> list[str]:
        """Return the names of all objects of a kind, without a kind prefix."""
        chosen = ("-l", selector) if selector else ()
        listed = self.kubectl("get", kind, *chosen, "-o", "name").split()
        return [name.rpartition("/")[2] for name in listed]

    def status(self, name: str) -> Json:
        """Return the status of an XApp."""
        return _status_of(self._get_xapp(name))

    def current_condition(self, name: str, kind: str) -> Json | None:
        """Return a condition of the XApp's current generation, or None."""
        return _current_condition(self._get_xapp(name), kind)

    def wait_ready(self, name: str, *, seconds: float = WAIT_SECONDS) -> Json:
        """Wait until the XApp's current generation is Ready, and return the status that says so."""
        ready: list[Json] = []

        def is_ready() -> bool:
            found = self._get_xapp(name)
            condition = _current_condition(found, "Ready")
            if condition is not None and condition["status"] == "True":
                ready.append(_status_of(found))
            return bool(ready)

        self.wait_until(is_ready, what=f"XApp {name} to be Ready", seconds=seconds, xapp=name)
        return ready[0]

    def wait_stalled(self, name: str, *, seconds: float = WAIT_SECONDS) -> Json:
        """Wait until the XApp's current generation is Stalled, and return that condition."""
        stalled: list[Json] = []

        def is_stalled() -> bool:
            condition = self.current_condition(name, "Stalled")
            if condition is not None:
                stalled.append(condition)
            return bool(stalled)

        self.wait_until(is_stalled, what=f"XApp {name} to be Stalled", seconds=seconds, xapp=name)
        return stalled[0]

    def _get_xapp(self, name: str) -> Json:
        found = self.get("xapp", name)
        assert found is not None, f"XApp {name} is gone"
        return found

    def wait_gone(self, kind: str, name: str, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until an object no longer exists."""
        self.wait_until(lambda: self.get(kind, name) is None, what=f"{kind} {name} to be gone", seconds=seconds)

    def wait_until(
        self, condition: Callable[[], bool], *, what: str, seconds: float = WAIT_SECONDS, xapp: str | None = None
    ) -> None:
        """Wait until `condition` is true; the failure shows the status of `xapp`."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                status_text = json.dumps(self.status(xapp), indent=2) if xapp else ""
                raise AssertionError(f"timed out after {seconds:g} s while waiting for {what}\n{status_text}")
            time.sleep(POLL_SECONDS)

    def create_deployer(self, role: str = "admin") -> None:
        """Create the service account `deployer`, and grant it a ClusterRole in the namespace."""
        self.kubectl("create", "serviceaccount", "deployer")
        self.grant_deployer(role)

    def grant_deployer(self, role: str = "admin") -> None:
        """Create the RoleBinding `deployer`; without it, the service account has no rights."""
        account = f"--serviceaccount={self.namespace}:deployer"
        self.kubectl("create", "rolebinding", "deployer", f"--clusterrole={role}", account)

    def event_reasons(self) -> set[str]:
        """Return the reasons of all events in the namespace."""
        return {each["reason"] for each in json.loads(self.kubectl("get", "events", "-o", "json"))["items"]}

    def warnings(self, reason: str) -> list[str]:
        """Return the messages of the warnings in the namespace that have this reason."""
        selector = f"--field-selector=type=Warning,reason={reason}"
        events = json.loads(self.kubectl("get", "events", selector, "-o", "json"))["items"]
        return [each["message"] for each in events]

    def helm_releases(self) -> dict[str, Json]:
        """Return the releases that `helm list` shows in the namespace, by name."""
        listed = subprocess.run(
            [self.cluster.helm_path, "list", "-n", self.namespace, "-o", "json"],
            env=self.cluster.env,
            capture_output=True,
            check=True,
        )
        return {release["name"]: release for release in json.loads(listed.stdout)}


def _status_of(xapp: Json) -> Json:
    status: Json = xapp.get("status", {})
    return status


def _current_condition(xapp: Json, kind: str) -> Json | None:
    for condition in _status_of(xapp).get("conditions", []):
        if condition["type"] == kind and condition["observedGeneration"] == xapp["metadata"]["generation"]:
            result: Json = condition
            return result
    return None
