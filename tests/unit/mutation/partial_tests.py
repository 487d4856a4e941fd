"""Tests that leave some mutants of `group_of_user` alive. Only the test of the tool runs them."""

from __future__ import annotations

from xapp_operator.domain.caller_groups import group_of_user


def test_a_service_account_shares_with_its_namespace() -> None:
    assert group_of_user("system:serviceaccount:a:b") == "system:serviceaccount:a"


def test_a_user_has_a_share_of_its_own() -> None:
    assert group_of_user("user") == "user"
