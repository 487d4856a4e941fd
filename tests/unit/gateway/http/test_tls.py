"""HTTPS of the gateway with real certificates: protocol versions, and files that change while it serves."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.localcluster.pki import Authority, KeyPair
from tests.localcluster.waiting import wait_until
from tests.support.gateway import GatewayServer, offline_gateway, serve_gateway
from tests.unit.gateway.http.http_connections import in_simulated_time, now
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.http.connections import tls
from xapp_operator.gateway.http.connections.http_connections import HEAD_MAX_BYTES
from xapp_operator.gateway.http.connections.tls import CertificateUnusable, TlsCertificate
from xapp_operator.telemetry.metrics import METRICS

SECONDS = 60.0
HANDSHAKES = 300


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> KeyPair:
    """The files that the gateway reads."""
    issued = authority.issue("first", common_name="first")
    pair = KeyPair(tmp_path / "tls.key", tmp_path / "tls.crt")
    replace(pair, issued)
    return pair


@pytest.fixture
def trusting(tmp_path: Path, authority: Authority) -> ssl.SSLContext:
    """The context of a client that trusts the authority."""
    return ssl.create_default_context(cafile=tmp_path / "pki" / "ca.crt")


@pytest.fixture
def gateway(tmp_path: Path, files: KeyPair, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayServer]:
    """A gateway that serves HTTPS and follows the files quickly."""
    monkeypatch.setattr(tls, "RELOAD_SECONDS", 0.02)
    settings, opened = offline_gateway(tmp_path)
    changes = {"tls_cert": files.certificate, "tls_key": files.key}
    with serve_gateway(settings.model_copy(update=changes), opened) as one:
        yield one


def replace(pair: KeyPair, by: KeyPair) -> None:
    shutil.copy(by.key, pair.key)
    shutil.copy(by.certificate, pair.certificate)


def handshake(gateway: GatewayServer, context: ssl.SSLContext) -> ssl.SSLSocket:
    connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=SECONDS)
    return context.wrap_socket(connection, server_hostname="localhost")


def served_name(gateway: GatewayServer, context: ssl.SSLContext) -> str:
    """Return the common name of the certificate that the gateway shows."""
    with handshake(gateway, context) as connection:
        return common_name(connection.getpeercert(binary_form=True))


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, *, server_name: str | None = "localhost") -> str:
    """Shake hands in memory, and return the common name of the certificate that the server shows."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server, server_hostname=server_name)
    there = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [here, there]
    for each in [here, there] * 4:
        if each in waiting:
            with suppress(ssl.SSLWantReadError):
                each.do_handshake()
                waiting.remove(each)
    assert waiting == []
    return common_name(here.getpeercert(binary_form=True))


def common_name(certificate: bytes | None) -> str:
    assert certificate is not None
    (name,) = x509.load_der_x509_certificate(certificate).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name.value)


def test_requests_are_served_over_https_only(gateway: GatewayServer, trusting: ssl.SSLContext) -> None:
    with gateway.client(verify=trusting) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        about = http.get("/api/about").json()
    assert "insecure" not in about or about["insecure"] is None
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{gateway.port}", trust_env=False) as plain,
        pytest.raises(httpx.TransportError),
    ):
        plain.get("/healthz")


@pytest.mark.parametrize(
    ("version", "accepted"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
)
def test_only_current_versions_of_tls_are_accepted(
    gateway: GatewayServer, trusting: ssl.SSLContext, version: ssl.TLSVersion, accepted: bool
) -> None:
    if version is ssl.TLSVersion.TLSv1_1:
        trusting.set_ciphers("DEFAULT:@SECLEVEL=0")  # else the client itself refuses
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            trusting.minimum_version = trusting.maximum_version = version
    else:
        trusting.minimum_version = trusting.maximum_version = version
    if accepted:
        with handshake(gateway, trusting) as connection:
            assert connection.version() == version.name.replace("_", ".")
    else:
        with pytest.raises(ssl.SSLError):
            handshake(gateway, trusting)


@pytest.mark.parametrize(("offered", "selected"), [(["h2", "http/1.1"], "http/1.1"), (["h2"], None)])
def test_http_1_1_is_the_only_protocol(
    gateway: GatewayServer, trusting: ssl.SSLContext, offered: list[str], selected: str | None
) -> None:
    trusting.set_alpn_protocols(offered)
    with handshake(gateway, trusting) as connection:
        assert connection.selected_alpn_protocol() == selected


def test_the_bounds_of_heads_hold_over_https(gateway: GatewayServer, trusting: ssl.SSLContext) -> None:
    with handshake(gateway, trusting) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * HEAD_MAX_BYTES)
        assert connection.recv(65536).startswith(b"HTTP/1.1 431 ")


def test_a_renewed_certificate_is_served_without_a_restart(
    gateway: GatewayServer, trusting: ssl.SSLContext, authority: Authority, files: KeyPair
) -> None:
    with gateway.client(verify=trusting) as http:
        http.get("/healthz")
        replace(files, authority.issue("second", common_name="second"))
        wait_until(lambda: served_name(gateway, trusting) == "second", timeout=SECONDS, what="the new certificate")
        assert http.get("/healthz").status_code == 200  # on the connection with the first one


def test_no_handshake_fails_while_the_certificate_is_renewed(
    authority: Authority, files: KeyPair, trusting: ssl.SSLContext
) -> None:
    certificate = TlsCertificate(files.certificate, files.key)
    pairs = [authority.issue(name, common_name=name) for name in ("one", "two")]
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.is_set():
            for pair in pairs:
                replace(files, pair)
                certificate.reload()

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        for _ in range(HANDSHAKES):
            shake_hands(certificate.context, trusting)
    finally:
        is_over.set()
        renewing.join()


