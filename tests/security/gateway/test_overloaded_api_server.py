"""Threat: somebody has lost a permission, and overloads the API server so that nobody can check that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from starlette.requests import Request

from tests.unit.gateway.auth.review_server import caller, review_server
from xapp_operator.errors import AccessDenied, ApiOverloaded, XAppError
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.actions import Permission
from xapp_operator.gateway.http.responses import streaming
from xapp_operator.gateway.http.responses.problems import RETRY_AFTER_SECONDS, problem_response
from xapp_operator.gateway.http.responses.streaming import recheck_until_refused


@pytest.fixture(autouse=True)
def _check_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "RECHECK_SECONDS", 0.01)


async def first_refusal(folder: Path, *, status: int = 201, allowed: bool = True, answers: bool = True) -> XAppError:
    """Return why a long response ends whose caller was allowed at first."""
    async with review_server(folder) as (server, kube), asyncio.timeout(60):
        who = caller(kube, AccessReviews())
        await who.require_allowed("get", namespace="a")
        server.status, server.allowed = status, allowed
        if not answers:
            server.answers.clear()
        try:
            return await recheck_until_refused(lambda: who.recheck(Permission("get", "a")))
        finally:
            server.answers.set()


async def test_a_refused_check_ends_a_long_response(tmp_path: Path) -> None:
    assert isinstance(await first_refusal(tmp_path, status=429), ApiOverloaded)


async def test_a_check_without_an_answer_ends_a_long_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "RECHECK_TIMEOUT_SECONDS", 0.1)
    assert isinstance(await first_refusal(tmp_path, answers=False), ApiOverloaded)


async def test_a_denied_check_ends_a_long_response(tmp_path: Path) -> None:
    assert isinstance(await first_refusal(tmp_path, allowed=False), AccessDenied)


def test_the_answer_says_when_to_try_again() -> None:
    request = Request({"type": "http", "method": "GET", "path": "/api/xapps", "headers": [], "query_string": b""})
    answer = problem_response(ApiOverloaded("too many requests"), request)

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == str(RETRY_AFTER_SECONDS)
