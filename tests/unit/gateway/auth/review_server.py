"""A server that answers access reviews in place of an API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from tests.support.gateway import UNREACHABLE_KUBECONFIG
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.auth.access_reviews import AccessReviews
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.kube.client import KubeClient


@dataclass
class FakeReviewServer:
    """Answers SelfSubjectAccessReviews, and records the reviewed resources."""

    reviewed: list[JsonObject] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    allowed: bool = True
    status: int = 201
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    only: set[str] = field(default_factory=set)
    at_once: int = 0
    most_at_once: int = 0
    identified: list[str] = field(default_factory=list)
    identifies: asyncio.Event = field(default_factory=asyncio.Event)
    identifying: int = 0
    most_identifying: int = 0
    identity_status: int = 201
    groups: object = None

    async def review(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.reviewed.append(body["spec"]["resourceAttributes"])
        self.tokens.append(request.headers.get("Authorization", ""))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await self.answers.wait()
        self.at_once -= 1
        if self.status != 201:
            return web.json_response({"kind": "Status", "message": "no", "code": self.status}, status=self.status)
        allowed = self.allowed or self.requested_namespace(body) in self.only
        return web.json_response({"kind": "SelfSubjectAccessReview", "status": {"allowed": allowed}}, status=201)

    async def identify(self, request: web.Request) -> web.Response:
        """Return a service account in the namespace that the token names."""
        token = request.headers["Authorization"].removeprefix("Bearer ")
        self.identified.append(token)
        self.identifying += 1
        self.most_identifying = max(self.most_identifying, self.identifying)
        await self.identifies.wait()
        self.identifying -= 1
        status = 401 if token.startswith("made-up") else self.identity_status
        if status != 201:
            return web.json_response({"kind": "Status", "message": "no", "code": status}, status=status)
        user = {"username": f"system:serviceaccount:{token}:jane", "groups": self.groups}
        return web.json_response({"kind": "SelfSubjectReview", "status": {"userInfo": user}}, status=201)

    @staticmethod
    def requested_namespace(body: JsonObject) -> str:
        return text(obj(obj(body, "spec"), "resourceAttributes"), "namespace")


@asynccontextmanager
async def review_server(folder: Path) -> AsyncIterator[tuple[FakeReviewServer, KubeClient]]:
    server = FakeReviewServer()
    server.answers.set()
    server.identifies.set()
    app = web.Application()
    app.router.add_post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", server.review)
    app.router.add_post("/apis/authentication.k8s.io/v1/selfsubjectreviews", server.identify)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(UNREACHABLE_KUBECONFIG.replace("127.0.0.1:1", f"127.0.0.1:{port}"))
    try:
        async with await KubeClient.connect(Settings.model_validate({"KUBECONFIG": str(kubeconfig)})) as kube:
            yield server, kube
    finally:
        await runner.cleanup()


def caller(kube: KubeClient, reviews: AccessReviews, *, token: str = "abc") -> Caller:
    return Caller(client=kube.with_token(token), mode="kubernetes", access_reviews=reviews, token=token)
