"""The proxy and the TLS of the connection to the API server, from the environment and the kubeconfig."""

from __future__ import annotations

import ssl

import pytest
from kubernetes.aio.client import Configuration

from xapp_operator.kube.credentials import ClusterCredentials

PROXY = "http://proxy.example.com:3128"


def credentials(
    host: str, *, in_pod: bool = False, proxy: str | None = None, verify: bool = True
) -> ClusterCredentials:
    async def never() -> float:
        return 1e9

    configuration = Configuration(host=host)
    configuration.proxy = proxy
    configuration.verify_ssl = verify
    path = None if in_pod else "/fake"
    return ClusterCredentials(configuration, refresh=never, first_refresh=1e9, kubeconfig_path=path)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("https://api.example.com:6443", PROXY),
        ("http://api.example.com", None),  # HTTP_PROXY is not set
        ("https://127.0.0.1:6443", None),
        ("https://localhost:6443", None),
        ("https://api.internal:6443", None),
        ("https://", None),
    ],
)
def test_a_proxy_of_the_environment_is_for_other_machines(
    monkeypatch: pytest.MonkeyPatch, host: str, expected: str | None
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", PROXY)
    monkeypatch.setenv("no_proxy", ".internal")
    assert credentials(host).proxy == expected
    assert credentials(host, in_pod=True).proxy is None
    assert credentials(host, proxy="http://own:1").proxy == "http://own:1"


@pytest.mark.parametrize(("verify", "mode"), [(True, ssl.CERT_REQUIRED), (False, ssl.CERT_NONE)])
def test_the_certificate_of_the_server_is_checked_unless_the_kubeconfig_says_no(
    verify: bool, mode: ssl.VerifyMode
) -> None:
    tls = credentials("https://api.example.com", verify=verify).tls
    for own in (True, False):
        context = tls.context(own_credentials=own)
        assert context is not None
        assert (context.verify_mode, context.check_hostname) == (mode, verify)
        assert not context.verify_flags & ssl.VERIFY_X509_STRICT
