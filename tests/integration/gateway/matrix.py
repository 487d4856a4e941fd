"""Who may do what on each route: one row for each, which `test_matrix.py` tries for every kind of caller.

A route without a row fails that test. To add one, say what is sent, who may do it in the own namespace (`EDITORS`: who
has the role edit; `VIEWERS`: who has the role view, and those above), and what is answered then.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.integration.gateway.desk import parts
from tests.support.routes import WEBSOCKET, RouteName

Form = Callable[[str], dict[str, Any]]
"""Returns what is sent about a namespace, as httpx takes it."""

EDITORS: Final = frozenset({"edit"})
VIEWERS: Final = frozenset({"edit", "view"})
EVERYBODY: Final = frozenset({"edit", "view", "nobody"})
"""Whoever the cluster knows: the route names no namespace, and leaves out what the caller may not see."""


@dataclass(frozen=True, slots=True)
class Row:
    """One route: `for_whom` (of edit, view, nobody) may use it, and is answered one of `status`."""

    for_whom: frozenset[str]
    status: tuple[int, ...]
    send: Form = field(default=lambda _namespace: {})
    path: dict[str, str] = field(default_factory=dict)


def _json(body: dict[str, Any]) -> Form:
    return lambda namespace: {"content": json.dumps({**body, "namespace": namespace})}


def _form(namespace: str) -> dict[str, Any]:
    form = {
        "xAppName": "hello",
        "organization": "acme",
        "team": "ran",
        "version": "0.1.0",
        "owner": "jane",
        "method": "Upload Chart",
        "namespace": namespace,
    }
    return {"files": parts(form, file=b"no chart")}


def _body(**body: Any) -> Form:
    return lambda _namespace: {"content": json.dumps(body)}


ONE: Final = "/api/xapps/{namespace}/{name}"
REPOSITORY: Final = "/api/repositories/{namespace}/{name}"
ABSENT: Final = {"name": "absent"}
SERVICE: Final = {"service": "absent", "port": "80", "path": "p"}

ROWS: Final[dict[RouteName, Row]] = {
    RouteName("GET", "/api/xapps"): Row(EVERYBODY, (200,)),
    RouteName("GET", ONE): Row(VIEWERS, (200,)),
    RouteName("GET", f"{ONE}/history"): Row(VIEWERS, (200,)),
    RouteName("POST", f"{ONE}/rollback"): Row(EDITORS, (404,), _body(revision=99)),
    RouteName("GET", f"{ONE}/manifest"): Row(EDITORS, (404,)),
    RouteName("GET", f"{ONE}/notes"): Row(EDITORS, (404,)),
    RouteName("GET", f"{ONE}/health"): Row(VIEWERS, (200,)),
    RouteName("GET", f"{ONE}/events"): Row(VIEWERS, (200,)),
    RouteName("GET", f"{ONE}/logs"): Row(VIEWERS, (404,)),
    RouteName("GET", f"{ONE}/config"): Row(VIEWERS, (200,)),
    RouteName("PUT", f"{ONE}/config"): Row(EDITORS, (422,), _body()),
    RouteName("PATCH", f"{ONE}/config"): Row(EDITORS, (404,), _body(), path=ABSENT),
    RouteName("POST", "/api/deployment/xapp"): Row(EDITORS, (422,), _form),
    RouteName("PUT", "/api/deployment/xapp/{namespace}/{name}"): Row(EDITORS, (422,), _form),
    RouteName("DELETE", "/api/deployment/xapp"): Row(EDITORS, (404,), _json({"name": "absent"})),
    RouteName("GET", "/api/repositories"): Row(EVERYBODY, (200,)),
    RouteName("POST", "/api/repositories"): Row(EDITORS, (422,), _json({"name": "charts", "url": "nonsense"})),
    RouteName("GET", REPOSITORY): Row(VIEWERS, (200,)),
    RouteName("DELETE", REPOSITORY): Row(EDITORS, (404,), path=ABSENT),
    RouteName("GET", f"{REPOSITORY}/charts"): Row(VIEWERS, (404,), path=ABSENT),
    RouteName("GET", f"{REPOSITORY}/charts/{{chart}}/versions"): Row(VIEWERS, (404,), path=ABSENT | {"chart": "c"}),
    RouteName("GET", "/api/discovery/services"): Row(EVERYBODY, (200,)),
    RouteName("GET", "/api/discovery/services"): Row(EVERYBODY, (200,)),
    RouteName("GET", "/api/session"): Row(EVERYBODY, (200,)),
    RouteName("DELETE", "/api/session"): Row(EVERYBODY, (204,)),
    RouteName("GET", "/api/stream"): Row(EVERYBODY, (200,)),
    **{
        RouteName(method, f"{ONE}/{tail}"): Row(EDITORS, (404,), path=SERVICE)
        for method in ("GET", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", WEBSOCKET)
        for tail in ("proxy/{service}/{port}", "proxy/{service}/{port}/{path:path}", "api", "api/{path:path}")
    },
}
