"""Reports of rights: how many access reviews they cost, and who waits for them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.unit.gateway.auth.review_server import caller, review_server
from xapp_operator.errors import AccessDenied, ApiOverloaded, Unauthenticated
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.actions import Action, needed_permissions
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.auth.identities import Identities
from xapp_operator.gateway.auth.permission_report import PermissionReporter
from xapp_operator.kube.client import KubeClient

REPORTED_REVIEWS_MAX = 16
REVIEWS_PER_REQUEST = 8

RIGHTS = len(set(needed_permissions(*Action, namespace="a")))


async def known_caller(kube: KubeClient, reviews: AccessReviews, *, token: str) -> Caller:
    one = replace(caller(kube, reviews, token=token), identities=Identities(unknown_per_address=10))
    await one.identify()
    assert one.user == f"system:serviceaccount:{token}:jane"
    return one


async def test_a_report_costs_one_review_for_each_right_and_routes_use_them_too(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        who, reporter = caller(kube, AccessReviews()), PermissionReporter()
        for _ in range(2):
            report = await reporter.missing_by_action(who, namespace="a", name=None)
            assert list(report) == list(Action)
            assert not any(report.values())
        for action in Action:
            await who.require(action, namespace="a")
        assert len(server.reviewed) == RIGHTS


async def test_a_report_agrees_with_what_routes_refuse(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.allowed = False
        who = caller(kube, AccessReviews())
        report = await PermissionReporter().missing_by_action(who, namespace="a", name=None)
        for action in Action:
            with pytest.raises(AccessDenied) as refused:
                await who.require(action, namespace="a")
            assert refused.value.missing == report[action]


async def test_one_report_leaves_reviews_for_others(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.answers.clear()
        who, reporter = await known_caller(kube, AccessReviews(), token="a"), PermissionReporter()
        running = asyncio.create_task(reporter.missing_by_action(who, namespace="a", name=None))
        await eventually(lambda: server.at_once == REVIEWS_PER_REQUEST, what="the reviews of one report")
        server.answers.set()
        await running
        assert server.most_at_once == REVIEWS_PER_REQUEST


async def test_a_tenant_who_asks_for_many_reports_does_not_delay_another(tmp_path: Path) -> None:
    async with review_server(tmp_path) as (server, kube):
        reviews, reporter = AccessReviews(), PermissionReporter()
        flooding, other = [await known_caller(kube, reviews, token=token) for token in ("flood", "other")]
        server.answers.clear()
        flood = [
            asyncio.create_task(reporter.missing_by_action(flooding, namespace=f"n{number}", name=None))
            for number in range(50)
        ]
        # All but two of the places; reviews of the whole cluster are shared.
        await eventually(lambda: server.at_once >= REPORTED_REVIEWS_MAX - 4, what="the reviews of the flood")
        asked = asyncio.create_task(reporter.missing_by_action(other, namespace="a", name=None))
        await eventually(lambda: "Bearer other" in server.tokens, what="a review of the other tenant")
        server.answers.set()
        await asked
        assert not all(each.done() for each in flood)
        await asyncio.gather(*flood)
        assert server.most_at_once <= REPORTED_REVIEWS_MAX


@pytest.mark.parametrize(("status", "error"), [(401, Unauthenticated), (429, ApiOverloaded)])
async def test_a_report_that_cannot_be_made_is_an_error(tmp_path: Path, status: int, error: type[Exception]) -> None:
    async with review_server(tmp_path) as (server, kube):
        server.status = status
        with pytest.raises(error):
            await PermissionReporter().missing_by_action(caller(kube, AccessReviews()), namespace="a", name=None)
