"""What is kept of an XApp while helm works."""

from __future__ import annotations

from tests.unit.reconcile import xapps
from xapp_operator.reconcile.reconcile_context import ReconcileRequest
from xapp_operator.reconcile.status.status_draft import StatusDraft


def test_values_do_not_stay_in_memory_while_helm_works() -> None:
    raw = xapps.raw(values={"a": 1})
    xapp = xapps.xapp(values={"a": 1})
    request = ReconcileRequest(raw=raw, xapp=xapp, draft=StatusDraft.from_status(xapp, now=0.0))
    request.drop_values()
    assert request.raw["spec"] == xapps.raw()["spec"]
    assert request.xapp.spec.values is None
    assert request.xapp.spec.x_app_name == "hello"
    assert raw["spec"]["values"] == {"a": 1}
