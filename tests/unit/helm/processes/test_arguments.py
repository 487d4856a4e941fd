"""The argument lists follow the design, and no field of a request can become a flag."""

from pathlib import Path

from tests.support.helm_requests import no_secrets
from xapp_operator.helm.processes import arguments
from xapp_operator.helm.requests import (
    ReleaseRequest,
    RollbackRequest,
    TemplateRequest,
    TestRequest,
    UninstallRequest,
)

CHART = Path("/charts/hello.tgz")


def release(**changes: object) -> ReleaseRequest:
    given: dict[str, object] = {"name": "hello", "namespace": "ric", "chart": CHART, "values": b"{}", **changes}
    return ReleaseRequest(**given)  # type: ignore[arg-type]


def template(**changes: object) -> TemplateRequest:
    given: dict[str, object] = {"name": "hello", "namespace": "ric", "chart": CHART, "values": {}, **changes}
    return TemplateRequest(kube_version="v1.36.3", **given)  # type: ignore[arg-type]


def test_install_has_the_designed_flags() -> None:
    assert arguments.install(release(labels={"b": "2", "a": "1"}, timeout=90)) == (
        "install",
        "--namespace=ric",
        "--timeout=90s",
        "--server-side=true",
        "--force-conflicts",
        "--disable-openapi-validation",
        "--wait=hookOnly",
        "--labels=a=1,b=2",
        "--output=json",
        "--values=-",
        "--",
        "hello",
        "/charts/hello.tgz",
    )


def test_upgrade_resets_values_and_bounds_the_history() -> None:
    command = arguments.upgrade(release())
    assert command[:3] == ("upgrade", "--reset-values", "--history-max=0")
    assert "--force-conflicts" in command


def test_options_of_a_request_become_flags() -> None:
    command = arguments.install(
        release(
            user="system:serviceaccount:ric:deployer",
            replace=True,
            take_ownership=True,
            skip_schema=True,
        )
    )
    assert {
        "--kube-as-user=system:serviceaccount:ric:deployer",
        "--replace",
        "--take-ownership",
        "--skip-schema-validation",
    } <= set(command)


def test_a_name_that_looks_like_a_flag_stays_a_name() -> None:
    command = arguments.install(release(name="--kubeconfig=/etc/passwd"))
    assert command.index("--") < command.index("--kubeconfig=/etc/passwd")


def test_a_relative_chart_path_becomes_absolute() -> None:
    assert arguments.install(release(chart=Path("hello.tgz")))[-1] == str(Path.cwd() / "hello.tgz")


def test_a_timeout_is_rounded_up_to_a_second() -> None:
    assert "--timeout=1s" in arguments.install(release(timeout=0.2))


def test_uninstall_keeps_no_history_and_logs_failed_deletes() -> None:
    command = arguments.uninstall(
        UninstallRequest(name="hello", namespace="ric", no_hooks=True, read_secrets=no_secrets)
    )
    assert {"--wait=hookOnly", "--cascade=background", "--debug", "--no-hooks"} <= set(command)
    assert not {"--keep-history", "--ignore-not-found"} & set(command)


def test_rollback_names_the_revision_last() -> None:
    request = RollbackRequest(name="hello", namespace="ric", revision=3, user="u", read_secrets=no_secrets)
    command = arguments.rollback(request)
    assert command[-3:] == ("--", "hello", "3")
    assert {"--server-side=true", "--force-conflicts", "--kube-as-user=u"} <= set(command)


def test_the_test_command_runs_as_the_user() -> None:
    request = TestRequest(name="hello", namespace="ric", user="u", timeout=10, read_secrets=no_secrets)
    command = arguments.test(request)
    assert command == ("test", "--namespace=ric", "--kube-as-user=u", "--timeout=10s", "--", "hello")


def test_many_api_versions_are_spread_over_several_flags() -> None:
    command = arguments.template(template(api_versions=tuple(f"g{n}/v1" for n in range(450))))
    flags = [flag for flag in command if flag.startswith("--api-versions=")]
    assert [flag.count(",") + 1 for flag in flags] == [200, 200, 50]


def test_an_upgrade_is_rendered_as_one() -> None:
    assert "--is-upgrade" in arguments.template(template(upgrade=True))
    assert "--is-upgrade" not in arguments.template(template())


def test_the_environment_has_private_folders_and_the_memory_limit() -> None:
    environment = arguments.environment(
        working_folder=Path("/private/1"),
        discovery_cache=Path("/private/discovery"),
        kubeconfig="/etc/kubeconfig",
        memory_bytes=1000,
    )
    folders = {name for name, value in environment.items() if value.startswith("/private/1")}
    assert {"HOME", "TMPDIR", "HELM_PLUGINS", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} <= folders
    assert environment["KUBECONFIG"] == "/etc/kubeconfig"
    assert int(environment["GOMEMLIMIT"]) < 1000
    assert "PATH" not in environment
