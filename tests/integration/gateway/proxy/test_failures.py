"""Responses to the caller for unresponsive xApps, too many requests and missing permissions."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.proxy.conftest import create_service, create_xapp, non_loopback_address, wait_proxied
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import NAMESPACES, ApiServer
from tests.support.gateway import serve_gateway
from tests.support.proxied_xapp import SERVICE, ProxiedXApp, proxy_to_service, service_object
from tests.support.xapp_server import XAppServer, serve_xapp


def problem(answer: httpx.Response) -> str:
    """Return the detail of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    detail: str = answer.json()["detail"]
    return detail


def test_an_xapp_that_closes_without_an_answer_is_a_bad_gateway(http: httpx.Client) -> None:
    answer = http.get("/drop")

    assert answer.status_code == 502
    assert "logs of its pods" in problem(answer)


@pytest.mark.parametrize("accept", ["*/*", "application/yaml", "text/html", "application/json;q=0.5, application/yaml"])
def test_the_api_servers_own_errors_are_problems_whatever_the_caller_accepts(http: httpx.Client, accept: str) -> None:
    answer = http.get("/drop", headers={"Accept": accept})

    assert answer.status_code == 502
    assert problem(answer)


def multiplied() -> str:
    """Return YAML of a few hundred bytes that expands to ten billion members."""
    levels = (f"a{at}: &a{at} {{<<: [{', '.join([f'*a{at - 1}'] * 10)}]}}\n" for at in range(1, 10))
    return "kind: Status\napiVersion: v1\na0: &a0 {a: 1}\n" + "".join(levels)


@pytest.mark.parametrize("text", [multiplied(), "[" * 2000, "a: [", "kind: Status", "1", "a: \x00"])
def test_a_yaml_error_of_the_xapp_is_forwarded_unchanged(http: httpx.Client, text: str) -> None:
    answer = http.get("/yaml", params={"text": text})

    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/yaml")
    assert answer.content == text.encode()


@pytest.mark.parametrize("query", ["", "?length"])
def test_a_truncated_response_does_not_look_complete(http: httpx.Client, query: str) -> None:
    try:
        answer = http.get(f"/cut{query}")
    except (httpx.RemoteProtocolError, httpx.ReadError):
        return

    # Nothing of it may have been sent yet.
    assert answer.status_code == 502


def test_an_unknown_service_or_port_is_404_and_lists_the_known_ones(proxied: ProxiedXApp) -> None:
    with proxied.gateway.client() as http:
        service = http.get(f"{proxied.xapp_path}/proxy/kubernetes/443/")
        port = http.get(f"{proxied.xapp_path}/proxy/{SERVICE}/8080/")
        xapp = http.get(f"/api/xapps/{proxied.namespace}/nobody/api/")

    assert [answer.status_code for answer in (service, port, xapp)] == [404, 404, 404]
    assert problem(service).endswith("its Services are hello")
    assert problem(port).endswith("its ports are 80 (http)")
    assert proxied.api.requests == []


def test_a_method_that_is_not_forwarded_is_refused(proxied: ProxiedXApp, http: httpx.Client) -> None:
    answer = http.request("PROPFIND", "/echo")

    assert answer.status_code == 405
    assert proxied.api.requests == []


def test_a_slow_response_of_the_xapp_is_a_timeout(tmp_path: Path) -> None:
    with serve_xapp() as api, proxy_to_service(api, tmp_path, proxy_timeout=1.0) as behind, behind.client() as http:
        answer = http.get("/slow")
        upload = http.post("/stall", content=bytes(100_000))
        wait_until(lambda: http.get("/echo").is_success, timeout=60, what="an answer in time")
        wait_until(lambda: "/slow" in api.disconnects, timeout=60, what="the xApp to see the disconnect")

    assert [answer.status_code, upload.status_code] == [504, 504]
    assert "XAPP_PROXY_TIMEOUT" in problem(answer)


def test_a_response_that_has_started_may_take_longer(tmp_path: Path) -> None:
    with (
        serve_xapp() as api,
        proxy_to_service(api, tmp_path, proxy_timeout=0.5) as behind,
        behind.client() as http,
    ):
        # On a busy machine it may start too late.
        text = wait_until(lambda: _first_events(http), timeout=60, what="an answer that begins in time")

    assert "data: 30" in text


