"""Who may use each route: one row per route, which `test_permission_matrix` tries with every kind of caller.

A route without a row fails that test. A row has the request, the accounts that may send it in their own namespace, and
the statuses that they get. Its actions are those of `gateway/auth/actions.py`: `test_rights_of_routes` tries the route
with exactly their rights, and with each one missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.integration.gateway.gateway_client import multipart_files
from tests.support.routes import WEBSOCKET, RouteKey
from xapp_operator.gateway.auth.actions import Action

RequestBuilder = Callable[[str], dict[str, Any]]
"""Returns the arguments of httpx for a request about a namespace."""

EDITOR: Final = frozenset({"edit"})
VIEWER_OR_EDITOR: Final = frozenset({"edit", "view"})
ANY_ACCOUNT: Final = frozenset({"edit", "view", "nobody"})
"""Every account of the cluster: the route has no namespace and leaves out what the caller may not see."""


@dataclass(frozen=True, slots=True)
class PermissionRow:
    """One route: `allowed_accounts` (of edit, view, nobody) may use it and get one of `statuses`.

    It needs the rights of `actions` in the namespace of the request; without any, only an account of the cluster.
    """

    allowed_accounts: frozenset[str]
    statuses: tuple[int, ...]
    actions: tuple[Action, ...] = ()
    request: RequestBuilder = field(default=lambda _namespace: {})
    path: dict[str, str] = field(default_factory=dict)


def _json(body: dict[str, Any]) -> RequestBuilder:
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
    return {"files": multipart_files(form, file=b"no chart")}


def _chart(namespace: str) -> dict[str, Any]:
    return {"files": {"namespace": (None, namespace), "file": ("chart.tgz", b"no chart")}}


def _body(**body: Any) -> RequestBuilder:
    return lambda _namespace: {"content": json.dumps(body)}


def _query(namespace: str) -> dict[str, Any]:
    return {"params": {"namespace": namespace}}


XAPP_PATH: Final = "/api/xapps/{namespace}/{name}"
REPOSITORY: Final = "/api/repositories/{namespace}/{name}"
ARCHIVE: Final = "/api/charts/{namespace}/{name}"
CHART_FILE: Final = {"file": "hello-0.1.0"}
CHART_FILES: Final = (".tgz", ".tgz.prov")
ABSENT: Final = {"name": "absent"}
SERVICE: Final = {"service": "absent", "port": "80", "path": "p"}

PROXY_ACTIONS: Final = {
    "POST": Action.PROXY_CREATE,
    "PUT": Action.PROXY_UPDATE,
    "PATCH": Action.PROXY_PATCH,
    "DELETE": Action.PROXY_DELETE,
}

ACCESS_RULES: Final[dict[RouteKey, PermissionRow]] = {
    RouteKey("GET", "/api/xapps"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("GET", "/api/xapps/facets"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("GET", XAPP_PATH): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW,)),
    RouteKey("GET", f"{XAPP_PATH}/history"): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW,)),
    RouteKey("POST", f"{XAPP_PATH}/rollback"): PermissionRow(EDITOR, (404,), (Action.ROLLBACK,), _body(revision=99)),
    RouteKey("POST", f"{XAPP_PATH}/actions"): PermissionRow(EDITOR, (422,), (Action.ACT,), _body(action="none")),
    RouteKey("GET", f"{XAPP_PATH}/history/{{revision}}"): PermissionRow(
        EDITOR, (404,), (Action.RELEASE,), path={"revision": "1"}
    ),
    RouteKey("GET", f"{XAPP_PATH}/history/{{revision}}/diff/{{other}}"): PermissionRow(
        EDITOR, (404,), (Action.RELEASE,), path={"revision": "1", "other": "2"}
    ),
    RouteKey("GET", f"{XAPP_PATH}/tests"): PermissionRow(EDITOR, (404,), (Action.RELEASE,)),
    RouteKey("GET", f"{XAPP_PATH}/manifest"): PermissionRow(EDITOR, (404,), (Action.RELEASE,)),
    RouteKey("GET", f"{XAPP_PATH}/notes"): PermissionRow(EDITOR, (404,), (Action.RELEASE,)),
    RouteKey("GET", f"{XAPP_PATH}/health"): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW,)),
    RouteKey("GET", f"{XAPP_PATH}/events"): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.EVENTS,)),
    RouteKey("GET", f"{XAPP_PATH}/logs"): PermissionRow(VIEWER_OR_EDITOR, (404,), (Action.LOGS,)),
    RouteKey("GET", f"{XAPP_PATH}/config"): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW,)),
    RouteKey("GET", f"{XAPP_PATH}/chart"): PermissionRow(VIEWER_OR_EDITOR, (404,), (Action.VIEW,), path=ABSENT),
    RouteKey("GET", f"{XAPP_PATH}/spec"): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW,)),
    RouteKey("PUT", f"{XAPP_PATH}/config"): PermissionRow(EDITOR, (422,), (Action.CONFIGURE,), _body()),
    RouteKey("PATCH", f"{XAPP_PATH}/config"): PermissionRow(EDITOR, (404,), (Action.CONFIGURE,), _body(), path=ABSENT),
    RouteKey("POST", "/api/deployment/xapp"): PermissionRow(EDITOR, (422,), (Action.DEPLOY, Action.UPLOAD), _form),
    RouteKey("PUT", "/api/deployment/xapp/{namespace}/{name}"): PermissionRow(
        EDITOR, (422,), (Action.UPGRADE, Action.UPLOAD), _form
    ),
    RouteKey("DELETE", "/api/deployment/xapp"): PermissionRow(
        EDITOR, (404,), (Action.UNINSTALL,), _json({"name": "absent"})
    ),
    RouteKey("GET", "/api/repositories"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("POST", "/api/repositories"): PermissionRow(
        EDITOR,
        (422,),
        (Action.ADD_REPOSITORY, Action.STORE_CREDENTIALS),
        _json({"name": "charts", "url": "nonsense", "token": "t"}),
    ),
    RouteKey("GET", REPOSITORY): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW_REPOSITORY,)),
    RouteKey("PUT", REPOSITORY): PermissionRow(
        EDITOR,
        (422,),
        (Action.CHANGE_REPOSITORY, Action.STORE_CREDENTIALS),
        _body(url="nonsense", token="t"),
        path=ABSENT,
    ),
    RouteKey("POST", f"{REPOSITORY}/refresh"): PermissionRow(EDITOR, (404,), (Action.CHANGE_REPOSITORY,), path=ABSENT),
    RouteKey("DELETE", REPOSITORY): PermissionRow(EDITOR, (404,), (Action.REMOVE_REPOSITORY,), path=ABSENT),
    RouteKey("GET", f"{REPOSITORY}/charts"): PermissionRow(
        VIEWER_OR_EDITOR, (404,), (Action.VIEW_REPOSITORY,), path=ABSENT
    ),
    RouteKey("GET", f"{REPOSITORY}/charts/{{chart}}/versions"): PermissionRow(
        VIEWER_OR_EDITOR, (404,), (Action.VIEW_REPOSITORY,), path=ABSENT | {"chart": "c"}
    ),
    RouteKey("GET", f"{REPOSITORY}/charts/{{chart}}/versions/{{version}}"): PermissionRow(
        VIEWER_OR_EDITOR, (404,), (Action.VIEW_REPOSITORY,), path=ABSENT | {"chart": "c", "version": "1.0.0"}
    ),
    RouteKey("GET", "/api/charts"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("POST", "/api/charts"): PermissionRow(EDITOR, (422,), (Action.UPLOAD,), _chart),
    RouteKey("GET", ARCHIVE): PermissionRow(VIEWER_OR_EDITOR, (200,), (Action.VIEW_CHART,)),
    RouteKey("DELETE", ARCHIVE): PermissionRow(EDITOR, (404,), (Action.DELETE_CHART,), path=ABSENT),
    **{
        RouteKey("GET", f"{prefix}/{{namespace}}/{tail}"): PermissionRow(
            VIEWER_OR_EDITOR,
            (200,),
            (Action.LIST_CHARTS if tail == "index.yaml" else Action.VIEW_CHART,),
            path=CHART_FILE,
        )
        for prefix in ("/api/charts", "/helmrepo")
        for tail in ("index.yaml", *(f"{{name}}{file}{end}" for file in ("", "/{file}") for end in CHART_FILES))
    },
    RouteKey("GET", "/api/discovery/services"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("GET", "/api/namespaces"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("GET", "/api/permissions"): PermissionRow(ANY_ACCOUNT, (200,), request=_query),
    RouteKey("GET", "/api/session"): PermissionRow(ANY_ACCOUNT, (200,)),
    RouteKey("DELETE", "/api/session"): PermissionRow(ANY_ACCOUNT, (204,)),
    RouteKey("GET", "/api/stream"): PermissionRow(ANY_ACCOUNT, (200,)),
    **{
        RouteKey(method, f"{XAPP_PATH}/{tail}"): PermissionRow(
            EDITOR, (404,), (PROXY_ACTIONS.get(method, Action.PROXY),), path=SERVICE
        )
        for method in ("GET", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", WEBSOCKET)
        for tail in ("proxy/{service}/{port}", "proxy/{service}/{port}/{path:path}", "api", "api/{path:path}")
    },
}

LISTS_OF_A_NAMESPACE: Final[dict[RouteKey, PermissionRow]] = {
    RouteKey("GET", path): PermissionRow(VIEWER_OR_EDITOR, (200,), (action,), _query)
    for path, action in {
        "/api/xapps": Action.LIST,
        "/api/stream": Action.LIST,
        "/api/repositories": Action.LIST_REPOSITORIES,
        "/api/charts": Action.LIST_CHARTS,
        "/api/discovery/services": Action.LIST_SERVICES,
    }.items()
}
"""Lists that leave out what the caller may not see, when the query names a namespace."""
