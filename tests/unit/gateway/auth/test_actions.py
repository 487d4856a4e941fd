"""What an action needs, as a permission for one request."""

from __future__ import annotations

from xapp_operator.gateway.auth.actions import Action, Permission, needed_permissions
from xapp_operator.kube.resources import NAMESPACES, PODS, XAPPS


def test_an_action_needs_rights_on_its_xapp_and_beside_it() -> None:
    needed = needed_permissions(
        Action.VIEW, Action.DEPLOY, Action.LIST, Action.LOGS, Action.CREATE_NAMESPACE, namespace="a", name="one"
    )
    assert needed == (
        Permission("get", "a", XAPPS, None, "one"),
        Permission("create", "a"),
        Permission("list", "a"),
        Permission("list", "a", PODS),
        Permission("get", "a", PODS, "log"),
        Permission("create", None, NAMESPACES),
    )
    assert needed_permissions(Action.VIEW, namespace=None) == (Permission("get", None),)


def test_a_permission_is_named_as_in_a_role() -> None:
    assert Permission("get", "a", PODS, "log").what == "get pods/log"
    assert Permission("list", "a").what == "list xapps.xapp-operator.io"
