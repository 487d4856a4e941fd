"""Builds the programs that tests need before the first test: on a new machine that takes minutes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.localcluster import Binaries


def any_test_uses(session: pytest.Session, fixtures: Iterable[str]) -> bool:
    """Return whether a collected test uses one of the fixtures."""
    wanted = set(fixtures)
    return not session.config.option.collectonly and any(
        wanted & set(getattr(item, "fixturenames", ())) for item in session.items
    )


def build_tools(session: pytest.Session, names: Iterable[str], *, for_fixtures: Iterable[str]) -> None:
    """Build missing programs if a test uses one of the fixtures; for the hook pytest_collection_finish.

    Raises BuildFailed.
    """
    if any_test_uses(session, for_fixtures):
        Binaries().resolve(names)
