"""A chart makes helm read the token of the gateway's pod, another tenant's chart, or the network, while it renders.

A rendering runs in a process without any credential: its environment names none, it inherits no open file, and the
kernel refuses all files but its chart and the system's programs.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.localcluster import Binaries
from tests.support.charts import chart_archive
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult, run_process
from xapp_operator.common.sandbox import Sandbox
from xapp_operator.common.sandboxed_exec import CANNOT_RESTRICT, landlock_version
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import ChartInvalid, HelmError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.helm.processes.runner import HelmRunner
from xapp_operator.helm.processes.workspace import Workspace
from xapp_operator.helm.requests import TemplateRequest

pytestmark = pytest.mark.skipif(landlock_version() < 6, reason="needs Landlock as of Linux 6.12")

TOKEN = "token-of-the-pod"
LIMITS = ProcessLimits(timeout_seconds=60, grace_seconds=0, memory_bytes=512 * MIB, stdout_bytes=MIB)
ATTEMPTS = {
    "read the token": "exec cat '{folder}/token'",
    "list a folder": "exec ls '{folder}'",
    "write a file": "exec tee '{folder}/token'",
    "read the environment of the gateway": "exec cat /proc/{gateway}/environ",
    "send the gateway a signal": "kill -0 {gateway}",
    "connect to a port": "exec 3<>/dev/tcp/127.0.0.1/{port}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the gateway with the token of its pod."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text(TOKEN)
    return folder


@pytest.fixture
def port() -> Iterator[int]:
    """The port of an HTTP server on loopback that answers with a JSON schema that refuses all values."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"required": ["never"]}')

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def bash(script: str, folder: Path) -> Command:
    return Command(
        program="/bin/bash",
        arguments=("-c", script),
        environment={"PATH": os.environ["PATH"]},
        working_folder=folder,
        stdin=b"text",
    )


async def run(command: Command) -> ProcessResult:
    return await run_process(command, limits=LIMITS)


@pytest.mark.parametrize("attempt", ATTEMPTS)
async def test_a_process_in_the_sandbox_reaches_nothing_of_the_gateway(
    attempt: str, folder: Path, tmp_path: Path, port: int
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = ATTEMPTS[attempt].format(folder=folder, port=port, gateway=os.getpid())
    free = await run(bash(script, work))
    assert free.exit_code == 0, free.stderr

    sandboxed = await run(Sandbox(landlock_version=landlock_version()).restrict(bash(script, work)))

    assert sandboxed.exit_code != 0
    assert "ermi" in sandboxed.stderr  # permission denied, or operation not permitted
    assert sandboxed.stdout in (b"", b"text")  # tee repeats its input


async def test_a_process_in_the_sandbox_has_its_own_folder_and_its_chart(folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    chart = tmp_path / "chart.tgz"
    chart.write_text("packaged")
    sandbox = Sandbox(landlock_version=landlock_version())

    done = await run(sandbox.restrict(bash(f"cat {chart} > copy && cat copy -", work), readable=[chart]))

    assert (done.exit_code, done.stdout) == (0, b"packagedtext")


async def test_without_the_restrictions_the_program_is_not_started(tmp_path: Path) -> None:
    command = bash("echo started", tmp_path)
    # The kernel refuses a rule for a pipe.
    sandboxed = Sandbox(landlock_version=landlock_version()).restrict(command, readable=[Path("/proc/self/fd/0")])

    done = await run(sandboxed)

    assert (done.exit_code, done.stdout) == (CANNOT_RESTRICT, b"")
    assert "Landlock" in done.stderr


@pytest.mark.parametrize("source", ["file", "http"])
async def test_helm_cannot_follow_a_reference_in_the_schema_of_a_chart(
    source: str, binaries: Binaries, folder: Path, tmp_path: Path, port: int
) -> None:
    (folder / "schema.json").write_text('{"required": ["never"]}')
    reference = f"file://{folder}/schema.json" if source == "file" else f"http://127.0.0.1:{port}/schema.json"
    helm = str(binaries.resolve(["helm"])["helm"])
    request = template_request(tmp_path, {"values.schema.json": json.dumps({"$ref": reference})})
    free = await run(
        Command(
            program=helm,
            arguments=("template", "hello", str(request.chart)),
            environment={"HOME": str(tmp_path)},
            working_folder=tmp_path,
        )
    )
    assert "missing property 'never'" in free.stderr, "helm no longer follows references"
    engine = HelmEngine(Settings(helm=helm, cache_dir=tmp_path / "cache"))

    with pytest.raises(ChartInvalid, match="permission denied"):
        await engine.template(request)
    engine.close()


async def test_a_rendering_has_no_environment_and_no_open_file_of_the_gateway(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    monkeypatch.setenv("XAPP_SESSION_SECRET", "x")
    program = tmp_path / "helm"
    program.write_text(
        "#!/usr/bin/bash\nenv; for n in {3..99}; do (exec <&$n) 2>/dev/null && echo open $n; done; true\n"
    )
    program.chmod(0o755)
    engine = HelmEngine(Settings(helm=str(program), cache_dir=tmp_path / "cache"))

    with (folder / "token").open() as inherited:
        os.set_inheritable(inherited.fileno(), True)
        rendered = await engine.template(template_request(tmp_path, {}))
    engine.close()

    lines = rendered.manifest.splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert {"HOME", "KUBECONFIG", "GOMEMLIMIT"} <= names
    assert not {name for name in names if name.startswith(("XAPP_", "KUBERNETES_"))}
    assert [line for line in lines if line.startswith("open")] == []
    assert [line for line in lines if line.startswith("KUBECONFIG=") and not line.endswith("/none")] == []


async def test_a_program_that_cannot_be_restricted_is_an_error_of_the_gateway(tmp_path: Path) -> None:
    program = tmp_path / "helm"
    program.write_text(f"#!/usr/bin/bash\nexit {CANNOT_RESTRICT}\n")
    program.chmod(0o755)
    engine = HelmEngine(Settings(helm=str(program), cache_dir=tmp_path / "cache"))
    with pytest.raises(HelmError, match="not started"):
        await engine.template(template_request(tmp_path, {}))
    engine.close()


@pytest.mark.parametrize(("required", "version", "starts"), [(True, 0, False), (True, 1, True), (False, 0, True)])
def test_without_landlock_the_process_does_not_start_if_the_sandbox_is_required(
    tmp_path: Path, required: bool, version: int, starts: bool
) -> None:
    settings = Settings(require_sandbox=required, cache_dir=tmp_path)
    with nullcontext() if starts else pytest.raises(HelmError, match="XAPP_REQUIRE_SANDBOX"):
        HelmRunner(
            settings,
            limits=HelmLimits.for_operator(settings),
            program=Path("/bin/true"),
            workspace=Workspace(tmp_path / "helm"),
            sandbox=Sandbox(landlock_version=version),
            kubeconfig=None,
            server=None,
        )


def template_request(folder: Path, files: dict[str, str]) -> TemplateRequest:
    chart = folder / "chart.tgz"
    chart.write_bytes(chart_archive({"templates/c.yaml": "{kind: ConfigMap}", **files}))
    return TemplateRequest(name="hello", namespace="ric", chart=chart, values={}, kube_version="v1.36.3")


def test_the_launcher_needs_only_the_standard_library() -> None:
    # It runs with `-I -S`, without the packages of the virtual environment.
    source = (Path(__file__).parents[2] / "operator/xapp_operator/common/sandboxed_exec.py").read_text()
    imported = {line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names | {"__future__"}
