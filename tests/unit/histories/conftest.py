"""The settings of the operators in histories."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fakes.histories import make_settings
from tests.support.work_folder import work_folder
from xapp_operator.config import Settings


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings with a chart cache that all histories share; each step makes and removes a folder in it."""
    with work_folder(tmp_path_factory.mktemp("cache")) as folder:
        yield make_settings(folder)
