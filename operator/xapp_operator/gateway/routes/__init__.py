"""The routes, one module for each part of the API. `ROUTERS` and `TAGS` list all of them."""

from __future__ import annotations

from typing import Final

from xapp_operator.gateway.routes import about, discovery, docs, namespaces, pages, permissions, probes, session
from xapp_operator.gateway.routes.charts import chart_archives, helm_repository, repositories, repository_changes
from xapp_operator.gateway.routes.xapps import (
    actions,
    config,
    deployment,
    logs,
    proxy,
    records,
    release_details,
    releases,
    stream,
)

ROUTERS: Final = (
    records.router,
    config.router,
    releases.router,
    release_details.router,
    actions.router,
    logs.router,
    proxy.router,
    deployment.router,
    namespaces.router,
    repositories.router,
    repository_changes.router,
    helm_repository.router,
    chart_archives.router,
    discovery.router,
    stream.router,
    session.router,
    permissions.router,
    about.router,
    docs.router,
    probes.router,
    pages.router,
)

TAGS: Final = (
    {"name": "xApps", "description": "The deployed xApps and their state."},
    {"name": "Deployment", "description": "Deploy, upgrade and delete xApps."},
    {"name": "Repositories", "description": "Saved chart repositories, their charts and versions."},
    {"name": "Charts", "description": "Uploaded charts, and each namespace as a Helm repository."},
    {"name": "Discovery", "description": "Services and ports of the RIC's components."},
    {"name": "Session", "description": "Sign in, who am I, what may I do, sign out."},
    {"name": "Gateway", "description": "Documentation and probes of the gateway."},
)
