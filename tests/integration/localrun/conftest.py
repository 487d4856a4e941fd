"""One `make run` for the tests of a module."""

from collections.abc import Iterator

import pytest

from tests.integration.localrun.runs import Run, run_samples
from tests.localcluster import Binaries


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Run]:
    """Everything running, both samples Ready; ``binaries`` has the programs built before the clock runs."""
    assert binaries
    with run_samples(tmp_path_factory.mktemp("run")) as one:
        yield one
