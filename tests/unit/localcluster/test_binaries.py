"""Programs are found, or downloaded or built exactly once, and never visible before they are complete."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.localcluster import gobuild
from tests.localcluster.binaries import Binaries, Producer, build_seconds, cache_root, platform_key
from tests.localcluster.gobuild import BuildFailed, go_version
from tests.localcluster.processes import ProcessIdentity
from tests.localcluster.tools import CHECK_TOOLS, GOTOOLS, NODE_TOOLS, TEST_TOOLS, TOOLS, Tool
from tests.localcluster.waiting import wait_until


@pytest.fixture(autouse=True)
def no_assets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


def recording_producer(calls: list[list[str]], *, only: Sequence[str] = tuple(TOOLS)) -> Producer:
    """Return a producer that writes each program's name into its file, and records its calls."""

    def produce(tools: Sequence[Tool], scratch: Path) -> Mapping[str, Path]:
        calls.append([tool.name for tool in tools])
        made = {tool.name: scratch / tool.name for tool in tools if tool.name in only}
        for name, path in made.items():
            path.write_text(name)
        return made

    return produce


def discard_progress(_line: str) -> None:
    """Discard a progress line."""


def make_binaries(root: Path, *producers: Producer) -> Binaries:
    return Binaries(root=root, progress=discard_progress, producers=producers)


def test_every_version_is_pinned_by_the_go_module() -> None:
    for tool in (*TOOLS.values(), *NODE_TOOLS.values(), *CHECK_TOOLS.values()):
        if tool.package.startswith("xapp-operator.io/"):
            continue
        pinned = (GOTOOLS / tool.module / "go.mod").read_text()
        module_paths = [tool.package.rsplit("/", count)[0] for count in range(tool.package.count("/"))]
        versions = [re.search(rf"(?m)^(?:require\s+|\s+){re.escape(path)} (\S+)", pinned) for path in module_paths]
        assert [version[1] for version in versions if version] == [tool.version], tool.name


def test_the_cache_is_outside_the_checkout_and_keyed_by_version_and_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tool = TOOLS["helm"]

    path = Binaries().cached_path(tool)

    assert cache_root() == tmp_path / "xapp-operator"
    assert path == tmp_path / "xapp-operator/tools" / f"helm-{tool.version}" / "-".join(platform_key()) / "helm"


def test_a_missing_program_is_built_once_and_then_found(tmp_path: Path) -> None:
    calls: list[list[str]] = []
    binaries = make_binaries(tmp_path, recording_producer(calls))

    first = binaries.resolve(["helm"])
    second = binaries.resolve(["helm"])

    assert calls == [["helm"]]
    assert first == second
    assert first["helm"].read_text() == "helm"
    assert first["helm"].stat().st_mode & 0o111


def test_only_missing_programs_of_a_module_are_built_and_together(tmp_path: Path) -> None:
    calls: list[list[str]] = []
    binaries = make_binaries(tmp_path, recording_producer(calls))

    binaries.resolve(["kubectl"])
    binaries.resolve(["kubectl", "helm", "kube-apiserver", "kube-scheduler"])

    assert calls == [["kubectl"], ["helm"], ["kube-apiserver", "kube-scheduler"]]


def test_modules_are_built_in_the_order_of_the_request(tmp_path: Path) -> None:
    calls: list[list[str]] = []

    make_binaries(tmp_path, recording_producer(calls)).resolve(["kube-scheduler", "etcd", "kubectl", "helm"])

    assert calls == [["kube-scheduler", "kubectl"], ["etcd"], ["helm"]]


def test_an_interrupted_build_ends_its_compilers_and_leaves_nothing(tmp_path: Path) -> None:
    go = script(tmp_path / "bin", "go", 'touch "$GOTMPDIR/object"; sleep 60 & echo $! >&2; wait')
    pids: list[int] = []

    def build(tools: Sequence[Tool], scratch: Path) -> Mapping[str, Path]:
        return gobuild.build(tools, go=go, folder=scratch, progress=discard_progress)

    def interrupt_when_it_compiles() -> None:
        children = wait_until(lambda: _descendants(os.getpid(), "sleep"), timeout=30.0, what="the compiler")
        pids.extend(children)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt_when_it_compiles)
        with pytest.raises(KeyboardInterrupt):
            make_binaries(tmp_path / "cache", build).resolve(["helm"])

    assert pids
    assert [pid for pid in pids if ProcessIdentity.of(pid)] == []
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_the_next_provider_builds_what_the_first_one_lacks(tmp_path: Path) -> None:
    downloads: list[list[str]] = []
    builds: list[list[str]] = []
    binaries = make_binaries(tmp_path, recording_producer(downloads, only=["kubectl"]), recording_producer(builds))

    binaries.resolve(["kube-apiserver", "kubectl"])

    assert downloads == [["kube-apiserver", "kubectl"]]
    assert builds == [["kube-apiserver"]]


def test_given_assets_take_precedence_over_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "helm"):
        (assets / name).touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    calls: list[list[str]] = []

    found = make_binaries(tmp_path / "cache", recording_producer(calls)).resolve(["etcd", "helm"])

    assert found["etcd"] == assets / "etcd"
    assert calls == [["helm"]]


