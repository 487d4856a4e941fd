"""Where the gateway is, and who the caller is: the first source that answers counts."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import CommandLine
from tests.support.stand_in_gateway import Reply, StandInGateway, problem
from tests.unit.cli.conftest import Xapp
from xapp_operator.cli.connection.login_file import Login, read_login, write_login
from xapp_operator.cli.connection.resolution import Resolution
from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.config.command_line import CommandLineSettings

NODE = {
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "Hostname", "address": "node"}, {"type": "InternalIP", "address": "10.0.0.5"}],
    }
}
SERVICE_PATH = "/api/v1/namespaces/xapp-operator-system/services/xapp-gateway"


def resolution(
    home: Path, *, gateway: str | None = None, token: str | None = None, ca: Path | None = None
) -> Resolution:
    return Resolution(gateway=gateway, token=token, ca=ca, settings=CommandLineSettings.from_environment(), home=home)


def write_kubeconfig(home: Path, server: str, user: dict[str, object], **context: str) -> Path:
    path = home / ".kube" / "config"
    path.parent.mkdir(exist_ok=True)
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def login_of(home: Path, **changes: str | None) -> None:
    values: dict[str, str | None] = {"gateway": "http://login:1", "token": "of-login", **changes}
    write_login(resolution(home).login_path, Login(**values))  # type: ignore[arg-type]


def test_nothing_known_is_this_machine_and_nobody(home: Path) -> None:
    found = resolution(home)
    assert found.where.url == "http://127.0.0.1:31315"
    assert found.who.token is None
    assert found.namespace is None


def test_the_option_counts_before_the_environment_before_the_login(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login_of(home)
    assert resolution(home).where.url == "http://login:1"
    assert resolution(home).who.token == "of-login"
    monkeypatch.setenv("XAPP_GATEWAY", "http://environment:1/")
    monkeypatch.setenv("XAPP_TOKEN", "of-environment")
    assert resolution(home).where.url == "http://environment:1"
    assert resolution(home).who.token == "of-environment"
    found = resolution(home, gateway="option:1", token="of-option")
    assert (found.where.url, found.who.token) == ("http://option:1", "of-option")


def test_the_token_of_a_login_goes_to_its_gateway_only(home: Path) -> None:
    login_of(home, namespace="ric", ca="/ca.pem")
    other = resolution(home, gateway="http://other:1")
    assert other.who.token is None
    assert other.namespace is None
    assert other.where.ca is None
    same = resolution(home, gateway="http://LOGIN:1/")
    assert (same.who.token, same.namespace, same.where.ca) == ("of-login", "ric", Path("/ca.pem"))


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://user:pass@host", "http://host?x=1", "http://h:99999999"])
def test_what_is_no_address_is_a_usage_error(home: Path, url: str) -> None:
    with pytest.raises(UsageError):
        assert resolution(home, gateway=url).where


def test_the_gateway_of_the_kubeconfigs_cluster_is_found(home: Path, gateway: StandInGateway) -> None:
    ports = [{"name": "http", "port": 31315, "nodePort": 31515, "appProtocol": "http"}]
    gateway.reply(SERVICE_PATH, Reply({"spec": {"type": "NodePort", "ports": ports}}))
    gateway.reply("/api/v1/nodes", Reply({"items": [NODE]}))
    write_kubeconfig(home, gateway.url, {"token": "of-kubeconfig"}, namespace="ric-xapps")
    found = resolution(home)
    assert found.where.url == "http://10.0.0.5:31515"
    assert found.where.found_by == "from the kubeconfig's cluster"
    assert found.who.token == "of-kubeconfig"
    assert found.namespace == "ric-xapps"
    assert gateway.requests[0].headers["Authorization"] == "Bearer of-kubeconfig"


def test_a_gateway_with_tls_behind_a_load_balancer_is_found(home: Path, gateway: StandInGateway) -> None:
    service = {
        "spec": {"ports": [{"name": "https", "port": 443, "nodePort": 31515}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "2001:db8::1"}]}},
    }
    gateway.reply(SERVICE_PATH, Reply(service))
    write_kubeconfig(home, gateway.url, {})
    assert resolution(home).where.url == "https://[2001:db8::1]:443"


def test_without_the_right_to_list_nodes_the_api_servers_host_is_used(home: Path, gateway: StandInGateway) -> None:
    gateway.reply(SERVICE_PATH, Reply({"spec": {"ports": [{"name": "http", "nodePort": 31515}]}}))
    gateway.reply("/api/v1/nodes", problem(403, "access-denied", "no"))
    write_kubeconfig(home, gateway.url, {})
    assert resolution(home).where.url == "http://127.0.0.1:31515"


def test_a_user_who_may_not_look_up_the_gateway_must_name_it(home: Path, gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply(SERVICE_PATH, problem(403, "access-denied", "no"))
    write_kubeconfig(home, gateway.url, {"token": "of-kubeconfig"})
    done = xapp("list")
    assert done.code == 4
    assert "looked for the gateway in the cluster: forbidden; set --gateway or XAPP_GATEWAY" in done.err
    assert resolution(home, gateway="http://x:1").who.token == "of-kubeconfig"


@pytest.mark.parametrize(
    ("server", "token"),
    [
        ("http://127.0.0.1:1", "of-kubeconfig"),
        ("http://k3d.localhost:1", "of-kubeconfig"),
        ("http://cluster.invalid:1", None),
    ],
)
def test_the_token_of_another_machines_cluster_does_not_go_to_this_machine(
    home: Path, server: str, token: str | None
) -> None:
    write_kubeconfig(home, server, {"token": "of-kubeconfig"})
    found = resolution(home)
    assert (found.where.url, found.who.token) == ("http://127.0.0.1:31315", token)


@pytest.mark.parametrize("server", ["http://127.0.0.1:1", "not a url"])
def test_a_cluster_without_a_gateway_means_this_machine(home: Path, server: str) -> None:
    write_kubeconfig(home, server, {})
    assert resolution(home).where.url == "http://127.0.0.1:31315"


def test_a_token_file_counts_before_a_token(home: Path) -> None:
    path = write_kubeconfig(home, "http://127.0.0.1:1", {"token": "static", "tokenFile": "token"})
    (path.parent / "token").write_text("of-file\n")
    assert resolution(home, gateway="http://x:1").who.token == "of-file"


def test_a_credential_plugin_gives_the_token(home: Path) -> None:
    script = "import json, os; print(json.dumps({'status': {'token': os.environ['GIVEN'] + '-of-plugin'}}))"
    plugin = {"command": sys.executable, "args": ["-c", script], "env": [{"name": "GIVEN", "value": "x"}]}
    write_kubeconfig(home, "http://127.0.0.1:1", {"exec": plugin})
    assert resolution(home, gateway="http://x:1").who.token == "x-of-plugin"


@pytest.mark.parametrize("command", ["/no/such/program", "false", "true"])
def test_a_credential_plugin_that_fails_is_an_error(home: Path, command: str) -> None:
    write_kubeconfig(home, "http://127.0.0.1:1", {"exec": {"command": command}})
    with pytest.raises(CliError, match="credential plugin"):
        assert resolution(home, gateway="http://x:1").who


def test_a_plugin_neither_asks_nor_speaks_while_a_shell_completes(home: Path, gateway: StandInGateway) -> None:
    script = "import sys; sys.stderr.write('a question'); sys.exit(sys.stdin.read() != '')"
    write_kubeconfig(home, gateway.url, {"exec": {"command": sys.executable, "args": ["-c", script]}})
    line = CommandLine(home, {"_XAPP_COMPLETE": "complete_bash", "COMP_WORDS": "xapp get a", "COMP_CWORD": "2"})
    done = line.run(stdin="an answer")
    assert (done.out.strip(), done.err) == ("", "")


def test_a_broken_plugin_does_not_matter_with_a_token(home: Path, gateway: StandInGateway) -> None:
    gateway.reply(SERVICE_PATH, Reply({"spec": {"ports": [{"name": "http", "nodePort": 31515}]}}))
    write_kubeconfig(home, gateway.url, {"exec": {"command": "false"}})
    found = resolution(home, token="given")
    assert (found.where.url, found.who.token) == ("http://127.0.0.1:31515", "given")


def test_several_kubeconfigs_are_merged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = home / "first", home / "second"
    first.write_text(yaml.safe_dump({"current-context": "b"}))
    second.write_text(write_kubeconfig(home, "http://127.0.0.1:1", {"token": "t"}).read_text().replace("here", "b"))
    monkeypatch.setenv("KUBECONFIG", f"{first}:{home / 'missing'}:{second}")
    assert resolution(home, gateway="http://x:1").who.token == "t"


def test_a_damaged_kubeconfig_is_an_error(home: Path, xapp: Xapp) -> None:
    write_kubeconfig(home, "http://127.0.0.1:1", {}).write_text("{")
    done = xapp("list")
    assert done.code == 1
    assert "kubeconfig" in done.err


def test_a_login_is_for_its_user_only(home: Path) -> None:
    login_of(home)
    path = resolution(home).login_path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(CliError, match="chmod 600"):
        read_login(path)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"gateway": 3}'])
def test_a_damaged_login_leads_to_no_other_gateway(
    home: Path, gateway: StandInGateway, xapp: Xapp, content: str
) -> None:
    login_of(home)
    resolution(home).login_path.write_text(content)
    done = xapp("list")
    assert done.code == 1
    assert "run `xapp login` again, or `xapp logout`" in done.err
    gateway.reply("/api/about", Reply({"auth": "none"}))
    gateway.reply("/api/session", Reply({"user": None, "groups": [], "auth": "none", "expiresAt": None}))
    assert xapp("login", gateway.url).code == 0
    assert resolution(home).where.url == gateway.url


def test_login_asks_the_gateway_before_it_stores_anything(home: Path, gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/about", Reply({"auth": "kubernetes"}))
    gateway.reply("/api/session", problem(401, "unauthenticated", "unknown token"))
    assert xapp("login", gateway.url, "--token", "bad").code == 4
    assert not resolution(home).login_path.exists()
    gateway.reply("/api/session", Reply({"user": "jane", "groups": [], "auth": "kubernetes", "expiresAt": None}))
    done = xapp("login", gateway.url, "--token", "good-token", "-n", "ric")
    assert done.out == f"signed in at {gateway.url} as jane\n"
    assert json.loads(resolution(home).login_path.read_text())["token"] == "good-token"
    who = xapp("whoami")
    assert "jane" in who.out
    assert "good-token" not in who.out + done.err
    assert gateway.requests[-1].headers["Authorization"] == "Bearer good-token"
    assert xapp("logout").code == 0
    assert not resolution(home).login_path.exists()
    assert xapp("logout").code == 0


def test_a_gateway_that_asks_nobody_needs_no_token(home: Path, gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/about", Reply({"auth": "none"}))
    gateway.reply("/api/session", Reply({"user": None, "groups": [], "auth": "none", "expiresAt": None}))
    write_kubeconfig(home, "http://127.0.0.1:1", {"token": "of-kubeconfig"})
    assert xapp("login", gateway.url).code == 0
    assert resolution(home).who.token is None
