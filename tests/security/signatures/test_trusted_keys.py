"""Keys are read as gpg and cosign write them; anything else is refused by name, a private key above all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.support.chart_server import ChartServer
from tests.support.chart_signing import GnuPG, cosign_key, pem_fingerprint, public_pem
from tests.support.charts import tar_gz
from xapp_operator.charts.chart_request import ChartRequest, Repository
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.signatures.signature_checker import SignatureChecker
from xapp_operator.charts.signatures.trusted_keys import SignatureDemand, read_trusted_keys
from xapp_operator.config.settings import Settings
from xapp_operator.errors import SignatureInvalid
from xapp_operator.helm.engine import HelmEngine

pytestmark = pytest.mark.integration


def test_fingerprints_are_those_of_gpg(gpg: GnuPG) -> None:
    names = ("author", "second")
    expected = {gpg.fingerprint(name) for name in names}
    one = read_trusted_keys({"all": gpg.public_key(*names)}, origin="here")
    armored = read_trusted_keys({"all": gpg.public_key(*names, armored=True)}, origin="here")
    blocks = b"\n".join(gpg.public_key(name, armored=True) for name in names)
    several = read_trusted_keys({"all": blocks}, origin="here")
    assert set(one.openpgp_fingerprints) == set(several.openpgp_fingerprints) == expected
    assert one.digest == armored.digest


def test_keys_of_both_kinds_may_be_together(gpg: GnuPG) -> None:
    key = cosign_key()
    keys = read_trusted_keys({"a": gpg.public_key("author"), "b": public_pem(key) * 2}, origin="here")
    assert [name for name, _ in keys.cosign] == [pem_fingerprint(key)] * 2
    assert pem_fingerprint(key) in keys.describe()
    assert gpg.fingerprint("author") in keys.describe()
    assert pem_fingerprint(key) not in keys.describe(cosign=False)


def test_what_is_no_public_key_is_refused(gpg: GnuPG) -> None:
    key = cosign_key()
    private_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    exchange = X25519PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    public = gpg.public_key("author")
    refused = {
        "private key": [gpg.private_key("author"), gpg.private_key("author", armored=True), private_pem],
        "keybox": [b"\0\0\0\x20\x01\x01\0\x02KBXf" + b"\0" * 20],
        "neither": [b"", b"hello", public[:-10], b"\xff" * 50, b"\xc6", b"\xc6\xe0aaaa", b"\x99\xff\xff"],
        "version": [b"\xc6\x05\x03abcd"],
        "damaged": [gpg.public_key("author", armored=True)[:300], b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n"],
        "another kind": [exchange],
        "not a PEM": [b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"],
        "no key": [b"-----BEGIN PUBLIC KEY-----\n%%%\n-----END PUBLIC KEY-----\n"],
    }
    for word, contents in refused.items():
        for content in contents:
            with pytest.raises(SignatureInvalid, match=word) as error:
                read_trusted_keys({"file": content}, origin="Secret keys")
            assert "Secret keys" in error.value.message


def test_the_number_of_keys_is_bounded() -> None:
    with pytest.raises(SignatureInvalid, match="more than 100 keys"):
        read_trusted_keys({"a": public_pem(cosign_key()) * 101}, origin="here")


@pytest.fixture
def checker(settings: Settings, sources: ChartSources, engine: HelmEngine) -> SignatureChecker:
    return SignatureChecker(settings, charts=sources, verifier=engine)


@pytest.fixture
def signed_by_helm(helm_path: Path, gpg: GnuPG, tmp_path: Path) -> dict[str, bytes]:
    """The files that `helm package --sign` has written."""
    chart = tmp_path / "signed"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: signed\nversion: 1.2.3+build.4\n")
    keyring = tmp_path / "secret.gpg"
    keyring.write_bytes(gpg.private_key("author"))
    command: list[str | Path] = [helm_path, "package", chart, "--sign", "--key", "author", "--keyring", keyring]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, capture_output=True)
    return {path.name: path.read_bytes() for path in tmp_path.glob("signed-*")}


async def test_a_chart_that_helm_has_signed_passes(
    checker: SignatureChecker,
    sources: ChartSources,
    server: ChartServer,
    gpg: GnuPG,
    signed_by_helm: dict[str, bytes],
) -> None:
    server.add("signed", "1.2.3+build.4", signed_by_helm["signed-1.2.3+build.4.tgz"])
    server.files["/signed-1.2.3+build.4.tgz.prov"] = signed_by_helm["signed-1.2.3+build.4.tgz.prov"]
    keys = read_trusted_keys({"keys": gpg.public_key("author")}, origin="here")
    repository = Repository(url=server.url, signature=SignatureDemand(keys, frozenset({"provenance"})))
    request = ChartRequest(repository=repository, chart="signed", version="1.2.3+build.4")
    await checker.check_remote(await sources.resolve(request))


async def test_a_chart_with_the_longest_name_is_refused_not_an_error(
    checker: SignatureChecker, sources: ChartSources, server: ChartServer, gpg: GnuPG
) -> None:
    name = "x" * 245
    server.add(name, "0.1.0", tar_gz({"x/Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n"}))
    server.files[f"/{name}-0.1.0.tgz.prov"] = b"-----BEGIN PGP SIGNED MESSAGE-----"
    keys = read_trusted_keys({"keys": gpg.public_key("author")}, origin="here")
    repository = Repository(url=server.url, signature=SignatureDemand(keys, frozenset({"provenance"})))
    resolved = await sources.resolve(ChartRequest(repository=repository, chart=name, version="0.1.0"))
    with pytest.raises(SignatureInvalid, match="more than 240 characters"):
        await checker.check_remote(resolved)
