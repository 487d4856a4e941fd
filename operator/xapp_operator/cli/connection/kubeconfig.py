"""The current context of the user's kubeconfig: its cluster, namespace and credentials.

Only what the command line needs is read. The rules are those of kubectl: several files in KUBECONFIG are merged, the
first one that names something counts, and relative paths start at the folder of their file.
"""

from __future__ import annotations

import base64
import binascii
import json
import os.path
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from xapp_operator.api.json import Json, JsonObject, items, obj, text
from xapp_operator.cli.connection.local_programs import run_credential_plugin
from xapp_operator.cli.errors import CliError

KUBECONFIG_MAX_BYTES: Final = 4 * 1024 * 1024
_PATHS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile", "token-file")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The current context. `user` has credentials, so it is not shown."""

    server: str
    namespace: str | None
    cluster: JsonObject = field(repr=False)
    user: JsonObject = field(repr=False)

    @property
    def ca_data(self) -> str | None:
        """Return the PEM certificates of the cluster's authority, if the kubeconfig contains them."""
        return _decoded(text(self.cluster, "certificate-authority-data"))

    @property
    def ca_file(self) -> Path | None:
        """Return the file with these certificates, if the kubeconfig names one."""
        path = text(self.cluster, "certificate-authority")
        return Path(path) if path and self.ca_data is None else None

    @property
    def is_insecure(self) -> bool:
        """Return whether any certificate of the cluster is accepted."""
        return self.cluster.get("insecure-skip-tls-verify") is True

    def bearer_token(self, *, interactive: bool) -> str | None:
        """Return the token of the user: from a file, the kubeconfig itself, or its credential plugin.

        With `interactive`, the plugin may ask at the terminal.

        Raises CliError if the file or the plugin fails.
        """
        path = text(self.user, "tokenFile")
        if path:
            try:
                return Path(path).read_text(encoding="utf-8").strip() or None
            except (OSError, UnicodeDecodeError) as error:
                raise CliError(f"cannot read {path}, the token file of your kubeconfig") from error
        if token := text(self.user, "token"):
            return token
        plugin = obj(self.user, "exec")
        return _plugin_token(plugin, self, interactive=interactive) if plugin else None

    def client_certificate(self) -> tuple[str, str] | None:
        """Return the client certificate and its key as PEM, if the user signs in with one."""
        certificate = _pem(self.user, "client-certificate")
        key = _pem(self.user, "client-key")
        return (certificate, key) if certificate and key else None


def read_kubeconfig(setting: str | None, *, home: Path) -> Kubeconfig | None:
    """Return the current context, or None if there is none that can be used.

    Args:
        setting: the variable KUBECONFIG: files, separated by colons.
        home: the user's folder, with `.kube/config`.

    Raises CliError for a file that is not a kubeconfig.
    """
    paths = [Path(part) for part in (setting or "").split(os.path.pathsep) if part] or [home / ".kube" / "config"]
    documents = [document for path in paths if (document := _read(path)) is not None]
    current = next((name for document in documents if (name := text(document, "current-context"))), "")
    context = _named(documents, "contexts", "context", current)
    cluster = _named(documents, "clusters", "cluster", text(context, "cluster"))
    user = _named(documents, "users", "user", text(context, "user"))
    server = text(cluster, "server").rstrip("/")
    if not server:
        return None
    return Kubeconfig(server=server, namespace=text(context, "namespace") or None, cluster=cluster, user=user)


def _read(path: Path) -> JsonObject | None:
    try:
        with path.open("rb") as file:
            document: Json = yaml.load(file.read(KUBECONFIG_MAX_BYTES), Loader=yaml.CSafeLoader)
    except FileNotFoundError:
        return None
    except (OSError, yaml.YAMLError, RecursionError) as error:
        raise CliError(f"{path} cannot be read as a kubeconfig: correct it, or set KUBECONFIG") from error
    if not isinstance(document, dict):
        return None
    for kind, member in (("clusters", "cluster"), ("users", "user")):
        for entry in items(document, kind):
            _make_absolute(obj(entry, member), path.parent)
    return document


def _make_absolute(entry: JsonObject, folder: Path) -> None:
    for key in _PATHS:
        if path := text(entry, key):
            entry[key] = str(folder / path)
    plugin = obj(entry, "exec")
    command = text(plugin, "command")
    if "/" in command:
        plugin["command"] = str(folder / command)


def _named(documents: Sequence[JsonObject], kind: str, member: str, name: str) -> JsonObject:
    for document in documents:
        for entry in items(document, kind):
            if name and text(entry, "name") == name:
                return obj(entry, member)
    return {}


def _plugin_token(plugin: JsonObject, kubeconfig: Kubeconfig, *, interactive: bool) -> str | None:
    command = text(plugin, "command")
    if not command:
        return None
    given = plugin.get("args")
    arguments = [str(argument) for argument in given] if isinstance(given, list) else []
    spec: JsonObject = {"interactive": interactive and sys.stdin.isatty()}
    if plugin.get("provideClusterInfo") is True:
        spec["cluster"] = {"server": kubeconfig.server}
    api_version = text(plugin, "apiVersion", "client.authentication.k8s.io/v1")
    info: JsonObject = {"apiVersion": api_version, "kind": "ExecCredential", "spec": spec}
    environment = {text(entry, "name"): text(entry, "value") for entry in items(plugin, "env") if text(entry, "name")}
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(info)
    answer = run_credential_plugin([command, *arguments], environment, interactive=interactive)
    try:
        credential: Json = json.loads(answer)
    except (ValueError, RecursionError):
        raise CliError(f"{command}, the credential plugin of your kubeconfig, does not print JSON") from None
    return text(obj(credential, "status"), "token") or None


def _pem(user: JsonObject, key: str) -> str | None:
    if data := _decoded(text(user, f"{key}-data")):
        return data
    path = text(user, key)
    try:
        return Path(path).read_text(encoding="ascii") if path else None
    except (OSError, UnicodeDecodeError):
        return None


def _decoded(data: str) -> str | None:
    try:
        return base64.b64decode(data).decode("ascii") or None
    except (binascii.Error, ValueError):
        return None
