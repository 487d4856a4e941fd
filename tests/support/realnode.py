"""Whether this run of tests can have real nodes, and their programs: asked once, before the first test's clock runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.localcluster import Binaries, BuildFailed
from tests.localcluster.choice import VARIABLE
from tests.localcluster.realnode.detect import why_not
from tests.localcluster.tools import ALL_TOOLS
from tests.support.programs import asked_for

_UNBUILT = pytest.StashKey[str]()


def why_no_real_node(config: pytest.Config) -> str | None:
    """Return in one line why there are no real nodes, None when there can be some."""
    if os.environ.get(VARIABLE) == "simulated":
        return "NODE=simulated asks for no real node"
    return config.stash.get(_UNBUILT, None) or why_not(Path.cwd())


def have_programs(session: pytest.Session, *, for_fixtures: Iterable[str]) -> None:
    """Make what real nodes and their containers need, for tests that ask for one of the fixtures and can have it.

    What does not build is a reason from then on. For the hook pytest_collection_finish.
    """
    if not asked_for(session, for_fixtures) or why_no_real_node(session.config):
        return
    try:
        Binaries().resolve(ALL_TOOLS)
    except BuildFailed as error:
        session.config.stash[_UNBUILT] = str(error).partition("\n")[0]
