"""The operator killed before and after each write of each step: what its next start makes of that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.helm_user import HelmUser
from tests.support.operator import OperatorProcess
from tests.support.workload import workload_chart
from tests.support.write_interceptor import WriteInterceptor
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

WRITES_MAX: Final = 16
"""No step has more."""
END_SECONDS: Final = 60.0

Json = dict[str, Any]
Step = tuple[Callable[["Kills", str], None], Callable[["Kills", str], None], Callable[["Kills", str], bool], int]


class Kills:
    """XApps in one namespace, and an operator that is killed at their writes."""

    def __init__(
        self, xapps: XAppClient, operator: OperatorProcess, interceptor: WriteInterceptor, helm: HelmUser
    ) -> None:
        self.xapps = xapps
        self.operator = operator
        self.interceptor = interceptor
        self.helm = helm
        self.manifest = xapps.uploaded_manifest("base", workload_chart())

    def apply(self, name: str, greeting: str, **spec: Any) -> None:
        base = self.manifest
        changed = {"xAppName": name, "values": {"greeting": greeting}, **spec}
        metadata = {**base["metadata"], "name": name}
        self.xapps.apply({**base, "metadata": metadata, "spec": {**base["spec"], **changed}})

    def greeting(self, name: str) -> str | None:
        found = self.xapps.get("configmap", name)
        return None if found is None else found["data"]["greeting"]

    def records(self, name: str) -> dict[int, str]:
        """Return the statuses of the revisions."""
        selector = f"--selector=owner=helm,name={name}"
        found = json.loads(self.xapps.kubectl("get", "secrets", selector, "-o", "json"))["items"]
        return {int(each["metadata"]["labels"]["version"]): each["metadata"]["labels"]["status"] for each in found}

    def is_whole(self, name: str, greeting: str) -> bool:
        """Return whether the XApp is Ready, with these values and one deployed revision, the newest good one."""
        ready = self.xapps.current_condition(name, "Ready")
        if ready is None or ready["status"] != "True" or self.greeting(name) != greeting:
            return False
        records = self.records(name)
        return sorted(records.values()).count("deployed") == 1 and not any(
            "pending" in each for each in records.values()
        )


def install(kills: Kills, name: str) -> None:
    kills.apply(name, "one")


def upgrade(kills: Kills, name: str) -> None:
    kills.apply(name, "two")


def adopt(kills: Kills, name: str) -> None:
    kills.apply(name, "one", adopt=True)


def request_rollback(kills: Kills, name: str) -> None:
    kills.xapps.kubectl("annotate", "xapp", name, "xapp-operator.io/rollback-to=1")


def delete(kills: Kills, name: str) -> None:
    kills.xapps.kubectl("delete", "xapp", name, "--wait=false")


def nothing(kills: Kills, name: str) -> None:
    """Begin with no release."""


def install_twice(kills: Kills, name: str) -> None:
    install(kills, name)
    kills.xapps.wait_ready(name)
    upgrade(kills, name)


def install_by_hand(kills: Kills, name: str) -> None:
    kills.helm.install(name, workload_chart(), greeting="one")


def is_one(kills: Kills, name: str) -> bool:
    return kills.is_whole(name, "one")


def is_two(kills: Kills, name: str) -> bool:
    return kills.is_whole(name, "two") and 1 in kills.records(name)


def is_rolled_back(kills: Kills, name: str) -> bool:
    return kills.is_whole(name, "one") and {1, 2} < set(kills.records(name))


def is_adopted(kills: Kills, name: str) -> bool:
    return is_one(kills, name) and 1 in kills.records(name)


def is_gone(kills: Kills, name: str) -> bool:
    kinds = ("xapp", "configmap", "deployment", "service")
    return all(kills.xapps.get(kind, name) is None for kind in kinds) and kills.records(name) == {}


STEPS: Final[dict[str, Step]] = {
    "install": (nothing, install, is_one, 7),
    "upgrade": (install, upgrade, is_two, 6),
    "rollback": (install_twice, request_rollback, is_rolled_back, 7),
    "uninstall": (install, delete, is_gone, 6),
    "adopt": (install_by_hand, adopt, is_adopted, 3),
}
"""By name: what comes before, the step, how it ends, and how many writes it has at least."""


@pytest.fixture
def kills(xapps: XAppClient, operator: OperatorProcess, helm_user: HelmUser, tmp_path: Path) -> Iterator[Kills]:
    with WriteInterceptor(xapps.cluster, xapps.namespace, tmp_path) as interceptor:
        yield Kills(xapps, operator, interceptor, helm_user)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_write_changes_nothing_about_the_end(kills: Kills, step: str, after: bool) -> None:
    prepare, begin, has_ended, least = STEPS[step]
    names = [f"{step}-{number}" for number in range(WRITES_MAX)]
    for name in names:
        prepare(kills, name)
    for name in names if prepare in (install, install_twice) else ():
        kills.xapps.wait_ready(name)
    for number, name in enumerate(names):
        kills.interceptor.arm(kills.operator.kill, write=number, after=after)
        begin(kills, name)
        kills.xapps.wait_until(
            lambda name=name: kills.interceptor.acted.is_set() or has_ended(kills, name),  # type: ignore[misc]
            what=f"a kill, or the end of {name}",
            seconds=END_SECONDS,
        )
        kills.interceptor.disarm()
        if not kills.interceptor.acted.is_set():
            assert number >= least, f"{step} has only {number} writes: {kills.interceptor.writes}"
            return
        kills.operator.start()
        kills.xapps.wait_until(
            lambda name=name: has_ended(kills, name),  # type: ignore[misc]
            what=f"the end of {name}, killed at the last of {kills.interceptor.writes}",
            seconds=END_SECONDS,
        )
    pytest.fail(f"{step} has more than {WRITES_MAX} writes: {kills.interceptor.writes}")
