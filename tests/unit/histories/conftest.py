"""The settings of the operators in histories."""

from __future__ import annotations

import pytest

from tests.support.fakes.histories import make_settings
from xapp_operator.config import Settings


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings with a chart cache that all histories share."""
    return make_settings(tmp_path_factory.mktemp("cache"))
