"""Each command, against a real gateway and operator, from a dry run to the removal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import NAME, deploy
from tests.support.charts import chart_archive
from tests.support.command_line import CommandLine
from tests.support.gateway import GatewayServer

pytestmark = pytest.mark.integration

VALUES = "# mine\nreplicas: 2 # two\nbig: 9007199254740993\n"


def test_deploy_watch_and_remove(xapp: CommandLine, chart: Path, namespace: str) -> None:
    done = deploy(xapp, chart, namespace, "--dry-run")
    assert done.code == 0, done.err
    assert "create  Deployment" in done.out
    assert xapp.run("get", f"{namespace}/{NAME}").code == 3
    done = deploy(xapp, chart, namespace, "--wait")
    assert (done.code, done.out) == (0, f"{namespace}/{NAME} is Ready\n"), done.err
    assert deploy(xapp, chart, namespace).code == 5
    assert xapp.run("list", "-n", namespace, "-o", "name").out == f"{namespace}/{NAME}\n"
    assert "Deployed" in xapp.run("list", "-A").out
    assert f"{namespace}/{NAME}" in xapp.run("get", NAME, "-n", namespace).out
    tree = xapp.run("status", NAME, "-n", namespace).out
    assert f"✓ Deployment {NAME}" in tree
    assert "└─ ✓ pod" in tree
    assert xapp.run("status", NAME, "-n", namespace, "-w").code == 0
    assert "Healthy" in xapp.run("health", NAME, "-n", namespace).out
    assert "InstallSucceeded" in xapp.run("events", NAME, "-n", namespace).out
    assert f"{NAME}  ClusterIP" in xapp.run("services", "-n", namespace).out
    assert "remove  Deployment" in xapp.run("delete", NAME, "-n", namespace, "--dry-run").out
    done = xapp.run("delete", f"{namespace}/{NAME}", "--yes", "--wait")
    assert (done.code, done.out) == (0, f"{namespace}/{NAME} is removed\n"), done.err
    assert xapp.run("delete", f"{namespace}/{NAME}", "--yes").code == 3


def test_services_of_an_xapp_have_their_addresses(
    xapp: CommandLine, chart: Path, namespace: str, gateway: GatewayServer
) -> None:
    deploy(xapp, chart, namespace, "--wait")
    target = f"{namespace}/{NAME}"
    with gateway.client() as http:
        services = http.get(f"/api/xapps/{target}/config").json()["services"]
        base_url = str(http.base_url).rstrip("/")
    shown = xapp.run("services", target).out.splitlines()
    proxied = f"{base_url}/api/xapps/{target}/proxy/{NAME}/80/"
    assert any(row.split()[-2:] == [proxied, "proxy"] for row in shown)
    assert any(row.split()[-2:] == [f"http://{NAME}.{namespace}.svc:80", "clusterDNS"] for row in shown)
    assert json.loads(xapp.run("services", target, "-o", "json").out) == services
    assert xapp.run("services", target, "-o", "name").out == f"{target}\n"
    done = xapp.run("services", target, "--port", "http")
    assert (done.code, done.err) == (
        2,
        "error: --port is for all Services: leave it out, or leave out the NAME of the xApp\n",
    )


def test_json_is_what_the_gateway_answers(
    xapp: CommandLine, chart: Path, namespace: str, gateway: GatewayServer
) -> None:
    deploy(xapp, chart, namespace, "--wait")
    path = f"/api/xapps/{namespace}/{NAME}"
    with gateway.client() as http:
        assert json.loads(xapp.run("get", f"{namespace}/{NAME}", "-o", "json").out) == http.get(path).json()
        listed = http.get("/api/xapps", params={"namespace": namespace}).json()["content"]
        assert json.loads(xapp.run("list", "-n", namespace, "-o", "json").out) == listed
        assert json.loads(xapp.run("history", f"{namespace}/{NAME}", "-o", "json").out) == [
            *http.get(f"{path}/history").json()["content"]
        ]


def test_values_keep_comments_and_large_numbers(xapp: CommandLine, chart: Path, namespace: str, tmp_path: Path) -> None:
    target = f"{namespace}/{NAME}"
    values = tmp_path / "values.yaml"
    values.write_text(VALUES)
    deploy(xapp, chart, namespace, "-f", str(values), "--wait")
    assert xapp.run("config", "get", target).out == VALUES
    done = xapp.run("config", "diff", target, "-f", "-", stdin=VALUES.replace("replicas: 2", "replicas: 3"))
    assert "-  replicas: 2" in done.out
    assert "+  replicas: 3" in done.out
    assert xapp.run("config", "set", target, "-f", "-", stdin=VALUES.replace("two", "still two")).code == 0
    assert "# still two" in xapp.run("config", "get", target).out
    assert xapp.run("config", "set", target, "replicas=1", "added.text=a", "--wait").code == 0
    assert json.loads(xapp.run("config", "get", target, "-o", "json").out)["values"] == {
        "replicas": 1,
        "added": {"text": "a"},
        "big": 9007199254740993,
    }
    assert xapp.run("config", "set", target, "added=null", "--wait").code == 0
    assert "added" not in xapp.run("config", "get", target).out
    done = xapp.run("config", "set", target, "-f", "-", stdin="replicas: [")
    assert done.code == 5
    assert "values (line 2, column 1)" in done.err


def test_edit_shows_the_difference_and_keeps_a_refused_text(xapp: CommandLine, chart: Path, namespace: str) -> None:
    target = f"{namespace}/{NAME}"
    deploy(xapp, chart, namespace, "--set", "replicas=1", "--wait")
    done = xapp.run("config", "edit", target, "--yes", EDITOR="sed -i s/replicas:.*/replicas:/")
    assert done.code == 0, done.err
    done = xapp.run("config", "edit", target, "--yes", "--wait", EDITOR="sed -i s/replicas:.*/replicas:\\ 2/")
    assert done.code == 0, done.err
    assert "+replicas: 2" in done.out
    assert xapp.run("config", "edit", target, "--yes", EDITOR="true").err == "nothing was changed\n"
    done = xapp.run("config", "edit", target, "--yes", EDITOR="sed -i s/replicas:.*/replicas/")
    assert done.code == 5
    kept = Path(done.err.partition("Your text is in ")[2].partition(":")[0])
    assert kept.read_text() == "replicas\n"
    kept.unlink()
    assert xapp.run("config", "edit", target, EDITOR="true").code == 2


def test_upgrade_roll_back_and_act(xapp: CommandLine, chart: Path, namespace: str, tmp_path: Path) -> None:
    target = f"{namespace}/{NAME}"
    deploy(xapp, chart, namespace, "--wait")
    newer = tmp_path / "hello-0.2.0.tgz"
    newer.write_bytes(chart_archive(version="0.2.0"))
    done = xapp.run("upgrade", target, "--version", "0.2.0", "--file", str(newer), "--dry-run")
    assert "+++ b/v1 ConfigMap" in done.out, done.err
    done = xapp.run("upgrade", target, "--version", "0.2.0", "--file", str(newer), "--wait")
    assert (done.code, done.out) == (0, f"{target} is Ready\n"), done.err
    done = xapp.run("upgrade", target, "--version", "new")
    assert done.code == 5
    assert "xAppForm.version (--version)" in done.err
    assert xapp.run("history", target, "-o", "name").out.split() == ["2", "1"]
    assert "+++ b/apps/v1 Deployment" in xapp.run("rollback", target, "--dry-run").out
    done = xapp.run("rollback", target, "--wait")
    assert (done.code, done.out) == (0, f"{target} was rolled back to revision 1\n"), done.err
    assert xapp.run("rollback", target, "99").code == 3
    assert xapp.run("suspend", target, "--wait").out == f"{target} is suspended\n"
    assert xapp.run("retry", target).code == 5
    assert xapp.run("resume", target, "--wait").out == f"{target} is resumed\n"
    assert xapp.run("retry", target, "--wait").out == f"{target} was tried again\n"


def test_tests_of_the_chart_have_results(xapp: CommandLine, chart: Path, namespace: str) -> None:
    deploy(xapp, chart, namespace, "--wait")
    done = xapp.run("test", f"{namespace}/{NAME}", "--timeout", "60")
    assert f"{NAME}-probe  Pod" in done.out, done.err


def test_a_failure_is_named_with_its_culprit(xapp: CommandLine, namespace: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tgz"
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: nowhere-at-all}\n"
    broken.write_bytes(chart_archive({"templates/x.yaml": template}))
    done = deploy(xapp, broken, namespace, "--wait", "--timeout", "15")
    assert done.code in {1, 6}, done.err
    assert "nowhere-at-all" in done.err
    watched = xapp.run("status", f"{namespace}/{NAME}", "-w", "--timeout", "2")
    assert watched.code in {1, 6}
    assert "nowhere-at-all" in watched.err


def test_repositories_and_charts(xapp: CommandLine, chart: Path, namespace: str) -> None:
    in_namespace = ("-n", namespace)
    done = xapp.run("repo", "add", "away", "http://127.0.0.1:1/charts", *in_namespace, "--dry-run")
    assert done.code == 1
    assert xapp.run("repo", "add", "away", "http://127.0.0.1:1/charts", *in_namespace).code == 0
    assert "away" in xapp.run("repo", "list", *in_namespace).out
    assert xapp.run("repo", "charts", "away", *in_namespace).code == 1
    assert xapp.run("repo", "remove", "away", *in_namespace).code == 2
    assert xapp.run("repo", "remove", "away", *in_namespace, "--yes").code == 0
    assert xapp.run("chart", "upload", str(chart), "--dry-run").out == "hello 0.1.0\n"
    done = xapp.run("chart", "upload", str(chart), *in_namespace, "-o", "name")
    name = done.out.strip().partition("/")[2]
    assert name in xapp.run("chart", "list", *in_namespace).out
    assert xapp.run("chart", "delete", name, *in_namespace, "--yes").code == 0
    assert xapp.run("chart", "delete", name, *in_namespace, "--yes").code == 3


def test_several_are_removed_by_organization(xapp: CommandLine, chart: Path, namespace: str) -> None:
    for name in ("one", "two"):
        identity = ["--name", name, "--organization", "acme", "--team", "ran", "--version", "0.1.0", "--owner", "jane"]
        assert xapp.run("deploy", *identity, "-n", namespace, "--file", str(chart)).code == 0
    assert xapp.run("delete", "--organization", "nobody", "-n", namespace, "--yes").err == "nothing found\n"
    done = xapp.run("delete", "--organization", "acme", "-n", namespace, "--yes", "--wait")
    assert done.code == 0, done.err
    assert sorted(done.out.splitlines()) == [f"{namespace}/acme-ran-{name} is removed" for name in ("one", "two")]


def test_logs_and_the_api_of_the_xapp(xapp: CommandLine, chart: Path, namespace: str) -> None:
    target = f"{namespace}/{NAME}"
    deploy(xapp, chart, namespace, "--wait")
    assert xapp.run("logs", target, "--tail", "3").out.count("\n") == 3
    assert xapp.run("logs", target, "--pod", "other").code == 3
    assert xapp.run("call", target, "GET", "x", "--service", "nope", "--port", "80").code == 3
    assert xapp.run("call", target, "FETCH", "x").code == 2


def test_names_are_completed(xapp: CommandLine, chart: Path, namespace: str) -> None:
    deploy(xapp, chart, namespace)

    def completed(line: str) -> list[str]:
        words = len(line.split()) - (not line.endswith(" "))
        return xapp.run(_XAPP_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(words)).out.split()

    assert completed(f"xapp get -n {namespace} acme") == [NAME]
    assert completed(f"xapp get {namespace}/ac") == [f"{namespace}/{NAME}"]
    assert completed(f"xapp list -n {namespace[:-2]}") == [namespace]
    assert completed("xapp rep") == ["repo"]
    away = xapp.run(
        _XAPP_COMPLETE="complete_bash", COMP_WORDS="xapp get a", COMP_CWORD="2", XAPP_GATEWAY="http://127.0.0.1:1"
    )
    assert (away.out.strip(), away.err) == ("", "")
