"""The operator killed before and after each write of each step: its next start ends the step, and repeats nothing.

Each test takes one step as many times at once as it has writes. Each time another write waits in the API server, and
when all of them wait, the operator is killed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.apiserver import XAPPS, ApiServer
from tests.support.charts import chart_archive_manifest
from tests.support.helm_user import HelmUser
from tests.support.operator import OperatorProcess
from tests.support.release_records import unpack_record
from tests.support.workload import workload_chart
from tests.support.write_interceptor import OF_ARCHIVE, WriteInterceptor
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

COMPLETE: Final = re.compile("(Install|Upgrade) complete|Rollback to ")
"""How helm describes a revision from when it has succeeded."""
COLLECTIONS: Final = {
    "configmap": "/api/v1/namespaces/{}/configmaps",
    "deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "service": "/api/v1/namespaces/{}/services",
}
"""The kinds of the objects of the chart, one of each."""
OWNED: Final = "?labelSelector=xapp-operator.io/xapp"
RECORDS: Final = "/api/v1/namespaces/{}/secrets?labelSelector=owner%3Dhelm"
AT_THE_END: Final = "at-the-end"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Revision:
    """What Helm has stored of one revision.

    Its status does not tell whether it has succeeded: helm calls it superseded too, although it was killed, when it had
    just marked the revision before.
    """

    number: int
    status: str
    greeting: str
    is_complete: bool


class Kills:
    """XApps in one namespace, and an operator that is killed at their writes."""

    def __init__(
        self,
        xapps: XAppClient,
        operator: OperatorProcess,
        interceptor: WriteInterceptor,
        helm: HelmUser,
        server: ApiServer,
    ) -> None:
        self.xapps = xapps
        self.operator = operator
        self.interceptor = interceptor
        self.helm = helm
        self._server = server
        self._manifest = xapps.uploaded_manifest("base", workload_chart())

    def apply(self, names: Sequence[str], greeting: str, **spec: Any) -> None:
        """Apply XApps, each with a chart of its own."""
        base, items = self._manifest, list[Json]()
        for name in names:
            stored = chart_archive_manifest(workload_chart(name=name), namespace=self.xapps.namespace)
            source = {
                "chartArchiveRef": {"name": stored["metadata"]["name"]},
                "digest": stored["spec"]["digest"],
            }
            changed = {"xAppName": name, "values": {"greeting": greeting}, "archive": source, **spec}
            metadata = {**base["metadata"], "name": name}
            items += stored, {**base, "metadata": metadata, "spec": {**base["spec"], **changed}}
        self.xapps.apply({"apiVersion": "v1", "kind": "List", "items": items})

    def wait_ready(self, names: Sequence[str]) -> None:
        for name in names:
            self.xapps.wait_ready(name)

    def find(self, collection: str) -> list[Json]:
        """Return the objects of the namespace in a collection."""
        items: list[Json] = self._server.get(collection.format(self.xapps.namespace))["items"]
        return items

    def by_name(self, collection: str) -> dict[str, Json]:
        return {each["metadata"]["name"]: each for each in self.find(collection)}

    def revisions(self) -> dict[str, list[Revision]]:
        """Return the revisions of each release, oldest first."""
        found: dict[str, list[Revision]] = {}
        for record in self.find(RECORDS):
            labels, payload = record["metadata"]["labels"], unpack_record(record)
            revision = Revision(
                number=int(labels["version"]),
                status=labels["status"],
                greeting=payload["config"]["greeting"],
                is_complete=COMPLETE.match(payload["info"]["description"]) is not None,
            )
            found.setdefault(labels["name"], []).append(revision)
        return {name: sorted(each, key=lambda one: one.number) for name, each in found.items()}

    def whole(self, greeting: str) -> set[str]:
        """Return the XApps that are Ready, with these values and one deployed revision, and nothing is under way."""
        xapps, configmaps, revisions = self.by_name(XAPPS), self.by_name(COLLECTIONS["configmap"]), self.revisions()
        found = set()
        for name, xapp in xapps.items():
            statuses = [each.status for each in revisions.get(name, [])]
            is_settled = statuses.count("deployed") == 1 and not any("pending" in each for each in statuses)
            data = configmaps.get(name, {}).get("data", {})
            if _is_ready(xapp) and is_settled and data.get("greeting") == greeting:
                found.add(name)
        return found

    def existing(self) -> set[str]:
        """Return of what there is an XApp, a release or an object."""
        collections = (XAPPS, *COLLECTIONS.values())
        return {name for collection in collections for name in self.by_name(collection)} | set(self.revisions())

    def settle(self, names: Sequence[str]) -> None:
        """Wait until the operator has looked at each XApp once more: what it still wants to do, it has done then."""
        self.xapps.kubectl("annotate", "xapps", *names, f"xapp-operator.io/reconcile-at={AT_THE_END}")
        self.xapps.wait_until(
            lambda: {_handled(each) for each in self.find(XAPPS)} == {AT_THE_END}, what="another look at each XApp"
        )

    def require_made_once(self, names: Sequence[str], greetings: Sequence[str]) -> None:
        """Fail unless helm has succeeded once with each of these values, in this order, and failed once at most."""
        found = self.revisions()
        for name in names:
            revisions = found[name]
            assert [each.number for each in revisions] == list(range(1, len(revisions) + 1)), f"{name}: {revisions}"
            made = [each.greeting for each in revisions if each.is_complete]
            assert made == list(greetings), f"{name}: {revisions}"
            assert len(revisions) <= len(made) + 1, f"{name}: {revisions}"

    def require_one_object_of_each_kind(self, names: Sequence[str]) -> None:
        for kind, collection in COLLECTIONS.items():
            assert sorted(self.by_name(collection + OWNED)) == sorted(names), kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What comes before a step, the step, and how many writes it has, at least and at most.

    `made` are the values of the complete revisions in the end, oldest first; none: nothing is left. `archive` tells
    whether the owners of a ChartArchive are changed besides.
    """

    prepare: Callable[[Kills, Sequence[str]], None]
    begin: Callable[[Kills, Sequence[str]], None]
    made: tuple[str, ...]
    least: int
    most: int
    archive: bool = False

    def ended(self, kills: Kills, names: Sequence[str]) -> set[str]:
        """Return where it has ended."""
        return kills.whole(self.made[-1]) & set(names) if self.made else set(names) - kills.existing()

    def check(self, kills: Kills, names: Sequence[str]) -> None:
        """Fail if a step that had succeeded was made again."""
        if self.made:
            kills.settle(names)
            kills.require_made_once(names, self.made)
            kills.require_one_object_of_each_kind(names)
        assert self.ended(kills, names) == set(names)