def test_clients_without_a_server_name_get_the_renewed_certificate(
    authority: Authority, files: KeyPair, trusting: ssl.SSLContext
) -> None:
    certificate = TlsCertificate(files.certificate, files.key)
    replace(files, authority.issue("second", common_name="second"))
    certificate.reload()
    trusting.check_hostname = False
    assert shake_hands(certificate.context, trusting, server_name=None) == "second"


def test_a_swapped_symbolic_link_counts_as_a_change(
    tmp_path: Path, authority: Authority, files: KeyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        issued = authority.issue(name, common_name=name)
        replace(KeyPair(tmp_path / name / "tls.key", tmp_path / name / "tls.crt"), issued)
    link = tmp_path / "..data"
    link.symlink_to("one")
    certificate = TlsCertificate(link / "tls.crt", link / "tls.key")
    before = certificate._loaded
    (tmp_path / "..new").symlink_to("two")
    (tmp_path / "..new").rename(link)
    certificate.reload()

    assert certificate._loaded != before


def test_the_expiry_of_the_certificate_in_force_is_a_metric(authority: Authority, files: KeyPair) -> None:
    def expiry() -> datetime:
        text = METRICS.registry.get_sample_value("xapp_operator_tls_certificate_expiry_timestamp_seconds")
        assert text is not None
        return datetime.fromtimestamp(text, UTC)

    def of_file() -> datetime:
        return x509.load_pem_x509_certificate(files.certificate.read_bytes()).not_valid_after_utc

    certificate = TlsCertificate(files.certificate, files.key)
    assert expiry() == of_file()
    METRICS.set_certificate_expiry(timestamp=0)
    replace(files, authority.issue("renewed", common_name="renewed"))
    certificate.reload()
    assert expiry() == of_file()


def _encrypted(path: Path) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )


BREAK: dict[str, Callable[[KeyPair, KeyPair], object]] = {
    "a foreign key": lambda pair, other: shutil.copy(other.key, pair.key),
    "a foreign certificate": lambda pair, other: shutil.copy(other.certificate, pair.certificate),
    "no PEM": lambda pair, _: pair.certificate.write_bytes(b"\x00garbage"),
    "an empty key": lambda pair, _: pair.key.write_bytes(b""),
    "half a certificate": lambda pair, _: pair.certificate.write_bytes(pair.certificate.read_bytes()[:200]),
    "a missing key": lambda pair, _: pair.key.unlink(),
    "an encrypted key": lambda pair, _: pair.key.write_bytes(_encrypted(pair.key)),
}


@pytest.mark.parametrize("how", BREAK)
def test_a_broken_new_pair_keeps_the_last_one_and_is_logged_once(
    authority: Authority, files: KeyPair, trusting: ssl.SSLContext, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    certificate = TlsCertificate(files.certificate, files.key)
    other = authority.issue("other", common_name="other")
    BREAK[how](files, other)
    for _ in range(3):
        certificate.reload()
    logged = "".join(capfd.readouterr())

    assert logged.count("not reloaded") == 1
    assert "PRIVATE" not in logged
    assert handshake_name(certificate.context, trusting) == "first"
    replace(files, other)
    certificate.reload()
    assert handshake_name(certificate.context, trusting) == "other"


def handshake_name(server: ssl.SSLContext, client: ssl.SSLContext) -> str:
    """Return the common name that a server with this context shows, without a network."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    accepting = server.wrap_bio(to_server, to_client, server_side=True)
    connecting = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    waiting = [connecting, accepting]
    for _ in range(10):
        for each in list(waiting):
            try:
                each.do_handshake()
                waiting.remove(each)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return common_name(connecting.getpeercert(binary_form=True))


@pytest.mark.parametrize("how", BREAK)
def test_a_broken_pair_at_the_start_is_an_error(authority: Authority, files: KeyPair, how: str) -> None:
    BREAK[how](files, authority.issue("other", common_name="other"))
    with pytest.raises(CertificateUnusable, match="XAPP_TLS_KEY"):
        TlsCertificate(files.certificate, files.key)


@pytest.mark.parametrize(("size", "accepted"), [(262_144, True), (262_145, False)])
def test_the_files_have_a_maximum_size(files: KeyPair, size: int, accepted: bool) -> None:
    pem = files.certificate.read_bytes().rstrip()
    files.certificate.write_bytes(b"#" * (size - len(pem) - 1) + b"\n" + pem)
    if accepted:
        TlsCertificate(files.certificate, files.key)
        return
    with pytest.raises(CertificateUnusable, match="are not a certificate and its key"):
        TlsCertificate(files.certificate, files.key)


def test_the_files_are_read_again_every_ten_seconds(files: KeyPair) -> None:
    times: list[float] = []

    class Certificate(TlsCertificate):
        def reload(self) -> None:
            times.append(now())
            super().reload()

    async def test() -> None:
        certificate = Certificate(files.certificate, files.key)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(35):
                await certificate.follow_files()
        assert times == pytest.approx([10, 20, 30])

    in_simulated_time(test)


@pytest.mark.parametrize("given", [{"tls_cert": "/tls.crt"}, {"tls_key": "/tls.key"}])
def test_certificate_and_key_belong_together(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="XAPP_TLS_CERT and XAPP_TLS_KEY belong together"):
        Settings.model_validate(given)


def test_a_gateway_with_half_of_the_files_serves_plain_http(files: KeyPair) -> None:
    for half in ({"tls_cert": files.certificate}, {"tls_key": files.key}, {}):
        assert TlsCertificate.from_settings(Settings().model_copy(update=half)) is None
