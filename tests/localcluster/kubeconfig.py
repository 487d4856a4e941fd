"""Writes kubeconfig files (as JSON, which is also YAML)."""

import base64
import json
import os
from pathlib import Path

from tests.localcluster.pki import KeyPair

CONTEXT = "xapp-operator-local"


def write_private_file(path: Path, text: str) -> None:
    """Write ``text`` atomically to a file that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    scratch.replace(path)


def write_kubeconfig(path: Path, *, server: str, authority: Path, credential: str | KeyPair) -> None:
    """Write a kubeconfig for one user with a bearer token or a client certificate.

    Certificates are embedded, so that the file can be copied.
    """
    if isinstance(credential, KeyPair):
        user = {
            "client-certificate-data": _base64(credential.certificate),
            "client-key-data": _base64(credential.key),
        }
    else:
        user = {"token": credential}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [
            {"name": CONTEXT, "cluster": {"server": server, "certificate-authority-data": _base64(authority)}}
        ],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
    }
    write_private_file(path, json.dumps(config, indent=2))


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
