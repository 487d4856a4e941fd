"""A limited number of processes at a time, tested with a program that replaces helm."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.localcluster.waiting import wait_until
from xapp_operator.common.bounded_process import ProcessResult
from xapp_operator.common.sandbox import Sandbox
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import ChartInvalid, HelmError, HelmNotStarted, HelmTimeout
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.helm.processes.runner import HelmCall, HelmRunner, find_helm
from xapp_operator.helm.processes.workspace import Workspace

PROGRAM = """\
#!{python}
import json, os, sys, time
from pathlib import Path
marks = Path({marks!r})
(marks / str(os.getpid())).touch()
print(json.dumps(dict(seen=len(list(marks.iterdir())), argv=sys.argv[1:], environment=dict(os.environ))))
while not Path({gate!r}).exists():
    time.sleep(0.01)
(marks / str(os.getpid())).unlink()
"""


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.fixture
def runner(tmp_path: Path, marks: Path) -> Iterator[HelmRunner]:
    with running_runner(tmp_path, marks) as one:
        yield one


@contextmanager
def running_runner(folder: Path, marks: Path) -> Iterator[HelmRunner]:
    program = folder / "helm"
    program.write_text(PROGRAM.format(python=sys.executable, marks=str(marks), gate=str(folder / "gate")))
    program.chmod(0o755)
    workspace = Workspace(folder / "work")
    yield HelmRunner(
        Settings(),
        limits=HelmLimits(concurrency=2, memory_bytes=300 * MIB, waiting=2, memory_variable="XAPP_HELM_MEMORY"),
        program=find_helm(str(program)),
        workspace=workspace,
        sandbox=Sandbox(landlock_version=0),
        kubeconfig="one:two",
        server=None,
    )
    workspace.close()


def call(**options: object) -> HelmCall:
    given: dict[str, object] = {
        "arguments": ("install", "--x"),
        "subject": "ric/hello",
        "namespace": "ric",
        "timeout_seconds": 60.0,
        **options,
    }
    return HelmCall(**given)  # type: ignore[arg-type]


def ended(code: int, *, stderr: str = "", expired: bool = False, seconds: float = 1.0) -> ProcessResult:
    return ProcessResult(
        exit_code=code, stdout=b"", stdout_truncated=False, stderr=stderr, timed_out=expired, duration_seconds=seconds
    )


async def test_the_number_of_concurrent_processes_is_limited(runner: HelmRunner, marks: Path, tmp_path: Path) -> None:
    running = [asyncio.create_task(runner.run(call(namespace=f"ns{at}"))) for at in range(6)]
    await asyncio.to_thread(wait_until, lambda: len(list(marks.iterdir())) == 2, timeout=60, what="two processes")
    (tmp_path / "gate").touch()
    outcomes = await asyncio.gather(*running)
    assert max(json.loads(outcome.stdout)["seen"] for outcome in outcomes) <= 2


async def test_a_folder_that_cannot_be_used_is_named(runner: HelmRunner, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "work")
    with pytest.raises(
        HelmNotStarted, match=r"helm cannot run \(no such file or directory\): .* XAPP_WORK_DIR"
    ) as refused:
        await runner.run(call())
    assert not refused.value.permanent
    assert runner.slot_counts().used["running"] == 0


async def test_a_queued_call_is_cancelled_without_a_process(runner: HelmRunner, marks: Path, tmp_path: Path) -> None:
    running = [asyncio.create_task(runner.run(call(namespace=f"ns{at}"))) for at in range(2)]
    await asyncio.to_thread(wait_until, lambda: len(list(marks.iterdir())) == 2, timeout=60, what="two processes")
    waiting = asyncio.create_task(runner.run(call()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (tmp_path / "gate").touch()
    assert [outcome.exit_code for outcome in await asyncio.gather(*running)] == [0, 0]


async def test_renderings_for_a_call_run_in_its_place_one_after_the_other(runner: HelmRunner, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    rendering = call(arguments=("template", "--x"), needs_cluster=False)
    async with asyncio.timeout(60), runner.slot("ric", urgent=False) as one:
        outcomes = await asyncio.gather(runner.run(rendering), runner.run(rendering))
        assert [json.loads(each.stdout)["seen"] for each in outcomes] == [1, 1]
        assert runner.slot_counts().used["running"] == 1
        assert (await runner.run(call(), slot=one)).exit_code == 0
        assert runner.slot_counts().used["running"] == 0
        assert (await runner.run(rendering)).exit_code == 0  # in a place of its own


async def test_nobody_waits_for_a_place_while_holding_one(runner: HelmRunner) -> None:
    async with runner.slot("ric", urgent=False):
        with pytest.raises(RuntimeError, match="must not wait for another"):
            runner.slot("other", urgent=True)
        with pytest.raises(RuntimeError, match="must not wait for another"):
            await runner.run(call())
    async with asyncio.timeout(60), runner.slot("other", urgent=False):
        assert runner.slot_counts().used["running"] == 1


async def test_a_call_that_needs_the_cluster_gets_its_address(runner: HelmRunner, tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    printed = json.loads((await runner.run(call())).stdout)
    expected = f"{Path.cwd()}/one:{Path.cwd()}/two"
    assert printed["environment"]["KUBECONFIG"] == expected
    assert printed["environment"]["GOMEMLIMIT"] == str(int(300 * MIB * 0.8))
    assert "PATH" not in printed["environment"]
    assert printed["argv"] == ["install", "--x"]


async def test_a_kernel_without_landlock_is_named_in_the_log_once(tmp_path: Path, marks: Path) -> None:
    (tmp_path / "gate").touch()
    with capture_logs() as logs, running_runner(tmp_path, marks) as runner:
        for _ in range(2):
            assert (await runner.run(call(needs_cluster=False))).exit_code == 0
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == [
        "this kernel has no Landlock: helm could read files of this process while it renders a chart"
    ]


@pytest.mark.parametrize(
    ("outcome", "kind", "part"),
    [
        (ended(1, stderr="Error: no idea", expired=True), HelmTimeout, "60 s"),
        (ended(-9, seconds=61.0), ChartInvalid, "60 s of processor time"),
        (ended(-9), HelmError, "killed by signal 9"),
        (ended(2, stderr="fatal error: runtime: cannot allocate memory\n"), ChartInvalid, "300 MiB of memory"),
        (ended(2, stderr="x\nruntime: out of memory: cannot allocate\n"), ChartInvalid, "300 MiB of memory"),
        (ended(2, stderr="SIGSEGV: segmentation violation\nPC=0x437c7d"), ChartInvalid, "300 MiB of memory"),
        (ended(1, stderr="Error: no idea"), HelmError, "no idea"),
    ],
)
def test_each_outcome_has_its_error(
    runner: HelmRunner, outcome: ProcessResult, kind: type[Exception], part: str
) -> None:
    with pytest.raises(kind, match=part) as caught:
        runner.raise_on_failure(call(), outcome)
    assert caught.type is kind


def test_success_raises_no_error(runner: HelmRunner) -> None:
    runner.raise_on_failure(call(), ended(0))


def test_the_repr_of_a_call_has_no_values() -> None:
    assert "hunter2" not in repr(call(values=b"hunter2"))
