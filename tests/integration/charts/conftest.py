"""The real registry and the real Helm."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.localcluster import Binaries
from tests.support.oci_registry import LocalRegistry


class Helm:
    """Runs helm with its own folders."""

    def __init__(self, program: Path, home: Path) -> None:
        self._program = program
        self._environment = {"HOME": str(home), "PATH": os.environ["PATH"], "HELM_PLUGINS": str(home)}

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, *arguments], env=self._environment, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture(scope="session")
def helm(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(binaries.resolve(["helm"])["helm"], tmp_path_factory.mktemp("helm"))


@pytest.fixture
def registry(binaries: Binaries) -> Iterator[LocalRegistry]:
    with LocalRegistry(binaries.resolve(["registry"])["registry"]) as one:
        yield one
