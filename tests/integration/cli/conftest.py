"""A control plane with an operator and two gateways for the tests of this folder: one asks for tokens, one does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.gateway.caller_factory import CallerFactory, create_token
from tests.integration.gateway.conftest import settings_for
from tests.localcluster import Cluster
from tests.support.apiserver import ApiServer
from tests.support.charts import chart_archive
from tests.support.command_line import CommandLine, Finished
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.operator import OperatorProcess
from tests.support.own_cluster import api, cluster, operator, operator_settings, prepared_cluster

__all__ = ["api", "cluster", "operator", "operator_settings", "prepared_cluster"]

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: registry.k8s.io/pause:3.10}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: {{ .Release.Name }}}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-probe
  annotations: {helm.sh/hook: test}
spec: {restartPolicy: Never, containers: [{name: probe, image: registry.k8s.io/pause:3.10}]}
"""
NAME = "acme-ran-hello"


@pytest.fixture(scope="package")
def gateway(cluster: Cluster, api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    """A gateway that treats every caller as the administrator."""
    assert api
    with serve_gateway(settings_for(cluster, tmp_path_factory.mktemp("gateway"))) as one:
        yield one


@pytest.fixture(scope="package")
def gateway_kubeconfig(cluster: Cluster, api: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig of the gateway's service account."""
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": create_token(api, "xapp-gateway", namespace="xapp-operator-system")}
    path = tmp_path_factory.mktemp("guarded") / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


@pytest.fixture(scope="package")
def authenticated_gateway(cluster: Cluster, gateway_kubeconfig: Path) -> Iterator[GatewayServer]:
    """A gateway that requires a token and runs as its service account of manifests/base."""
    changes = {"KUBECONFIG": str(gateway_kubeconfig), "auth": "kubernetes"}
    with serve_gateway(settings_for(cluster, gateway_kubeconfig.parent, **changes)) as one:
        yield one


@pytest.fixture
def callers(authenticated_gateway: GatewayServer, api: ApiServer, namespace: str) -> CallerFactory:
    return CallerFactory(authenticated_gateway, api, namespace)


@pytest.fixture
def xapp(gateway: GatewayServer, operator: OperatorProcess, namespace: str, tmp_path: Path) -> Iterator[CommandLine]:
    """`xapp` at the gateway that asks nobody. The namespace is empty again after the test."""
    assert operator.running
    line = CommandLine(tmp_path, {"XAPP_GATEWAY": gateway.url})
    yield line
    names = line.run("list", "-n", namespace, "-o", "name").out.split()
    if names:
        line.run("delete", *names, "--yes", "--wait")


@pytest.fixture
def signed_out(authenticated_gateway: GatewayServer, tmp_path: Path) -> CommandLine:
    """`xapp` at the gateway that asks for a token, without one."""
    return CommandLine(tmp_path, {"XAPP_GATEWAY": authenticated_gateway.url})


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A packaged chart with a Deployment, a Service and a test."""
    path = tmp_path / "hello-0.1.0.tgz"
    path.write_bytes(chart_archive({"values.yaml": "# how many\nreplicas: 1\n", "templates/all.yaml": DEPLOYMENT}))
    return path


def deploy(line: CommandLine, chart: Path, namespace: str, *more: str) -> Finished:
    """Deploy NAME from a file."""
    identity = ["--name", "hello", "--organization", "acme", "--team", "ran", "--version", "0.1.0", "--owner", "jane"]
    return line.run("deploy", *identity, "-n", namespace, "--file", str(chart), *more)
