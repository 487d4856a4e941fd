"""Whose share a user takes."""

from __future__ import annotations

import pytest

from xapp_operator.domain.caller_groups import group_of_user


@pytest.mark.parametrize(
    ("user", "group"),
    [
        ("system:serviceaccount:ran:a", "system:serviceaccount:ran"),
        ("alice", "alice"),
        ("oidc:team:ran:alice", "oidc:team:ran:alice"),
        ("system:serviceaccount:ran", "system:serviceaccount:ran"),
        ("system:serviceaccount:ran:a:b", "system:serviceaccount:ran:a:b"),
        ("system:node:a:b", "system:node:a:b"),
    ],
)
def test_service_accounts_of_a_namespace_share_and_others_do_not(user: str, group: str) -> None:
    assert group_of_user(user) == group
