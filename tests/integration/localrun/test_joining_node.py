"""A `make run` that has to build programs of the real node begins without it; the node joins later."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.localrun.make_run import MakeRun, start_make_run
from tests.localcluster import Binaries, ClusterFailed, LocalCluster
from tests.localcluster.binaries import cache_root
from tests.localcluster.node_choice import NODE_VARIABLE
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.realnode.node import NODE_NAME
from tests.localcluster.start_request import JOINING
from tests.localcluster.tools import NODE_TOOLS
from tests.localcluster.waiting import wait_until
from tests.localrun.background import NAME
from tests.localrun.samples import METADATA_PATH, NAMESPACE

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

DEADLINE_SECONDS = 180.0
MISSING = NODE_TOOLS["pause"]
"""The program that the runs have to build: it takes a second."""


@pytest.fixture
def environment(joining_node_supported: None, tmp_path: Path) -> dict[str, str]:
    """The environment of a run whose cache has all programs but one of the real node."""
    base, real = tmp_path / "cache", cache_root() / "tools"
    tools = base / "xapp-operator" / "tools"
    tools.mkdir(parents=True)
    for folder in real.iterdir():
        if folder.is_dir() and not folder.name.startswith((".", f"{MISSING.name}-")):
            (tools / folder.name).symlink_to(folder)
    go_cache = os.environ.get("GOCACHE") or str(Path.home() / ".cache" / "go-build")
    return {**os.environ, NODE_VARIABLE: "auto", "XDG_CACHE_HOME": str(base), "GOCACHE": go_cache}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path, binaries: Binaries) -> Iterator[MakeRun]:
    """Such a run."""
    assert binaries
    with start_make_run(tmp_path / "run", environment=environment) as one:
        yield one


def nodes_of_samples(run: MakeRun) -> set[str]:
    """Return the names of the nodes on which pods of the samples run."""
    pods = json.loads(run.cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
    return {pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Running"}


def api_answers(run: MakeRun) -> bool:
    """Return whether the API of the uploaded sample answers through the gateway."""
    return httpx.get(f"{run.url}{METADATA_PATH}", timeout=DEADLINE_SECONDS).is_success


def lines_until(run: MakeRun, text: str) -> list[str]:
    """Return the lines that the run prints after its summary, up to the first with ``text``."""
    lines: list[str] = []
    for line in run.process.stdout or ():
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f"it ended without {text!r}:\n{''.join(lines)}")


def test_the_real_node_joins_and_the_printed_commands_move_the_samples_to_it(run: MakeRun) -> None:
    assert "simulated nodes first: " in run.output
    assert all(name.startswith("simulated-") for name in nodes_of_samples(run))
    services = run.services

    printed = lines_until(run, METADATA_PATH)

    assert any("real node: joined" in line for line in printed)
    commands = [line for line in printed if line.startswith("  ")]
    subprocess.run(["bash", "-euc", "".join(commands)], check=True, capture_output=True, timeout=DEADLINE_SECONDS)
    wait_until(lambda: nodes_of_samples(run) == {NODE_NAME}, timeout=DEADLINE_SECONDS, what="the move", interval=0.5)
    wait_until(lambda: api_answers(run), timeout=DEADLINE_SECONDS, what="the API of the sample", interval=0.5)
    assert run.services == services
    assert run.cluster.node_address == run.cluster.advertise_address


def test_the_next_run_has_the_real_node_from_the_start(environment: dict[str, str], run: MakeRun) -> None:
    lines_until(run, METADATA_PATH)
    assert run.stop() == 0

    with start_make_run(run.folder, environment=environment) as second:
        assert nodes_of_samples(second) == {NODE_NAME}
        assert "simulated nodes first: " not in second.output


def test_a_build_that_fails_leaves_the_simulated_nodes(environment: dict[str, str], tmp_path: Path) -> None:
    fake_go(tmp_path / "bin", "echo no such package >&2; exit 1")
    path = f"{tmp_path / 'bin'}:{environment['PATH']}"

    with start_make_run(tmp_path / "run", environment={**environment, "PATH": path}) as run:
        (last,) = [line for line in lines_until(run, "real node: not added") if "not added" in line]
        assert f"go build of {MISSING.name} failed" in last
        assert "no such package" in (run.folder / "logs" / f"{NAME}.log").read_text()
        assert httpx.get(f"{run.url}/readyz").is_success
        assert run.stop() == 0


def test_a_node_that_does_not_start_leaves_the_cluster_running(environment: dict[str, str], tmp_path: Path) -> None:
    cache = Path(environment["XDG_CACHE_HOME"]) / "xapp-operator"
    binaries = Binaries(root=cache)
    kubelet = binaries.cached_path(NODE_TOOLS["kubelet"])
    (cache / "tools" / kubelet.relative_to(cache / "tools").parts[0]).unlink()
    kubelet.parent.mkdir(parents=True)
    kubelet.write_text("#!/bin/sh\necho this kubelet is broken; exit 1\n")
    kubelet.chmod(0o755)
    local = LocalCluster(tmp_path / "cluster", nodes={"simulated": 1, JOINING: 1}, binaries=binaries)

    with local as cluster:
        assert cluster.node_address is None
        for _ in range(2):
            with pytest.raises(ClusterFailed, match=r"(?s)did not join: kubelet ended.*this kubelet is broken"):
                local.join_real_node()
        assert "kubelet" not in local.state().processes
        assert cluster.kubectl("get", "nodes", "-o", "name").split() == ["node/simulated-0"]


def test_ctrl_c_ends_the_background_build_and_leaves_the_cache_whole(
    environment: dict[str, str], tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    fake_go(tmp_path / "bin", f'sleep 300 & echo $! >"{pid_file}.half"; mv "{pid_file}.half" "{pid_file}"; wait')
    path = f"{tmp_path / 'bin'}:{environment['PATH']}"

    with start_make_run(tmp_path / "run", environment={**environment, "PATH": path}) as run:
        wait_until(pid_file.exists, timeout=DEADLINE_SECONDS, what="the build", interval=0.2)
        compiler = ProcessIdentity.of(int(pid_file.read_text()))
        assert compiler
        processes = [compiler, *LocalCluster(run.folder).state().identities]
        assert run.stop(signal.SIGINT) == 0

    assert [process for process in processes if process.alive] == []
    tools = Path(environment["XDG_CACHE_HOME"]) / "xapp-operator" / "tools"
    assert [path.name for path in tools.iterdir() if not path.is_symlink()] == [f".{MISSING.module}.lock"]


def fake_go(folder: Path, build: str) -> None:
    """Write a Go command whose builds run a shell command."""
    folder.mkdir()
    go = folder / "go"
    go.write_text(f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.99.0; exit; fi\n{build}\n')
    go.chmod(0o755)
