"""An XApp whose objects drift, as a user sees it: the condition, the events, and the requests that it costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.support.audit import read_audit_events
from tests.support.xapps import XAppClient

Json = dict[str, Any]

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class DriftingXApp:
    """The XApp `hello`, and the objects of its release."""

    xapps: XAppClient
    manifest: Json

    @classmethod
    def install(cls, xapps: XAppClient, chart: bytes, mode: str = "warn", **spec: Any) -> DriftingXApp:
        """Deploy a chart and wait until it is Ready."""
        manifest = xapps.uploaded_manifest("hello", chart, driftDetection={"mode": mode}, **spec)
        xapps.apply(manifest)
        xapps.wait_ready("hello")
        return cls(xapps, manifest)

    def change_spec(self, **spec: Any) -> None:
        self.manifest["spec"].update(spec)
        self.xapps.apply(self.manifest)

    def set_mode(self, mode: str) -> None:
        self.change_spec(driftDetection={"mode": mode})

    def condition(self) -> Json | None:
        return self.xapps.current_condition("hello", "Drifted")

    def wait_drifted(self, status: str = "True", *, text: str = "") -> Json:
        """Wait until the condition Drifted has this status, and `text` in its message; return it."""

        def is_reported() -> bool:
            found = self.condition()
            return found is not None and found["status"] == status and text in found["message"]

        what = f"Drifted={status} {text}"
        self.xapps.wait_until(is_reported, what=what, xapp="hello", seconds=SECONDS)
        found = self.condition()
        assert found is not None
        return found

    def wait_field(self, kind: str, path: str, expected: str) -> None:
        self.xapps.wait_until(
            lambda: self.field(kind, path) == expected, what=f"{kind} {path}", xapp="hello", seconds=SECONDS
        )

    def field(self, kind: str, path: str) -> str:
        """Return a field of the object `hello` of a kind by its JSONPath."""
        return self.xapps.kubectl("get", kind, "hello", "-o", f"jsonpath={path}")

    def patch(self, kind: str, *operations: Json, name: str = "hello") -> None:
        """Send a JSON patch, as an editor does."""
        self.xapps.kubectl("patch", kind, name, "--type=json", "-p", json.dumps(operations))

    def merge(self, kind: str, change: Json, *, manager: str = "someone", name: str = "hello") -> None:
        """Send a JSON merge patch as a field manager."""
        self.xapps.kubectl("patch", kind, name, "--type=merge", f"--field-manager={manager}", "-p", json.dumps(change))

    def compare_values(self, *objects: str) -> None:
        """Remove Helm from the managers of objects (`kind/name`), and wait until all of their values were compared."""
        mode = self.manifest["spec"]["driftDetection"]["mode"]
        self.set_mode("disabled")
        for each in objects:
            self.xapps.kubectl("patch", each, "--type=merge", "-p", '{"metadata":{"managedFields":[{}]}}')
        before = len(self.dry_runs())
        self.set_mode(mode)
        self.xapps.wait_until(
            lambda: len(self.dry_runs()) >= before + len(objects), what="the comparisons", xapp="hello", seconds=SECONDS
        )
        self.xapps.wait_ready("hello")

    def dry_runs(self) -> list[str]:
        """Return the URIs of dry runs that the operator has asked for."""
        return [uri for _, uri in self.requests("patch") if "dryRun" in uri]

    def events(self, reason: str) -> list[Json]:
        """Return the events of the XApp with this reason."""
        selector = f"reason={reason},involvedObject.kind=XApp"
        listed: Json = json.loads(self.xapps.kubectl("get", "events", f"--field-selector={selector}", "-o", "json"))
        events: list[Json] = listed["items"]
        return events

    def reconcile(self, token: str) -> None:
        """Wait for a reconcile that begins now, and looks at every object that no watch shows."""
        self.xapps.kubectl("annotate", "xapp", "hello", f"xapp-operator.io/reconcile-at={token}", "--overwrite")
        self.xapps.wait_until(
            lambda: self.xapps.status("hello").get("handled", {}).get("reconcileAt") == token,
            what="a reconcile",
            xapp="hello",
        )

    def requests(self, *verbs: str) -> list[tuple[str, str]]:
        """Return verb and URI of the operator's requests about objects of the namespace: Helm's and the chart's."""
        log = self.xapps.cluster.audit_log
        assert log is not None
        found = []
        for event in read_audit_events(log, containing=self.xapps.namespace):
            reference = event.get("objectRef", {})
            own = "aiohttp" in event.get("userAgent", "")
            about = reference.get("namespace") == self.xapps.namespace and reference.get("resource") not in (
                *("xapps", "events"),
                "pods",  # why a rollout is not ready
            )
            if own and about and event["verb"] in verbs:
                found.append((event["verb"], event["requestURI"]))
        return found
