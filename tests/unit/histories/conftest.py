"""The settings of the operators in histories."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fakes.histories import make_settings
from xapp_operator.config import Settings

MEMORY_FOLDER = Path("/dev/shm")


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings with a chart cache that all histories share; each step makes and removes a folder in it."""
    if not os.access(MEMORY_FOLDER, os.W_OK):
        yield make_settings(tmp_path_factory.mktemp("cache"))
        return
    with tempfile.TemporaryDirectory(prefix="xapp-operator-tests-", dir=MEMORY_FOLDER) as folder:
        yield make_settings(Path(folder))
