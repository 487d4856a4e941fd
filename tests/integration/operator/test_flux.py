"""What Flux sees of an XApp, from its first second to its last: kstatus, on objects of the API server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.kstatus import CURRENT, FAILED, IN_PROGRESS, TERMINATING, compute_status
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient
from xapp_operator.api.json import JsonObject

pytestmark = pytest.mark.integration


@contextmanager
def watched(xapps: XAppClient, file: Path) -> Iterator[None]:
    """Write each state of the XApp to `file` during the block."""
    arguments = ("get", "xapp", "--watch", "-o", "json", "-n", xapps.namespace, "--field-selector=metadata.name=hello")
    with (
        file.open("w") as output,
        subprocess.Popen([xapps.cluster.kubectl_path, *arguments], env=xapps.cluster.env, stdout=output) as watch,
    ):
        try:
            yield
        finally:
            watch.terminate()


def states(file: Path) -> list[JsonObject]:
    """Return the states that were written so far, oldest first."""
    decoder, found, rest = json.JSONDecoder(), list[JsonObject](), file.read_text()
    while rest.strip():
        try:
            state, end = decoder.raw_decode(rest.lstrip())
        except json.JSONDecodeError:  # the last one is not whole yet
            break
        found.append(state)
        rest = rest.lstrip()[end:]
    return found


def seen(file: Path, *, generation: int) -> list[str]:
    """Return what kstatus says of a generation from one state to the next, without repetitions."""
    found: list[str] = []
    for state in states(file):
        status, _ = compute_status(state)
        if state["metadata"]["generation"] == generation and status not in found[-1:]:  # type: ignore[index, call-overload]
            found.append(status)
    return found


def wait_status(xapps: XAppClient, status: str, *, containing: str = "") -> None:
    def is_reached() -> bool:
        found, message = compute_status(xapps.get("xapp", "hello") or {})
        return found == status and containing in message

    xapps.wait_until(is_reached, what=f"kstatus {status} {containing}", xapp="hello")


def test_flux_waits_until_an_xapp_is_ready_and_is_told_when_it_fails(xapps: XAppClient, tmp_path: Path) -> None:
    file = tmp_path / "states.json"
    waiting = xapps.uploaded_manifest("hello", workload_chart(), dependsOn=[{"name": "other"}])
    good = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "hi"})
    missing = xapps.uploaded_manifest("hello", workload_chart(), valuesFrom=[{"kind": "Secret", "name": "missing"}])
    xapps.apply(waiting)
    with watched(xapps, file):
        xapps.wait_until(lambda: bool(seen(file, generation=1)), what="the watch to begin")
        wait_status(xapps, IN_PROGRESS, containing="other")
        xapps.apply(good)
        wait_status(xapps, CURRENT)
        xapps.apply(missing)
        wait_status(xapps, FAILED, containing="missing")
        xapps.apply(good)
        wait_status(xapps, CURRENT)
        xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
        xapps.wait_until(lambda: TERMINATING in seen(file, generation=5), what="the deletion to be seen")

    # Never Current for a spec that the operator has not worked on, and never Failed in between.
    assert seen(file, generation=1) == [IN_PROGRESS]
    assert seen(file, generation=2) == [IN_PROGRESS, CURRENT]
    assert seen(file, generation=3) == [IN_PROGRESS, FAILED]
    assert seen(file, generation=4) == [IN_PROGRESS, CURRENT]
    assert seen(file, generation=5) == [TERMINATING]


def test_flux_sees_a_suspended_xapp_as_it_was(xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    wait_status(xapps, CURRENT)
    xapps.kubectl("patch", "xapp", "hello", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    xapps.wait_until(lambda: xapps.status("hello").get("phase") == "Suspended", what="the phase Suspended")
    wait_status(xapps, CURRENT)


def test_flux_waits_until_a_repository_has_answered(xapps: XAppClient) -> None:
    repository = {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "ChartRepository",
        "metadata": {"name": "charts", "namespace": xapps.namespace},
        "spec": {"url": "http://127.0.0.1:9/charts"},
    }
    xapps.apply(repository)
    xapps.wait_until(
        lambda: compute_status(xapps.get("chartrepository", "charts") or {})[0] in (IN_PROGRESS, FAILED),
        what="the operator to say that the repository does not answer",
    )
