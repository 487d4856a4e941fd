"""The kubeconfig of one user for one helm process: in its folder, and removed with it. Pure."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import urlsplit

from xapp_operator.api.json import JsonObject, encode_json
from xapp_operator.kube.credentials import ConnectionInfo

FILE_NAME: Final = "kubeconfig of the user"  # no chart has a name with blanks
_DEFAULT_PORTS: Final = {"https": 443, "http": 80, "socks5": 1080}


def write_kubeconfig(connection: ConnectionInfo) -> bytes:
    """Return a kubeconfig with which helm acts as the user of `connection`, and as nobody else."""
    cluster: dict[str, object] = {
        "server": connection.server,
        "certificate-authority-data": _base64(connection.ca_data) if not connection.insecure else None,
        "insecure-skip-tls-verify": connection.insecure or None,
        "tls-server-name": connection.tls_server_name,
        "proxy-url": connection.proxy,
    }
    user: dict[str, object] = {
        "token": connection.token,
        "client-certificate-data": _base64(connection.certificate_data),
        "client-key-data": _base64(connection.private_key_data),
    }
    config: JsonObject = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "user",
        "contexts": [{"name": "user", "context": {"cluster": "cluster", "user": "user"}}],
        "clusters": [{"name": "cluster", "cluster": _without_none(cluster)}],
        "users": [{"name": "user", "user": _without_none(user)}],
    }
    return encode_json(config)


def connection_port(connection: ConnectionInfo) -> int:
    """Return the TCP port to which a client connects: that of the proxy, if there is one."""
    url = urlsplit(connection.proxy or connection.server)
    return url.port or _DEFAULT_PORTS.get(url.scheme, 443)


def _base64(pem: str | None) -> str | None:
    return None if pem is None else base64.b64encode(pem.encode()).decode()


def _without_none(fields: dict[str, object]) -> JsonObject:
    return {name: value for name, value in fields.items() if isinstance(value, str | bool)}
