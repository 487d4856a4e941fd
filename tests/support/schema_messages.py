"""Schemas, values that break them, what helm says, and the messages of the gateway and of the page, by path."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.localcluster.cluster import ROOT

SCHEMA_MESSAGES: Final[list[dict[str, Any]]] = json.loads(
    (ROOT / "operator/dashboard/src/lib/schema/schemaMessages.json").read_text()
)
