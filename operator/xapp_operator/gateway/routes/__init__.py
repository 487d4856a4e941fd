"""The routes, one module for each thing that the API speaks of. `ROUTERS` and `TAGS` are all there are."""

from __future__ import annotations

from typing import Final

from xapp_operator.gateway.routes import deployment, docs, probes, xapps

ROUTERS: Final = (xapps.router, deployment.router, docs.router, probes.router)

TAGS: Final = (
    {"name": "xApps", "description": "What is deployed, and how it is."},
    {"name": "Deployment", "description": "Deploy, upgrade in place, remove."},
    {"name": "Gateway", "description": "Description and probes of the gateway itself."},
)
