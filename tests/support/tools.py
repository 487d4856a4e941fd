"""Programs that tests need, made before the first test's clock runs: on a new machine that takes minutes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.localcluster import Binaries


def any_test_uses(session: pytest.Session, fixtures: Iterable[str]) -> bool:
    """Tell whether a test that will run asks for one of the fixtures."""
    wanted = set(fixtures)
    return not session.config.option.collectonly and any(
        wanted & set(getattr(item, "fixturenames", ())) for item in session.items
    )


def build_tools(session: pytest.Session, names: Iterable[str], *, for_fixtures: Iterable[str]) -> None:
    """Make what is missing for tests that ask for one of the fixtures; for the hook pytest_collection_finish.

    Raises BuildFailed.
    """
    if any_test_uses(session, for_fixtures):
        Binaries().resolve(names)
