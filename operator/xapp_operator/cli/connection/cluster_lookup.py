"""Finds the gateway in the cluster of a kubeconfig: Service xapp-gateway, its node port, the address of a node."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Final

import httpx

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.cli.connection.kubeconfig import Kubeconfig
from xapp_operator.cli.errors import CliError, NotAllowed
from xapp_operator.cli.http.tls import tls_context

LOOKUP_SECONDS: Final = 5.0
SERVICE_PATH: Final = "/api/v1/namespaces/xapp-operator-system/services/xapp-gateway"
NODES_PATH: Final = "/api/v1/nodes?limit=20"
ADDRESS_TYPES: Final = ("ExternalIP", "InternalIP", "Hostname")


def find_gateway(kubeconfig: Kubeconfig, *, token: str | None, seconds: float = LOOKUP_SECONDS) -> str | None:
    """Return the URL of the gateway in this cluster, or None if none is found.

    Args:
        kubeconfig: the cluster.
        token: the bearer token of its user, if it has one.
        seconds: how long each answer may take.

    Raises:
        NotAllowed: the user may not look it up.
    """
    is_forbidden = False
    with (
        contextlib.suppress(httpx.HTTPError, httpx.InvalidURL, CliError, OSError, ValueError, ImportError),
        _client(kubeconfig, token=token, seconds=seconds) as client,
    ):
        answer = client.get(SERVICE_PATH)
        is_forbidden = answer.status_code == HTTPStatus.FORBIDDEN
        if (service := _document(answer)) is not None:
            return _address(client, kubeconfig, service)
    if is_forbidden:
        raise NotAllowed("looked for the gateway in the cluster: forbidden; set --gateway or XAPP_GATEWAY")
    return None


def _address(client: httpx.Client, kubeconfig: Kubeconfig, service: JsonObject) -> str | None:
    port = _port(service)
    if (host := _load_balancer(service)) and port:
        return _url(port, host, integer(port, "port"))
    if not integer(port, "nodePort"):
        return None
    nodes = _document(client.get(NODES_PATH))
    host = _node_address(nodes) if nodes is not None else httpx.URL(kubeconfig.server).host
    return _url(port, host, integer(port, "nodePort")) if host else None


def _document(answer: httpx.Response) -> JsonObject | None:
    document = answer.json() if answer.is_success else None
    return document if isinstance(document, dict) else None


def _port(service: JsonObject) -> JsonObject:
    ports = items(obj(service, "spec"), "ports")
    return next((port for port in ports if text(port, "name") in {"https", "http"}), ports[0] if ports else {})


def _load_balancer(service: JsonObject) -> str:
    for entry in items(obj(obj(service, "status"), "loadBalancer"), "ingress"):
        return text(entry, "ip") or text(entry, "hostname")
    return ""


def _node_address(nodes: JsonObject) -> str:
    def is_ready(node: JsonObject) -> bool:
        conditions = items(obj(node, "status"), "conditions")
        return any(text(each, "type") == "Ready" and text(each, "status") == "True" for each in conditions)

    for node in sorted(items(nodes, "items"), key=lambda node: not is_ready(node)):
        addresses = {text(each, "type"): text(each, "address") for each in items(obj(node, "status"), "addresses")}
        for kind in ADDRESS_TYPES:
            if addresses.get(kind):
                return addresses[kind]
    return ""


def _url(port: JsonObject, host: str, number: int) -> str:
    secure = "https" in {text(port, "name"), text(port, "appProtocol")}
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{shown}:{number}"


@contextlib.contextmanager
def _client(kubeconfig: Kubeconfig, *, token: str | None, seconds: float) -> Iterator[httpx.Client]:
    context = tls_context(kubeconfig.ca_file, ca_data=kubeconfig.ca_data, verify=not kubeconfig.is_insecure)
    headers = {}
    if certificate := kubeconfig.client_certificate():
        with _private_file("".join(certificate)) as path:
            context.load_cert_chain(str(path))
    elif token is not None:
        headers["Authorization"] = f"Bearer {token}"
    with httpx.Client(base_url=kubeconfig.server, verify=context, headers=headers, timeout=seconds) as client:
        yield client


@contextlib.contextmanager
def _private_file(content: str) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix="xapp-")  # 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(content)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
