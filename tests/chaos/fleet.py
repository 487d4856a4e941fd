"""The XApps of a run: what was applied last for each, and what must be in force when it has converged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from tests.chaos.charts import greeting_chart, named_config_map
from tests.chaos.snapshot import Snapshot, XAppKey
from tests.localcluster import Cluster
from tests.localcluster.cluster import ROOT
from tests.localrun.charts import pack_chart
from tests.support.charts import archive_name, chart_archive_manifest
from tests.support.vendor_charts import drax_chart

Json: TypeAlias = dict[str, Any]

NAMESPACES: Final = ("chaos-a", "chaos-b", "chaos-c")
REPOSITORY_CHART: Final = "stored"
FIRST_VERSION: Final = "0.1.0"
MAX_HISTORY: Final = 4
TIMEOUT: Final = "3m"
RETRY_AT: Final = "xapp-operator.io/retry-at"
RECONCILE_AT: Final = "xapp-operator.io/reconcile-at"
ROLLBACK_TO: Final = "xapp-operator.io/rollback-to"


class Kind(StrEnum):
    """What is special about an XApp."""

    PLAIN = "plain"
    HOOKED = "hooked"
    DRIFT = "drift"
    STORED = "stored"
    DRAX = "drax"
    SAMPLE = "sample"
    FROM = "from"
    DEPENDENT = "dependent"


ARCHIVES: Final = {
    Kind.PLAIN: greeting_chart(),
    Kind.DRAX: drax_chart(),
    Kind.SAMPLE: pack_chart(ROOT / "manifests" / "samples" / "charts" / "hello-world").data,
}


WORKLOADS: Final = frozenset({Kind.PLAIN, Kind.HOOKED, Kind.DRIFT, Kind.FROM, Kind.DEPENDENT})
"""They have the chart of tests/support/workload.py. Faults change their Deployments only."""
NAMED: Final = WORKLOADS | {Kind.STORED}
"""Their charts have a ConfigMap that is named after the greeting."""
EDITED_IMAGE: Final = "registry.example.com/edited:1"
"""What a person sets instead of the image of the chart."""


@dataclass(slots=True)
class ManagedXApp:
    """One XApp: its manifest, and what must be true when it has converged.

    `stalled` are the reasons of which Stalled must have one; without any, the XApp must be Ready. `in_force` is the
    greeting in the ConfigMap of its release. A held one was rolled back by `rollback-to`.
    """

    key: XAppKey
    kind: Kind
    spec: Json
    annotations: dict[str, str] = field(default_factory=dict)
    in_force: str = ""
    deployed: str = ""
    """The greeting of the deployed revision, if the one in force has failed and stays."""
    stalled: frozenset[str] = frozenset()
    base: bool = False
    """Another one depends on it, so its changes succeed."""

    @property
    def namespace(self) -> str:
        return self.key[0]

    @property
    def name(self) -> str:
        return self.key[1]

    @property
    def held(self) -> bool:
        return ROLLBACK_TO in self.annotations

    @property
    def settled(self) -> bool:
        """Whether it must be Ready with the values of its spec."""
        return not self.stalled and not self.held

    @property
    def config_map(self) -> str:
        return f"{self.name}-config" if self.kind is Kind.DRAX else self.name

    def set_greeting(self, greeting: str) -> None:
        """Change the values so that the next revision is good and has this greeting."""
        if self.kind is not Kind.FROM:
            self.spec["values"] = {"greeting": greeting}
        if self.kind is Kind.HOOKED:
            self.spec["values"]["hookSeconds"] = "3s"
        self.spec["timeout"] = TIMEOUT
        self.spec.pop("upgrade", None)
        self.annotations.clear()
        if self.kind is Kind.STORED:
            self.annotations[RECONCILE_AT] = greeting  # for a version that is newer than the index in the cache
        self.in_force, self.deployed, self.stalled = greeting, "", frozenset()

    def manifests(self) -> Iterator[Json]:
        """Return the objects that a user applies for it."""
        if self.kind is Kind.FROM:
            yield {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"values-{self.name}", "namespace": self.namespace},
                "data": {"values.yaml": json.dumps({"greeting": self.in_force})},
            }
        yield {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "XApp",
            "metadata": {"name": self.name, "namespace": self.namespace, "annotations": dict(self.annotations)},
            "spec": self.spec,
        }

    def name_after(self, greeting: str) -> str:
        """Return the name of the ConfigMap that is named after the greeting."""
        return named_config_map(self.name, greeting)

    def difference(self, snapshot: Snapshot) -> str:
        """Return what is not yet as it must be, or an empty text."""
        xapp = snapshot.xapps.get(self.key)
        if xapp is None or "deletionTimestamp" in xapp["metadata"]:
            return "does not exist"
        return self._unfinished(xapp) or self._wrong_objects(snapshot)

    def _unfinished(self, xapp: Json) -> str:
        status, generation = xapp.get("status", {}), xapp["metadata"]["generation"]
        conditions = {each["type"]: each for each in status.get("conditions", [])}
        ready, stalled = conditions.get("Ready", {}), conditions.get("Stalled", {})
        shown = f"Ready={ready.get('status')} {ready.get('reason')}: {ready.get('message')}"
        if self.stalled and (stalled.get("observedGeneration"), stalled.get("reason")) not in {
            (generation, reason) for reason in self.stalled
        }:
            return f"must be Stalled for one of {sorted(self.stalled)}; {shown}"
        if not self.stalled and (ready.get("observedGeneration"), ready.get("status")) != (generation, "True"):
            return f"must be Ready in generation {generation}; {shown}"
        if "Reconciling" in conditions:
            return f"is Reconciling; {shown}"
        if self.held and (status.get("handled") or {}).get("rollbackTo") != self.annotations[ROLLBACK_TO]:
            return "rollback-to is not handled"
        return ""

    def _wrong_objects(self, snapshot: Snapshot) -> str:
        found = snapshot.greetings.get((self.namespace, self.config_map))
        if found != self.in_force:
            return f"the greeting in force is {found!r} instead of {self.in_force!r}"
        return self._drift(snapshot) if self.kind in WORKLOADS else ""

    def _drift(self, snapshot: Snapshot) -> str:
        """Return what a person has changed and the operator has not undone, or not told where it only warns."""
        replicas, found = snapshot.replicas.get(self.key, 0), []
        if replicas != 1:
            found.append(f"{replicas} replicas")
        if EDITED_IMAGE in snapshot.images.get(self.key, ()):
            found.append(f"the image {EDITED_IMAGE}")
        conditions = snapshot.xapps[self.key]["status"].get("conditions", [])
        told = [each["message"] for each in conditions if each["type"] == "Drifted" and each["status"] == "True"]
        if not found:
            return f"Drifted is True, but nobody has changed anything: {told[0]}" if told else ""
        if self.kind is Kind.DRIFT:
            return f"not corrected: {', '.join(found)}"
        return "" if any(f"Deployment {self.name} (" in each for each in told) else f"not told: {', '.join(found)}"


class Fleet:
    """All XApps of a run."""

    def __init__(self, cluster: Cluster, *, count: int, charts_url: str) -> None:
        self._cluster = cluster
        self.xapps = [_new_xapp(number, charts_url) for number in range(count)]
        self.versions = [FIRST_VERSION]
        self.unrecorded: set[tuple[str, str]] = set()
        """ConfigMaps that are named after a greeting, by namespace and name, of revisions whose records a fault has
        deleted or damaged. Only the record tells what a revision has made, so the operator may leave them."""
        bases = {(each.namespace, each.spec["dependsOn"][0]["name"]) for each in self.xapps if "dependsOn" in each.spec}
        for each in self.xapps:
            each.base = each.key in bases

    def next_version(self) -> str:
        """Return a version of the stored chart that does not exist yet."""
        self.versions.append(f"0.{len(self.versions) + 1}.0")
        return self.versions[-1]

    def create(self, namespaces: Iterable[str] = NAMESPACES) -> None:
        """Make the namespaces, the archives in them, and their XApps."""
        chosen = tuple(namespaces)
        for namespace in chosen:
            self._cluster.kubectl("create", "namespace", namespace)
        for namespace in chosen:
            self._cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=60s")
        archives = [
            chart_archive_manifest(archive, namespace=namespace, keep=True)
            for namespace in chosen
            for archive in ARCHIVES.values()
        ]
        self._apply_objects(archives)
        self.apply(each for each in self.xapps if each.namespace in chosen)

    def apply(self, xapps: Iterable[ManagedXApp]) -> None:
        """Apply the manifests of XApps, as a user does."""
        self._apply_objects([manifest for each in xapps for manifest in each.manifests()])

    def _apply_objects(self, objects: list[Json]) -> None:
        if not objects:
            return
        content = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self._cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=content)


def _new_xapp(number: int, charts_url: str) -> ManagedXApp:
    kind = list(Kind)[number % len(Kind)]
    namespace = NAMESPACES[number // len(Kind) % len(NAMESPACES)]
    spec: Json = {
        "xAppName": f"{kind}-{number}",
        "organization": "acme",
        "team": "ran",
        "version": FIRST_VERSION,
        "owner": "jane",
        "namespace": namespace,
        "maxHistory": MAX_HISTORY,
        "driftDetection": {"mode": "enabled" if kind is Kind.DRIFT else "warn"},
    }
    if kind is Kind.STORED:
        spec |= {
            "method": "Remote Chart Repository",
            "url": charts_url,
            "chartName": REPOSITORY_CHART,
            "repoName": "charts",
        }
    else:
        archive = ARCHIVES.get(kind, ARCHIVES[Kind.PLAIN])
        spec |= {"method": "Upload Chart", "archive": {"chartArchiveRef": {"name": archive_name(archive)}}}
    if kind is Kind.FROM:
        spec["valuesFrom"] = [{"kind": "ConfigMap", "name": f"values-{kind}-{number}"}]
    if kind is Kind.DEPENDENT:
        spec["dependsOn"] = [{"name": f"{Kind.PLAIN}-{number - list(Kind).index(kind)}"}]
    xapp = ManagedXApp(key=(namespace, f"{kind}-{number}"), kind=kind, spec=spec)
    xapp.set_greeting("first")
    return xapp
