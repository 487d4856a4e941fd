"""What callers do, and the rights in the cluster that each action needs: the one table behind routes and permissions.

A route requires an action (`Caller.require`), and `GET /api/permissions` reports all of them, so that a page never
offers what a route refuses. To give a route another action, add it here, and its row in
`tests/integration/gateway/permission_matrix.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from xapp_operator.errors import MissingRight
from xapp_operator.kube.resources import (
    CHART_ARCHIVES,
    CHART_REPOSITORIES,
    EVENTS,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICES,
    XAPPS,
    Resource,
)


class Right(NamedTuple):
    """A verb on a resource, as in the rules of a Role."""

    verb: str
    resource: Resource = XAPPS
    subresource: str | None = None

    def at(self, namespace: str | None, name: str | None = None) -> Permission:
        """Return this right in a namespace, or in all; `name` is the xApp of the request."""
        return Permission(
            self.verb,
            namespace if self.resource.namespaced else None,
            self.resource,
            self.subresource,
            name if self.resource == XAPPS and self.verb not in _VERBS_WITHOUT_NAME else None,
        )


class Permission(NamedTuple):
    """What a caller needs for a request; `namespace` None means all namespaces, and `name` None any object."""

    verb: str
    namespace: str | None
    resource: Resource = XAPPS
    subresource: str | None = None
    name: str | None = None

    @property
    def what(self) -> str:
        """Return it in words: `get pods/log`."""
        kind = self.resource.group_resource
        return f"{self.verb} {kind}" if self.subresource is None else f"{self.verb} {kind}/{self.subresource}"

    def as_missing(self) -> MissingRight:
        return MissingRight(self.verb, self.resource.group, self.resource.plural, self.subresource)


_VERBS_WITHOUT_NAME: Final = frozenset({"create", "list"})
"""RBAC cannot limit these to some names."""


class Action(StrEnum):
    """What a caller does, by the word of the API."""

    LIST = "list"
    VIEW = "view"
    DEPLOY = "deploy"
    UPLOAD = "upload"
    LIST_NAMESPACES = "listNamespaces"
    CREATE_NAMESPACE = "createNamespace"
    UPGRADE = "upgrade"
    CONFIGURE = "configure"
    ROLLBACK = "rollback"
    ACT = "act"
    UNINSTALL = "uninstall"
    LOGS = "logs"
    EVENTS = "events"
    RELEASE = "release"
    PROXY = "proxy"
    PROXY_CREATE = "proxyCreate"
    PROXY_UPDATE = "proxyUpdate"
    PROXY_PATCH = "proxyPatch"
    PROXY_DELETE = "proxyDelete"
    LIST_REPOSITORIES = "listRepositories"
    VIEW_REPOSITORY = "viewRepository"
    ADD_REPOSITORY = "addRepository"
    STORE_CREDENTIALS = "storeCredentials"
    CHANGE_REPOSITORY = "changeRepository"
    REMOVE_REPOSITORY = "removeRepository"
    LIST_CHARTS = "listCharts"
    VIEW_CHART = "viewChart"
    DELETE_CHART = "deleteChart"
    LIST_SERVICES = "listServices"
    ADOPT = "adopt"


_VIEW: Final = Right("get")

NEEDED_RIGHTS: Final[Mapping[Action, tuple[Right, ...]]] = MappingProxyType(
    {
        Action.LIST: (Right("list"),),
        Action.VIEW: (_VIEW,),
        Action.DEPLOY: (Right("create"),),
        Action.UPLOAD: (Right("create", CHART_ARCHIVES),),
        Action.LIST_NAMESPACES: (Right("list", NAMESPACES),),
        Action.CREATE_NAMESPACE: (Right("create", NAMESPACES),),
        Action.UPGRADE: (_VIEW, Right("update")),
        Action.CONFIGURE: (_VIEW, Right("update")),
        Action.ROLLBACK: (_VIEW, Right("patch")),
        Action.ACT: (_VIEW, Right("patch")),
        Action.UNINSTALL: (_VIEW, Right("delete")),
        Action.LOGS: (_VIEW, Right("list", PODS), Right("get", PODS, "log")),
        Action.EVENTS: (_VIEW, Right("list", EVENTS)),
        Action.RELEASE: (_VIEW, Right("get", SECRETS), Right("list", SECRETS)),
        Action.PROXY: (_VIEW, Right("get", SERVICES, "proxy")),
        Action.PROXY_CREATE: (_VIEW, Right("create", SERVICES, "proxy")),
        Action.PROXY_UPDATE: (_VIEW, Right("update", SERVICES, "proxy")),
        Action.PROXY_PATCH: (_VIEW, Right("patch", SERVICES, "proxy")),
        Action.PROXY_DELETE: (_VIEW, Right("delete", SERVICES, "proxy")),
        Action.LIST_REPOSITORIES: (Right("list", CHART_REPOSITORIES),),
        Action.VIEW_REPOSITORY: (Right("get", CHART_REPOSITORIES),),
        Action.ADD_REPOSITORY: (Right("create", CHART_REPOSITORIES),),
        Action.STORE_CREDENTIALS: (Right("create", SECRETS),),
        Action.CHANGE_REPOSITORY: (Right("get", CHART_REPOSITORIES), Right("update", CHART_REPOSITORIES)),
        Action.REMOVE_REPOSITORY: (Right("delete", CHART_REPOSITORIES),),
        Action.LIST_CHARTS: (Right("list", CHART_ARCHIVES),),
        Action.VIEW_CHART: (Right("get", CHART_ARCHIVES),),
        Action.DELETE_CHART: (Right("delete", CHART_ARCHIVES),),
        Action.LIST_SERVICES: (Right("list", SERVICES),),
        Action.ADOPT: (Right("create"),),
    }
)
"""The rights of each action. What else a route reads with the caller's token is left out if they may not see it."""


def needed_permissions(*actions: Action, namespace: str | None, name: str | None = None) -> tuple[Permission, ...]:
    """Return what `actions` need in a namespace, or in all namespaces, each once; `name` is the xApp they are about."""
    rights = dict.fromkeys(right for action in actions for right in NEEDED_RIGHTS[action])
    return tuple(right.at(namespace, name) for right in rights)
