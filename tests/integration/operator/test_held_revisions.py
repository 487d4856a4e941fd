"""What persons do with the real helm to a revision that is held, or to a release that an XApp has adopted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.operator.test_release_states import greeting
from tests.support.helm_user import HelmUser
from tests.support.release_records import record_name
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

BAD_SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: hello}\nspec: {ports: [{name: http, port: 99999}]}\n"


def revision(xapps: XAppClient) -> int:
    return int(xapps.status("hello")["release"]["revision"])


def deploy(xapps: XAppClient, *greetings: str, **spec: Any) -> None:
    """Deploy one revision of the xApp hello for each greeting."""
    manifest = xapps.uploaded_manifest("hello", workload_chart(), **spec)
    for number, text in enumerate(greetings, start=1):
        manifest["spec"]["values"] = {"greeting": text}
        xapps.apply(manifest)
        xapps.wait_until(
            lambda number=number: xapps.wait_ready("hello")["release"]["revision"] == number,  # type: ignore[misc]
            what=f"revision {number}",
            xapp="hello",
        )


def upgrade(xapps: XAppClient, helm_user: HelmUser) -> None:
    helm_user.upgrade("hello", workload_chart(), greeting="three")


def upgrade_badly(xapps: XAppClient, helm_user: HelmUser) -> None:
    with pytest.raises(AssertionError, match="99999"):
        helm_user.upgrade("hello", workload_chart(templates__service=BAD_SERVICE), greeting="three")


def roll_back(xapps: XAppClient, helm_user: HelmUser) -> None:
    helm_user.roll_back("hello", 2)


def delete_record(xapps: XAppClient, helm_user: HelmUser) -> None:
    xapps.kubectl("delete", "secret", record_name("hello", 3))


def uninstall(xapps: XAppClient, helm_user: HelmUser) -> None:
    helm_user.uninstall("hello", keep_history=True)


@pytest.mark.parametrize("change", [upgrade, upgrade_badly, roll_back, delete_record, uninstall])
def test_a_held_revision_comes_back_whatever_persons_do(
    xapps: XAppClient, helm_user: HelmUser, change: Callable[[XAppClient, HelmUser], None]
) -> None:
    deploy(xapps, "one", "two")
    xapps.kubectl("annotate", "xapp/hello", "xapp-operator.io/rollback-to=1")
    xapps.wait_until(lambda: xapps.status("hello").get("heldRevision") == 1, what="the rollback", xapp="hello")
    before = xapps.wait_ready("hello")["history"]
    change(xapps, helm_user)

    def is_back() -> bool:
        status = xapps.wait_ready("hello")
        return status["history"] != before and status.get("heldRevision") == 1 and greeting(xapps) == "one"

    xapps.wait_until(is_back, what="the held revision to come back", xapp="hello")
    ready = xapps.current_condition("hello", "Ready") or {}
    assert "which is held" in ready["message"]
    assert xapps.helm_releases()["hello"]["status"] == "deployed"


def test_an_adopted_release_goes_with_its_xapp_although_a_person_has_rolled_it_back(
    xapps: XAppClient, helm_user: HelmUser
) -> None:
    helm_user.install("hello", workload_chart(), greeting="zero")
    manifest = xapps.uploaded_manifest("hello", workload_chart(), values={"greeting": "one"}, adopt=True)
    xapps.apply(manifest)
    assert xapps.wait_ready("hello")["release"]["revision"] == 2
    xapps.kubectl("patch", "xapp", "hello", "--type=merge", "-p", json.dumps({"spec": {"suspend": True}}))
    xapps.wait_until(lambda: xapps.status("hello")["phase"] == "Suspended", what="the suspension", xapp="hello")
    helm_user.roll_back("hello", 1)
    xapps.kubectl("delete", "xapp", "hello", "--timeout=60s")
    assert (xapps.helm_releases(), greeting(xapps)) == ({}, None)


def test_a_spec_that_returns_to_what_was_rolled_back_to_runs_no_helm_with_a_full_history(xapps: XAppClient) -> None:
    deploy(xapps, "one", "two", "three", maxHistory=3)
    good = {"version": "0.1.0", **(xapps.get("xapp", "hello") or {})["spec"]}
    bad = workload_chart(version="0.2.0", templates__service=BAD_SERVICE)
    xapps.apply(xapps.uploaded_manifest("hello", bad, version="0.2.0", maxHistory=3, values={"greeting": "three"}))
    assert "rolled back" in xapps.wait_stalled("hello")["message"]
    rolled_back = revision(xapps)
    names = xapps.names("secret", "owner=helm")
    assert len(names) == 3
    xapps.kubectl("patch", "xapp", "hello", "--type=merge", "-p", json.dumps({"spec": good}))
    xapps.wait_ready("hello")
    assert (revision(xapps), xapps.names("secret", "owner=helm")) == (rolled_back, names)
