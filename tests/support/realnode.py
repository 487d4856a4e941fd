"""Whether this test run can have real nodes, and the programs for them, decided once before the first test."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.localcluster import Binaries, BuildFailed
from tests.localcluster.node_choice import NODE_VARIABLE
from tests.localcluster.realnode.prerequisites import real_node_obstacle
from tests.localcluster.tools import ALL_TOOLS
from tests.support.tools import any_test_uses

_BUILD_ERROR = pytest.StashKey[str]()


def real_node_unavailable(config: pytest.Config) -> str | None:
    """Return in one line why this run has no real nodes, or None if it can have them."""
    if os.environ.get(NODE_VARIABLE) == "simulated":
        return "NODE=simulated asks for no real node"
    return config.stash.get(_BUILD_ERROR, None) or real_node_obstacle(Path.cwd())


def build_real_node_tools(session: pytest.Session, *, for_fixtures: Iterable[str]) -> None:
    """Build the programs of real nodes and their containers if a test uses one of the fixtures.

    A failed build becomes the reason why there are no real nodes. For the hook pytest_collection_finish.
    """
    if not any_test_uses(session, for_fixtures) or real_node_unavailable(session.config):
        return
    try:
        Binaries().resolve(ALL_TOOLS)
    except BuildFailed as error:
        session.config.stash[_BUILD_ERROR] = str(error).partition("\n")[0]
