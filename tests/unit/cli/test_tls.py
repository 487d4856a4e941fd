"""What is said when the certificate of a gateway does not fit."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.localcluster.pki import Authority, KeyPair
from tests.unit.cli.conftest import Xapp


@contextmanager
def served(pair: KeyPair, *, host: str = "127.0.0.1") -> Iterator[int]:
    """Shake hands with one client on a loopback port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with socket.create_server((host, 0)) as server:

        def shake_hands() -> None:
            connection, _ = server.accept()
            with suppress(OSError), connection, context.wrap_socket(connection, server_side=True):
                pass

        thread = threading.Thread(target=shake_hands, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(timeout=60)


def test_a_certificate_for_another_name_is_not_called_untrusted(tmp_path: Path, xapp: Xapp) -> None:
    authority = Authority(tmp_path / "pki")
    with served(authority.issue("gateway", common_name="gateway"), host="127.0.0.2") as port:
        done = xapp("list", "--gateway", f"https://127.0.0.2:{port}", "--ca", str(tmp_path / "pki" / "ca.crt"))
    assert done.code == 1
    assert "is not valid for '127.0.0.2': use a name of the certificate as the address, with --gateway" in done.err
    assert "--ca" not in done.err


def test_a_certificate_of_an_unknown_authority_asks_for_it(tmp_path: Path, xapp: Xapp) -> None:
    authority = Authority(tmp_path / "pki")
    with served(authority.issue("gateway", common_name="gateway")) as port:
        done = xapp("list", "--gateway", f"https://127.0.0.1:{port}")
    assert done.code == 1
    assert "is not trusted: pass the certificates of its authority with --ca FILE" in done.err
