"""Invalid settings end the start with a message, never with a stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.localcluster import Cluster
from tests.support.operator import OperatorProcess

pytestmark = pytest.mark.integration

START_SECONDS = 60.0


def _refused(cluster: Cluster, folder: Path, settings: Mapping[str, str]) -> str:
    environment = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig),
        "XAPP_ALLOW_OPERATOR_IDENTITY": "true",
        "XAPP_LEADER_ELECTION": "false",
        "XAPP_HELM": str(cluster.helm_path),
        "XAPP_CACHE_DIR": str(folder / "cache"),
        "XAPP_PROBE_HOST": "127.0.0.1",
        "XAPP_PROBE_PORT": "0",
        "XAPP_METRICS_PORT": "0",
        **settings,
    }
    program = Path(sys.executable).parent / "xapp-operator"
    done = subprocess.run(
        [program, "run"], env=environment, capture_output=True, text=True, timeout=START_SECONDS, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"XAPP_CACHE_DIR": "/proc/none"}, "XAPP_CACHE_DIR"),
        ({"XAPP_PROBE_HOST": "192.0.2.1"}, "host and port"),
        ({"XAPP_HELM": "/bin/true"}, "XAPP_HELM"),
    ],
)
def test_start_is_refused(
    cluster: Cluster, operator: OperatorProcess, tmp_path: Path, settings: dict[str, str], word: str
) -> None:
    assert operator.running  # its CRDs exist
    assert word in _refused(cluster, tmp_path, settings)