def test_concurrent_callers_build_a_program_once(tmp_path: Path) -> None:
    calls: list[list[str]] = []
    other_waits = Event()
    produce = recording_producer(calls)

    def slow(tools: Sequence[Tool], scratch: Path) -> Mapping[str, Path]:
        assert other_waits.wait(30.0)
        return produce(tools, scratch)

    def notice(line: str) -> None:
        if line.startswith("waiting for another process"):
            other_waits.set()

    def resolve() -> dict[str, Path]:
        return Binaries(root=tmp_path, progress=notice, producers=(slow,)).resolve(["helm"])

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(resolve), pool.submit(resolve)
        assert one.result() == other.result()

    assert calls == [["helm"]]


def test_a_failed_build_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    def fail(_tools: Sequence[Tool], scratch: Path) -> Mapping[str, Path]:
        (scratch / "helm").write_text("half")
        raise BuildFailed("no")

    with pytest.raises(BuildFailed):
        make_binaries(tmp_path, fail).resolve(["helm"])

    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    assert make_binaries(tmp_path, recording_producer([])).resolve(["helm"])["helm"].read_text() == "helm"


def test_remains_of_a_killed_build_are_removed(tmp_path: Path) -> None:
    remains = tmp_path / "tools/.helm.tmp/left-behind"
    remains.mkdir(parents=True)

    make_binaries(tmp_path, recording_producer([])).resolve(["helm"])

    assert not remains.exists()


def test_the_programs_of_a_real_node_are_built_only_on_request() -> None:
    assert not set(TOOLS) & {*NODE_TOOLS, *TEST_TOOLS}


def test_a_program_of_this_project_is_rebuilt_when_its_source_changes() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", NODE_TOOLS["pause"].version)
    assert NODE_TOOLS["pause"].version != TEST_TOOLS["testpod"].version


def test_an_unknown_program_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="unheard-of"):
        make_binaries(tmp_path).resolve(["unheard-of"])


@pytest.mark.parametrize(("answer", "version"), [("go1.26.8", (1, 26)), ("go1.9", (1, 9)), ("devel +abc", (0, 0))])
def test_the_version_of_go_is_read_from_the_command(tmp_path: Path, answer: str, version: tuple[int, int]) -> None:
    go = tmp_path / "go"
    go.write_text(f"#!/bin/sh\necho '{answer}'\n")
    go.chmod(0o755)

    assert go_version(go) == version


def test_a_missing_go_has_version_zero(tmp_path: Path) -> None:
    assert go_version(tmp_path / "go") == (0, 0)


def _descendants(pid: int, name: str) -> list[int]:
    """Return the ids of the processes below ``pid`` that run the program ``name``."""
    answer = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in answer.stdout.splitlines()]
    found, level = [], {str(pid)}
    while level:
        below = [row for row in rows if row[1] in level]
        found += [int(row[0]) for row in below if row[2] == name]
        level = {row[0] for row in below}
    return found


def script(folder: Path, name: str, text: str) -> Path:
    """Write a program that prints a text."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


HELM = TOOLS["helm"]


@pytest.mark.parametrize("answer", [HELM.version, f"{HELM.version}+g7a5a1c3", f"version {HELM.version[1:]} (linux)"])
def test_a_program_of_the_wanted_version_on_path_is_copied(
    answer: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = script(tmp_path / "bin", "helm", f"echo '{answer}'")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    found = Binaries(root=tmp_path / "cache", progress=discard_progress).resolve(["helm"])

    assert found["helm"].read_bytes() == program.read_bytes()
    assert found["helm"].is_relative_to(tmp_path / "cache")
    assert not found["helm"].is_symlink()


@pytest.mark.parametrize(
    "text",
    [
        f"echo '{HELM.version}0'",
        f"echo 1'{HELM.version[1:]}'",
        f"echo '{HELM.version}-rc.1'",
        f"echo '{HELM.version}'; exit 1",
        f'case $0 in *cache*) exit 1; esac; echo "{HELM.version}"',  # a wrapper that works only in its own folder
    ],
)
def test_other_programs_on_path_are_not_used(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "bin", "helm", text)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    binaries = Binaries(root=tmp_path / "cache", progress=discard_progress)
    (tmp_path / "scratch-cache").mkdir()

    assert binaries._copy_from_path([HELM], tmp_path / "scratch-cache") == {}


def test_what_was_announced_with_more_is_not_announced_again(tmp_path: Path) -> None:
    lines: list[str] = []
    binaries = Binaries(root=tmp_path, progress=lines.append, producers=(recording_producer([]),))

    binaries.announce(["etcd", "helm"])
    for name in ("etcd", "helm"):
        binaries.resolve([name], announced=True)

    assert [line.partition(".")[0] for line in lines] == ["missing: etcd, helm"]


def test_a_tool_can_add_to_the_time_of_its_module() -> None:
    kubectl, kubelet = TOOLS["kubectl"], NODE_TOOLS["kubelet"]
    assert build_seconds([kubectl, kubelet]) > build_seconds([kubectl]) == build_seconds([kubectl, kubectl]) > 0
    assert build_seconds([kubelet], after=[kubectl]) == build_seconds([kubectl, kubelet]) - build_seconds([kubectl])


def test_what_must_be_built_is_named_with_the_time_that_it_takes(tmp_path: Path) -> None:
    lines: list[str] = []
    binaries = Binaries(root=tmp_path, progress=lines.append, producers=(recording_producer([]),))

    binaries.resolve(["helm", "kubectl", "etcd"])
    binaries.resolve(["helm"])

    minutes = round((75 + 160 + 450) / len(os.sched_getaffinity(0)) / 60)
    assert [line for line in lines if line.startswith("missing")] == [
        "missing: helm, kubectl, etcd. What is neither on PATH nor can be downloaded is built from source, once per "
        f"machine: all of it takes about {minutes} min here"
    ]
