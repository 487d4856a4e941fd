"""The disk on which helm works is full: helm is not started, that is told, and all goes on when there is room."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster import Cluster
from tests.support.operator import OperatorProcess
from tests.support.small_disk import FILES_FOR_A_HELM, SmallDisk, disk
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

__all__ = ["disk"]

pytestmark = pytest.mark.integration

TIMEOUT_SECONDS = 5
TRIES = 6
"""With at most 2 s between them, these take longer than the timeout."""
TOLD = "helm cannot run (no space left on device): make room, or repair the disk, at XAPP_WORK_DIR of the process"


@pytest.fixture
def operator_on_disk(
    operator: OperatorProcess, cluster: Cluster, disk: SmallDisk, tmp_path: Path
) -> Iterator[OperatorProcess]:
    """An operator that leads instead of the one that the tests of this folder share."""
    operator.stop()
    settings = {"XAPP_WORK_DIR": str(disk.folder / "work"), "XAPP_BACKOFF_MAX_SECONDS": "2"}
    own = OperatorProcess(cluster, tmp_path, settings)
    own.start()
    yield own
    own.stop()


@pytest.fixture
def xapps(operator_on_disk: OperatorProcess, cluster: Cluster, namespace: str, disk: SmallDisk) -> XAppClient:
    """The XApps in the test's namespace; the operator has used its disk."""
    assert operator_on_disk.running
    xapps = XAppClient(cluster, namespace)
    xapps.wait_until(lambda: any(disk.folder.glob("work/*/plugins")), what="the operator to make its folder")
    return xapps


def wait_told(xapps: XAppClient, *, tries: int = TRIES) -> None:
    """Wait until helm could not be started so often, for longer than the timeout, and look what was told."""
    began = time.monotonic()

    def has_tried() -> bool:
        assert xapps.current_condition("hello", "Stalled") is None
        attempt = xapps.status("hello").get("lastAttempt") or {}
        return attempt.get("outcome") == "Failed" and attempt.get("count", 0) >= tries

    xapps.wait_until(has_tried, what=f"{tries} tries", xapp="hello")
    assert time.monotonic() - began > TIMEOUT_SECONDS
    ready = xapps.current_condition("hello", "Ready")
    assert ready is not None
    assert (ready["status"], ready["message"][: len(TOLD)]) == ("False", TOLD)
    assert TOLD in events(xapps, "HelmNotStarted")


def events(xapps: XAppClient, reason: str) -> str:
    items = json.loads(xapps.kubectl("get", "events", "-o", "json"))["items"]
    return "\n".join(each["message"] for each in items if each["reason"] == reason)


def revisions(xapps: XAppClient) -> list[str]:
    path = "jsonpath={range .items[*]}{.metadata.labels.version} {.metadata.labels.status},{end}"
    return xapps.kubectl("get", "secrets", "-l", "owner=helm,name=hello", "-o", path).split(",")[:-1]


def test_helm_waits_for_room_without_a_loss(
    operator_on_disk: OperatorProcess, xapps: XAppClient, disk: SmallDisk
) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart(), timeout=f"{TIMEOUT_SECONDS}s")
    with disk.full():
        xapps.apply(manifest)
        wait_told(xapps)
        assert (revisions(xapps), xapps.names("deployment"), xapps.names("service")) == ([], [], [])
    assert xapps.wait_ready("hello")["release"]["revision"] == 1
    manifest["spec"]["values"] = {"greeting": "two"}
    with disk.full():
        xapps.apply(manifest)
        wait_told(xapps)
        assert revisions(xapps) == ["1 deployed"]
    assert xapps.wait_ready("hello")["release"]["revision"] == 2
    assert revisions(xapps) == ["1 superseded", "2 deployed"]
    with disk.full():
        xapps.kubectl("delete", "xapp", "hello", "--wait=false")
        xapps.wait_until(lambda: "UninstallFailed" in str(xapps.status("hello")), what="a failed try", xapp="hello")
        assert TOLD in str(xapps.status("hello")["conditions"])
        assert xapps.names("deployment") == ["hello"]
    xapps.wait_gone("xapp", "hello")
    xapps.wait_gone("deployment", "hello")
    assert revisions(xapps) == []
    assert operator_on_disk.error_lines() == []


def test_helm_that_can_make_no_file_installs_and_upgrades(
    operator_on_disk: OperatorProcess, xapps: XAppClient, disk: SmallDisk
) -> None:
    """It finds no post-renderer then, so the labels come afterwards."""
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    with disk.full(files_left=FILES_FOR_A_HELM):
        xapps.apply(manifest)
        xapps.wait_ready("hello")
        assert xapps.names("deployment", "xapp-operator.io/xapp=hello") == ["hello"]
    manifest["spec"]["values"] = {"greeting": "two"}
    with disk.full(files_left=FILES_FOR_A_HELM):
        xapps.apply(manifest)
        xapps.wait_ready("hello")
    assert revisions(xapps) == ["1 superseded", "2 deployed"]
    assert operator_on_disk.log_text().count("did not post-render") == 2
    assert operator_on_disk.error_lines() == []
    xapps.kubectl("delete", "xapp", "hello")


@pytest.mark.parametrize("files_left", [0, None])
def test_an_operator_that_finds_a_full_disk_says_so_and_ends(
    operator_on_disk: OperatorProcess, xapps: XAppClient, disk: SmallDisk, files_left: int | None
) -> None:
    operator_on_disk.stop()
    with disk.full(files_left=files_left):
        for number in range(1, 3):
            operator_on_disk.start()
            xapps.wait_until(lambda: not operator_on_disk.running, what="the operator to end")
            assert operator_on_disk.exit_code == 1
            assert len(operator_on_disk.error_lines()) == number
        for line in operator_on_disk.error_lines():
            message = json.loads(line)["error"]
            assert message.startswith("No space left on device")
            assert message.endswith("check XAPP_CACHE_DIR, XAPP_WORK_DIR, host and port")
        assert list((disk.folder / "work").iterdir()) == []
    operator_on_disk.start()
    xapps.apply(xapps.uploaded_manifest("hello", workload_chart()))
    xapps.wait_ready("hello")
    xapps.kubectl("delete", "xapp", "hello")
