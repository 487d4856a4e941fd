"""A dry run renders a foreign chart with the token of the caller, which it holds alone and only as long as it runs.

The process can connect to the port of the API server, and can read its own folder, its chart and the system's programs.
"""

from __future__ import annotations

import base64
import json
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.support.charts import chart_archive
from xapp_operator.common.sandboxed_exec import landlock_version
from xapp_operator.config.settings import Settings
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.user_kubeconfig import connection_port, write_kubeconfig
from xapp_operator.helm.requests import DryRunRequest
from xapp_operator.kube.credentials import ConnectionInfo

pytestmark = pytest.mark.skipif(landlock_version() < 6, reason="needs Landlock as of Linux 6.12")

TOKEN: Final = "token-of-the-caller"
SCRIPT: Final = """#!/usr/bin/bash
report() {{
  echo "arguments: $*"
  env
  stat -c 'mode: %a' "$KUBECONFIG"
  cat "$KUBECONFIG"
  for file in '{token}' '{other}'; do cat "$file" 2>/dev/null && echo "read $file"; done
  for port in {api} {foreign}; do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && echo "reached $port"; done
}}
printf '{{"manifest": "%s", "info": {{"notes": "%s"}}}}' "$(report "$@" | base64 -w0)" "$KUBECONFIG"
"""


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """The port of the API server, and another one on the same host."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        yield listening[0].getsockname()[1], listening[1].getsockname()[1]


def connection(port: int) -> ConnectionInfo:
    return ConnectionInfo(
        server=f"https://127.0.0.1:{port}",
        token="token-of-the-gateway",
        ca_data="ca",
        certificate_data="certificate-of-the-gateway",
        private_key_data="key-of-the-gateway",
        insecure=False,
        proxy=None,
    ).with_token(TOKEN)


async def test_a_dry_run_holds_the_token_of_its_caller_and_no_other_credential(
    tmp_path: Path, ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAPP_SESSION_SECRET", "secret-of-the-gateway")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    pod_token, other = tmp_path / "token", tmp_path / "other.tgz"
    for each in (pod_token, other):
        each.write_text("of-the-gateway")
    program, chart = tmp_path / "helm", tmp_path / "chart.tgz"
    program.write_text(SCRIPT.format(token=pod_token, other=other, api=ports[0], foreign=ports[1]))
    program.chmod(0o755)
    chart.write_bytes(chart_archive())
    engine = HelmEngine(Settings(helm=str(program), cache_dir=tmp_path / "cache"))
    rendered = await engine.dry_run(
        DryRunRequest(name="a", namespace="n", chart=chart, values={}, connection=connection(ports[0]))
    )
    report = base64.b64decode(rendered.manifest).decode()
    arguments = next(line for line in report.splitlines() if line.startswith("arguments: "))
    assert "--dry-run=server" in arguments
    assert TOKEN not in arguments
    assert report.count(TOKEN) == 1, "in the kubeconfig, and not in the environment"
    assert "mode: 600" in report
    assert "of-the-gateway" not in report
    assert "192.0.2.1" not in report
    assert f"reached {ports[0]}" in report
    assert f"reached {ports[1]}" not in report
    kubeconfig = Path(rendered.notes)
    assert not kubeconfig.parent.exists(), "the folder with the token is removed"
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and TOKEN in path.read_text()] == []
    assert stat.S_IMODE((tmp_path / "cache" / "helm").stat().st_mode) == 0o700
    engine.close()


def test_the_kubeconfig_of_a_caller_has_nothing_of_the_gateway() -> None:
    written = write_kubeconfig(connection(6443)).decode()
    assert "of-the-gateway" not in written
    assert base64.b64encode(b"certificate-of-the-gateway").decode() not in written
    (user,) = json.loads(written)["users"]
    assert user["user"] == {"token": TOKEN}


@pytest.mark.parametrize(
    ("server", "proxy", "port"),
    [
        ("https://10.0.0.1:6443", None, 6443),
        ("https://api.example.com", None, 443),
        ("http://127.0.0.1:8001", None, 8001),
        ("https://10.0.0.1:6443", "http://proxy.example.com:3128", 3128),
    ],
)
def test_a_dry_run_may_connect_to_the_port_of_the_api_server_or_its_proxy(
    server: str, proxy: str | None, port: int
) -> None:
    info = ConnectionInfo(server, TOKEN, None, None, None, insecure=False, proxy=proxy)
    assert connection_port(info) == port
