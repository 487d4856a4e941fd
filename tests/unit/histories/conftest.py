"""The settings of the operators in histories."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.support.fakes.histories import make_settings
from xapp_operator.config import Settings


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings with a chart cache that all histories share; what was loaded before is garbage for none of them."""
    gc.collect()
    gc.freeze()
    yield make_settings(tmp_path_factory.mktemp("cache"))
    gc.unfreeze()