def _is_ready(xapp: Json) -> bool:
    conditions = xapp.get("status", {}).get("conditions", [])
    generation = xapp["metadata"]["generation"]
    return ("Ready", "True", generation) in {
        (each["type"], each["status"], each["observedGeneration"]) for each in conditions
    }


def _handled(xapp: Json) -> str | None:
    handled: str | None = xapp.get("status", {}).get("handled", {}).get("reconcileAt")
    return handled


def nothing(kills: Kills, names: Sequence[str]) -> None:
    """Begin with no release."""


def install(kills: Kills, names: Sequence[str]) -> None:
    kills.apply(names, "one")


def upgrade(kills: Kills, names: Sequence[str]) -> None:
    kills.apply(names, "two")


def install_and_wait(kills: Kills, names: Sequence[str]) -> None:
    install(kills, names)
    kills.wait_ready(names)


def install_twice(kills: Kills, names: Sequence[str]) -> None:
    install_and_wait(kills, names)
    upgrade(kills, names)
    kills.wait_ready(names)


def request_rollback(kills: Kills, names: Sequence[str]) -> None:
    kills.xapps.kubectl("annotate", "xapps", *names, "xapp-operator.io/rollback-to=1")


def delete(kills: Kills, names: Sequence[str]) -> None:
    kills.xapps.kubectl("delete", "xapps", *names, "--wait=false")


def install_by_hand(kills: Kills, names: Sequence[str]) -> None:
    def run(name: str) -> None:
        folder = kills.helm.folder / name
        folder.mkdir()
        replace(kills.helm, folder=folder).install(name, workload_chart(name=name), greeting="one")

    with ThreadPoolExecutor(max_workers=2) as executor:
        list(executor.map(run, names))


def adopt(kills: Kills, names: Sequence[str]) -> None:
    kills.apply(names, "one", adopt=True)


def adopt_changed(kills: Kills, names: Sequence[str]) -> None:
    kills.apply(names, "two", adopt=True)


STEPS: Final[dict[str, Step]] = {
    "install": Step(prepare=nothing, begin=install, made=("one",), least=6, most=9, archive=True),
    "upgrade": Step(prepare=install_and_wait, begin=upgrade, made=("one", "two"), least=9, most=12),
    "rollback": Step(prepare=install_twice, begin=request_rollback, made=("one", "two", "one"), least=10, most=13),
    "uninstall": Step(prepare=install_and_wait, begin=delete, made=(), least=5, most=8, archive=True),
    "adopt": Step(prepare=install_by_hand, begin=adopt, made=("one",), least=5, most=8, archive=True),
    "adopt-changed": Step(
        prepare=install_by_hand, begin=adopt_changed, made=("one", "two"), least=9, most=12, archive=True
    ),
}


@pytest.fixture
def kills(xapps: XAppClient, operator: OperatorProcess, helm_user: HelmUser, tmp_path: Path) -> Iterator[Kills]:
    with (
        WriteInterceptor(xapps.cluster, xapps.namespace, tmp_path) as interceptor,
        ApiServer(xapps.cluster) as server,
    ):
        yield Kills(xapps, operator, interceptor, helm_user, server)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_write_changes_nothing_about_the_end(kills: Kills, step: str, after: bool) -> None:
    chosen, archived = STEPS[step], f"{step}-archive"
    # Helm has few places at once, so those go first that do not wait while helm runs.
    numbers = {f"{step}-{number:02}": number for number in reversed(range(chosen.most + 1))}
    names = [*numbers, archived]
    chosen.prepare(kills, names)
    held = kills.interceptor.hold({**numbers, archived: OF_ARCHIVE}, after=after)
    for begun in (list(numbers), [archived]):
        chosen.begin(kills, begun)
        kills.xapps.wait_until(
            lambda begun=begun: held.steps | chosen.ended(kills, begun) >= set(begun),  # type: ignore[misc]
            what="a write that waits, or the end, of each",
        )
    kills.operator.kill()
    killed = held.steps.copy()
    held.release()
    kills.operator.start()
    kills.xapps.wait_until(
        lambda: chosen.ended(kills, names) == set(names), what=f"the end of each, after {held.writes}"
    )
    assert held.given_up == set()
    chosen.check(kills, names)
    assert (archived in killed) == chosen.archive
    counts = [number for name, number in numbers.items() if name not in killed]
    assert counts, f"{step} has more than {chosen.most} writes: {held.writes}"
    assert min(counts) >= chosen.least, f"{step} has only {min(counts)} writes: {held.writes}"
