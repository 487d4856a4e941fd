"""The operator may not read the Secrets of a namespace: its XApps say what is missing, and nobody else is affected."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tests.localcluster import Cluster
from tests.support.charts import chart_archive
from tests.support.operator import OperatorProcess
from tests.support.service_accounts import prepare_namespace
from tests.support.xapps import Json, XAppClient
from xapp_operator.api.names import SECRETS_ROLE

pytestmark = pytest.mark.integration

HEAL_SECONDS = 60.0
"""The pause between attempts grows to 36 s, and tests of this folder are done before."""


@pytest.fixture
def bare(xapps: XAppClient, prepared: str) -> XAppClient:
    """A namespace with the deployer, but without the RoleBinding of the operator."""
    assert prepared == xapps.namespace
    xapps.kubectl("delete", "rolebinding", SECRETS_ROLE)
    return xapps


@pytest.fixture
def other(cluster: Cluster, operator: OperatorProcess) -> Iterator[XAppClient]:
    """A prepared namespace of another tenant."""
    assert operator
    name = f"other-{secrets.token_hex(3)}"
    cluster.kubectl("create", "namespace", name)
    prepare_namespace(cluster, name)
    yield XAppClient(cluster, name)
    cluster.kubectl("delete", "xapps", "--all", "-n", name, "--wait=false")
    cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


def apply_xapp(xapps: XAppClient, name: str = "hello", **spec: Any) -> None:
    xapps.apply(xapps.uploaded_manifest(name, chart_archive(), **spec))


def restore_binding(xapps: XAppClient, message: str) -> None:
    """Run the command in a message."""
    command = re.search(r"run: (kubectl create rolebinding .*?)\. ", message)
    assert command is not None, message
    xapps.kubectl(*shlex.split(command[1])[1:])


def assert_refused(xapps: XAppClient, condition: Json) -> None:
    assert condition["reason"] == "AccessDenied"
    assert SECRETS_ROLE in condition["message"]
    assert f"--namespace={xapps.namespace}" in condition["message"]
    ready = xapps.current_condition("hello", "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "AccessDenied")


def test_the_command_in_the_condition_makes_the_xapp_ready(bare: XAppClient, other: XAppClient) -> None:
    apply_xapp(bare)
    condition = bare.wait_stalled("hello")
    assert_refused(bare, condition)
    assert bare.names("secrets", "owner=helm") == []

    apply_xapp(other)  # while the first namespace is refused
    other.wait_ready("hello")

    restore_binding(bare, condition["message"])
    bare.wait_ready("hello", seconds=HEAL_SECONDS)


def test_after_a_restart_the_others_continue_and_the_release_stays_in_the_status(
    bare: XAppClient, other: XAppClient, operator: OperatorProcess
) -> None:
    prepare_namespace(bare.cluster, bare.namespace)
    for one in (bare, other):
        apply_xapp(one)
        one.wait_ready("hello")
    before = bare.status("hello")["release"]
    written = other.get("xapp", "hello")
    assert written is not None
    bare.kubectl("delete", "rolebinding", SECRETS_ROLE)

    operator.stop()
    operator.start()

    condition = bare.wait_stalled("hello")
    assert_refused(bare, condition)
    assert bare.status("hello")["release"] == before
    apply_xapp(other, "second")
    other.wait_ready("second")
    again = other.get("xapp", "hello")
    assert again is not None
    assert again["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]

    # A deletion waits, because nobody could say what is left of the release.
    bare.kubectl("delete", "xapp", "hello", "--wait=false")
    apply_xapp(other, "third")
    other.wait_ready("third")
    assert bare.names("configmaps", "app.kubernetes.io/managed-by=Helm")
    restore_binding(bare, condition["message"])
    bare.wait_gone("xapp", "hello", seconds=HEAL_SECONDS)
    assert bare.names("secrets", "owner=helm") == []


def test_an_orphan_needs_no_role_binding(bare: XAppClient) -> None:
    apply_xapp(bare, deletionPolicy="Orphan")
    bare.wait_stalled("hello")
    bare.kubectl("delete", "xapp", "hello", "--wait=false")
    bare.wait_gone("xapp", "hello")


def test_a_namespace_that_lost_its_role_bindings_can_be_deleted(
    other: XAppClient, cluster: Cluster, operator: OperatorProcess
) -> None:
    apply_xapp(other)
    other.wait_ready("hello")
    operator.stop()
    other.kubectl("delete", "rolebinding", "--all")
    cluster.kubectl("delete", "namespace", other.namespace, "--wait=false")

    operator.start()

    other.wait_gone("namespace", other.namespace)