def _first_events(http: httpx.Client) -> str:
    """Return what arrives within 1.5 seconds, or an empty string if the response started too late."""
    text = ""
    with http.stream("GET", "/events") as answer:
        if answer.status_code == 504:
            return ""
        for piece in answer.iter_text():
            text += piece
            if "data: 30" in text:  # 30 events of 50 ms each
                break
    return text


@contextmanager
def nobody_at(address: str) -> Iterator[XAppServer]:
    """Reserve a port on which nothing listens."""
    with socket.socket() as holder:
        holder.bind((address, 0))
        yield XAppServer(address, holder.getsockname()[1])


def test_a_closed_port_is_502(tmp_path: Path) -> None:
    with nobody_at("127.0.0.1") as api, proxy_to_service(api, tmp_path) as behind, behind.client() as http:
        answer = http.get("/")

    assert answer.status_code == 502
    assert "refuses connections" in problem(answer)


def test_a_service_without_http_is_a_bad_gateway(tmp_path: Path) -> None:
    service = service_object(ports=[{"name": "https", "port": 80, "protocol": "TCP"}])
    with serve_xapp() as api, proxy_to_service(api, tmp_path, service=service) as behind, behind.client() as http:
        answer = http.get("/")

    assert answer.status_code == 502
    assert problem(answer)


def test_requests_over_the_concurrency_limit_get_retry_after(tmp_path: Path) -> None:
    with (
        serve_xapp() as api,
        proxy_to_service(api, tmp_path, proxy_concurrency=2) as behind,
        behind.client() as http,
        ThreadPoolExecutor(1) as threads,
    ):
        with http.stream("GET", "/events"), behind.open_websocket("/ws"):
            answer = http.get("/echo")
            with behind.gateway.client() as other:
                rest = other.get("/api/xapps")
        wait_until(lambda: threads.submit(http.get, "/echo").result().is_success, timeout=60, what="a free place")

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert "XAPP_PROXY_CONCURRENCY" in problem(answer)
    assert rest.status_code == 200


def refused(answer: httpx.Response, expected_detail: str) -> bool:
    return answer.status_code == 502 and expected_detail in problem(answer)


@pytest.fixture
def empty(api: ApiServer) -> Iterator[str]:
    """A namespace for one test."""
    name = f"proxy-{secrets.token_hex(4)}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    api.delete(f"{NAMESPACES}/{name}")


def test_missing_pods_and_closed_ports_are_a_bad_gateway(
    cluster: Cluster, api: ApiServer, empty: str, tmp_path: Path, reachable_xapp: XAppServer
) -> None:
    create_xapp(api, empty)
    create_service(api, empty, address=reachable_xapp.host, port=reachable_xapp.port)
    create_service(api, empty, address=reachable_xapp.host, port=reachable_xapp.port, name="unready")
    api.patch(f"/api/v1/namespaces/{empty}/endpoints/unready", {"subsets": None})
    create_service(api, empty, address=reachable_xapp.host, port=reachable_xapp.port, name="nothing-behind")
    api.delete(f"/api/v1/namespaces/{empty}/endpoints/nothing-behind")
    with (
        nobody_at(non_loopback_address()) as gone,
        serve_gateway(settings_for(cluster, tmp_path, proxy="apiserver")) as gateway,
    ):
        create_service(api, empty, address=gone.host, port=gone.port, name="crashed")
        behind = ProxiedXApp(gateway, reachable_xapp, namespace=empty, via_apiserver=True)
        wait_proxied(gateway, behind)
        with gateway.client() as http:
            # The API server sees new Services and their pods with a delay.
            expected = {"crashed": "refuses connections", "unready": "pod", "nothing-behind": "has no endpoints"}
            for service, expected_detail in expected.items():
                wait_until(
                    lambda path=f"{behind.xapp_path}/proxy/{service}/80/", expected_detail=expected_detail: refused(
                        http.get(path), expected_detail
                    ),  # type: ignore[misc]
                    timeout=60,
                    what=f"the pod of {service} to become reachable",
                )
            dry_run = http.get(f"{behind.proxy_path}/echo?dryRun=All")

    assert dry_run.status_code == 400
    assert "dryRun" in problem(dry_run)
