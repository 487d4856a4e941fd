"""Threat: tenants upload so many charts that gateway and operator need the memory of all of them.

Both watch the metadata of ChartArchives. A process with both watches runs behind a relay that counts what it receives.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.integration.kube.tcp_relay import TcpRelay
from tests.localcluster import Cluster
from tests.support.apiserver import ARCHIVES, NAMESPACES, ApiServer

pytestmark = pytest.mark.integration

COUNT: Final = 100
ARCHIVE_BYTES: Final = 640 * 1024
PROCESS_SECONDS: Final = 120.0
RECEIVED_PER_ARCHIVE_MAX: Final = 8 * 1024
"""Bytes over the network for one archive and both watches, with TLS and managed fields."""

WATCH_ARCHIVES: Final = """
import asyncio, json
from pathlib import Path
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.catalog.archive_store import watch_archives
from xapp_operator.kube.client import KubeClient
from xapp_operator.reconcile.inputs.chart_archives import ChartArchives

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024

async def main():
    settings, known = Settings(), []
    async with await KubeClient.connect(settings) as kube:
        await kube.server_version()
        before = peak()
        archives = ChartArchives(kube, settings, on_change=lambda *key: known.append(key))
        await archives.start()
        async with watch_archives(kube, settings) as watched:
            await watched.synced.wait()
            print(json.dumps({"operator": len(known), "gateway": len(watched.store), "growth": peak() - before}))
        await archives.stop()

asyncio.run(main())
"""


@pytest.fixture
def many_archives(api: ApiServer) -> Iterator[int]:
    """Many charts in one namespace; gives their bytes in all."""
    namespace = f"many-{os.urandom(4).hex()}"
    api.create(NAMESPACES, {"metadata": {"name": namespace}})
    content = base64.b64encode(random.Random(1).randbytes(ARCHIVE_BYTES)).decode()
    for number in range(COUNT):
        spec = {"archive": content, "digest": f"sha256:{number:064x}", "chart": {"name": "big", "version": "0.1.0"}}
        metadata = {"name": f"big-{number}", "labels": {"xapp-operator.io/chart": "big"}}
        manifest = {"apiVersion": "xapp-operator.io/v1alpha1", "kind": "ChartArchive"}
        api.create(ARCHIVES.format(namespace), {**manifest, "metadata": metadata, "spec": spec})
    yield COUNT * ARCHIVE_BYTES
    api.delete(ARCHIVES.format(namespace))
    api.delete(f"{NAMESPACES}/{namespace}")


async def test_archives_cost_neither_process_memory_in_proportion_to_their_bytes(
    cluster: Cluster, many_archives: int, tmp_path: Path
) -> None:
    async with TcpRelay(cluster.kubeconfig, folder=tmp_path) as relay:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WATCH_ARCHIVES),
            env={**os.environ, "KUBECONFIG": str(relay.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await asyncio.wait_for(process.communicate(), PROCESS_SECONDS)
        assert process.returncode == 0
        found = json.loads(output)
        assert min(found["operator"], found["gateway"]) >= COUNT
        assert relay.bytes_received < found["gateway"] * RECEIVED_PER_ARCHIVE_MAX
        assert found["growth"] < many_archives / 20
