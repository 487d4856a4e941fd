"""Callers of a gateway that asks for tokens: who they are, what they may do, over TLS too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.cli.conftest import NAME, deploy
from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.localcluster.pki import Authority
from tests.support.apiserver import ApiServer
from tests.support.command_line import CommandLine, plain
from tests.support.gateway import GatewayServer, serve_gateway

pytestmark = pytest.mark.integration


def test_without_a_token_the_answer_is_how_to_sign_in(signed_out: CommandLine) -> None:
    done = signed_out.run("list", "-A")
    assert done.code == 4
    assert "xapp login" in done.err


def test_a_token_from_the_environment(signed_out: CommandLine, callers: CallerFactory, chart: Path) -> None:
    token = callers.create_account("jane", "edit")
    done = deploy(signed_out, chart, callers.namespace, "--token", token)
    assert done.code == 0, done.err
    listed = signed_out.run("list", "-o", "name", XAPP_TOKEN=token)
    assert listed.out.split() == [f"{callers.namespace}/{NAME}"]
    assert signed_out.run("list", XAPP_TOKEN="unknown").code == 4
    signed_out.run("delete", f"{callers.namespace}/{NAME}", "--yes", XAPP_TOKEN=token)


def test_a_missing_right_is_named(signed_out: CommandLine, callers: CallerFactory) -> None:
    token = callers.create_account("viewer", "view")
    done = signed_out.run("delete", f"{callers.namespace}/{NAME}", "--yes", XAPP_TOKEN=token)
    assert done.code == 4
    assert "missing right: delete on xapps.xapp-operator.io" in done.err
    assert token not in done.err


def test_login_asks_on_a_terminal_and_does_not_show_the_token(
    signed_out: CommandLine, authenticated_gateway: GatewayServer, callers: CallerFactory
) -> None:
    token = callers.create_account("jane", "view")
    line = CommandLine(signed_out.home, {})
    done = line.run_on_terminal("login", authenticated_gateway.url, "-n", callers.namespace, answers={"Token:": token})
    assert done.code == 0, done.out
    assert f"as system:serviceaccount:{callers.namespace}:jane" in plain(done.out)
    assert token not in done.out
    stored = line.home / ".config" / "xapp" / "login.json"
    assert stored.stat().st_mode & 0o077 == 0
    who = line.run("whoami")
    assert f"{callers.namespace}:jane" in who.out
    assert token not in who.out + who.err
    assert line.run("get", NAME).code == 3  # in the namespace of the login
    assert line.run("logout").code == 0
    assert not stored.exists()


def test_the_token_of_the_kubeconfig_signs_in(
    signed_out: CommandLine, callers: CallerFactory, cluster: Cluster
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": callers.create_account("jane", "view")}
    path = signed_out.home / "kubeconfig"
    path.write_text(json.dumps(config))
    assert ":jane" in signed_out.run("whoami", "-o", "name", KUBECONFIG=str(path)).out


def test_the_gateway_is_found_in_the_cluster_of_the_kubeconfig(
    tmp_path: Path, cluster: Cluster, api: ApiServer
) -> None:
    assert api
    cluster.kubectl("apply", "-f", "-", input=json.dumps(SERVICE))
    try:
        url = CommandLine(tmp_path, {"KUBECONFIG": str(cluster.kubeconfig)}).run("open", "--print").out
        assert url.endswith(":31777\n")
        assert "127.0.0.1" not in url
    finally:
        cluster.kubectl("delete", "service", "xapp-gateway", "-n", "xapp-operator-system")


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "xapp-gateway", "namespace": "xapp-operator-system"},
    "spec": {"type": "NodePort", "ports": [{"name": "http", "port": 31315, "nodePort": 31777}]},
}


def test_kubectl_finds_it_by_name(authenticated_gateway: GatewayServer, cluster: Cluster, tmp_path: Path) -> None:
    scripts = {"kubectl-xapp": "main", "kubectl_complete-xapp": "complete_for_kubectl"}
    (tmp_path / "bin").mkdir()
    for script, function in scripts.items():
        plugin = tmp_path / "bin" / script
        program = f"import sys\nfrom xapp_operator.cli.main import {function}\nsys.exit({function}())\n"
        plugin.write_text(f"#!{sys.executable}\n{program}")
        plugin.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}

    def kubectl(*arguments: str) -> str:
        command = [str(cluster.kubectl_path), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = kubectl("xapp", "version", "--gateway", authenticated_gateway.url)
    assert f"at {authenticated_gateway.url}" in shown
    # What kubectl's own completion asks for.
    assert kubectl("__complete", "xapp", "list", "-o", "j").splitlines()[:2] == ["json", ":4"]


def test_https_needs_the_authority(
    cluster: Cluster, gateway_kubeconfig: Path, callers: CallerFactory, tmp_path: Path
) -> None:
    token = callers.create_account("jane", "view")
    pair = Authority(tmp_path / "pki").issue("gateway", common_name="gateway")
    authority = tmp_path / "pki" / "ca.crt"
    served = {"tls_cert": pair.certificate, "tls_key": pair.key}
    changes = {"KUBECONFIG": str(gateway_kubeconfig), "auth": "kubernetes", **served}
    with ExitStack() as running:
        gateway = running.enter_context(serve_gateway(settings_for(cluster, tmp_path, **changes)))
        line = CommandLine(tmp_path, {"XAPP_GATEWAY": gateway.url, "XAPP_TOKEN": token})
        refused = line.run("whoami")
        assert refused.code == 1
        assert "--ca FILE" in refused.err
        assert ":jane" in line.run("whoami", "--ca", str(authority)).out
        login = CommandLine(tmp_path, {}).run(
            "login", gateway.url, "--ca", str(authority), "--token-stdin", stdin=f"{token}\n"
        )
        assert login.code == 0, login.err
        assert CommandLine(tmp_path, {}).run("whoami").code == 0
