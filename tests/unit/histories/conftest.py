"""The settings of the operators in histories, and what makes histories fast."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.support.fakes.histories import make_settings
from tests.support.work_folder import work_folder
from xapp_operator.config.settings import Settings

YOUNG_OBJECTS_MAX = 50_000
"""Objects until the next garbage collection: about three histories. By default there are hundreds in each of them."""


@pytest.fixture(scope="package", autouse=True)
def rare_collections() -> Iterator[None]:
    """Let the garbage collector run less often: it would look at the objects of a history again and again."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS_MAX)
    yield
    gc.set_threshold(*before)


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings with a chart cache that all histories share; each step makes and removes a folder in it."""
    with work_folder(tmp_path_factory.mktemp("cache")) as folder:
        yield make_settings(folder)


@pytest.fixture
def narrow(settings: Settings) -> Settings:
    """Settings with one place for helm."""
    return settings.model_copy(update={"helm_concurrency": 1})
