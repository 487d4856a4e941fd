"""Answers of a server that is no gateway: they say nothing about an xApp."""

from __future__ import annotations

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway
from tests.unit.cli.conftest import Xapp

PATH = "/api/xapps/n/a"
HTML = {"Content-Type": "text/html"}


@pytest.mark.parametrize("status", [200, 204, 400, 401, 403, 404, 500])
def test_another_server_is_no_gateway(gateway: StandInGateway, xapp: Xapp, status: int) -> None:
    gateway.reply(PATH, Reply(b"" if status == 204 else b"<html>", status=status, headers=HTML))
    done = xapp("get", "n/a", "--gateway", gateway.url)
    assert (done.code, done.out) == (1, "")
    assert f"no xapp gateway answers at {gateway.url} (from --gateway): what is there answers {status}" in done.err
    assert "check the address, or name another with --gateway" in done.err


def test_a_cluster_is_no_gateway(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(PATH, Reply({"kind": "Status", "status": "Failure", "code": 403}, status=403))
    assert "no xapp gateway answers" in xapp("get", "n/a", "--gateway", gateway.url).err


def test_a_redirection_tells_the_address_to_use(gateway: StandInGateway, xapp: Xapp) -> None:
    moved = {**HTML, "Location": "https://gateway.example.com/api/xapps/n/a"}
    gateway.reply(PATH, Reply(b"", status=308, headers=moved))
    done = xapp("get", "n/a", "--gateway", gateway.url)
    assert done.code == 1
    assert "leads to https://gateway.example.com/api/xapps/n/a: name the address there with --gateway" in done.err


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_a_gateway_says_so(gateway: StandInGateway, xapp: Xapp, status: int) -> None:
    gateway.reply(PATH, Reply(b"<html>", status=status, headers=HTML))
    done = xapp("get", "n/a", "--gateway", gateway.url)
    assert done.code == 1
    assert (
        f"what is in front of the gateway at {gateway.url} (from --gateway) does not reach it: it answers" in done.err
    )


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_of_another_server_removes_no_xapp(gateway: StandInGateway, xapp: Xapp, status: int) -> None:
    gateway.reply("/api/deployment/xapp", Reply(b"<html>", status=status, headers=HTML))
    done = xapp("delete", "n/a", "--yes", "--wait", "--gateway", gateway.url)
    assert (done.code, done.out) == (1, "")
    assert "no xapp gateway answers" in done.err


def test_a_page_of_another_server_is_no_log(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(f"{PATH}/logs", Reply(b"<html>", headers=HTML))
    done = xapp("logs", "n/a", "--gateway", gateway.url)
    assert (done.code, done.out) == (1, "")


def test_an_answer_of_another_server_ends_no_watch_with_gone(gateway: StandInGateway, xapp: Xapp) -> None:
    record = {"name": "a", "namespace": "n", "phase": "Deploying", "ready": False, "stalled": False}
    gateway.reply(PATH, Reply(record), Reply(b"<html>", status=404, headers=HTML))
    done = xapp("status", "n/a", "-w", "--timeout", "20", "--gateway", gateway.url)
    assert done.code == 1
    assert "gone" not in done.out
