"""`make doctor` names what a machine lacks, and `.ci/run` installs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.browser.chromium import CHROMIUM
from tests.integration.localrun.page_commands import OPTIONAL_PROGRAMS
from tests.localcluster.gobuild import GO_MINIMUM
from tests.localcluster.tools import ALL_TOOLS

ROOT = Path(__file__).parents[2]
COPIED = (
    *(".ci/run", "hack/doctor", "hack/venv", "hack/machine-needs.txt"),
    *("pyproject.toml", "requirements-dev.lock", "tests/localcluster/gobuild.py"),
)
OF_THE_SYSTEM = ("bash", "cat", "dirname", "grep", "sed", "sha256sum", "sort", "timeout", "tr")
NEEDS = [line.split("|") for line in (ROOT / "hack/machine-needs.txt").read_text().splitlines() if line[0] != "#"]
FOR_RUN = ("base",)
NEEDED = (*FOR_RUN, "tests", "pages", "shells", "browser")

Answer = subprocess.CompletedProcess[str]
RunDoctor = Callable[..., Answer]


def programs(*groups: str) -> set[str]:
    return {check.removeprefix("program ") for group, _, check, *_ in NEEDS if group in groups and "program" in check}


@pytest.fixture
def doctor(tmp_path: Path) -> RunDoctor:
    """Run a script of a checkout without .venv, on a machine that has the given programs only."""
    checkout, found, root = tmp_path / "checkout", tmp_path / "bin", tmp_path / "root"
    for name in COPIED:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    found.mkdir()
    for name in OF_THE_SYSTEM:
        program = shutil.which(name)
        assert program, name
        (found / name).symlink_to(program)

    def run(
        *arguments: str, script: str = "hack/doctor", have: Iterable[str] = (), go: str = "", files: bool = True
    ) -> Answer:
        for name in have:
            write_program(found / name, "")
        if go:
            write_program(found / "go", f"echo {go}")
        for _, _, check, *_ in NEEDS:
            if files and check.startswith("file "):
                path = root / check.removeprefix("file /")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        return subprocess.run(
            [found / "bash", checkout / script, *arguments],
            env={"PATH": str(found), "DOCTOR_ROOT": str(root)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
    path.chmod(0o755)


def line_about(what: str, answer: Answer) -> list[str]:
    (line,) = (line for line in answer.stdout.splitlines() if re.match(rf"\w+ +{re.escape(what)}(  |$)", line))
    return re.split(r" {2,}", line)


def test_bare_machine_lacks_everything_and_is_told_what_to_install(doctor: RunDoctor) -> None:
    answer = doctor(files=False)
    assert answer.returncode == 1, answer.stderr
    assert answer.stderr == ""
    for _, what, _, packages, purpose in NEEDS:
        assert line_about(what, answer) == ["missing", what, purpose, f"apt-get install {packages}"]
    assert answer.stdout.splitlines()[-2:] == [lacks("make run", *FOR_RUN), lacks("make test", *NEEDED)]


def lacks(target: str, *groups: str) -> str:
    """Return the verdict of a machine that has nothing of these groups."""
    needs = [need for need in NEEDS if need[0] in groups]
    packages = sorted({package for *_, names, _ in needs for package in names.split()})
    return f"{target}: lacks {', '.join(need[1] for need in needs)} (apt-get install {' '.join(packages)})"


def test_what_only_a_real_node_needs_is_optional(doctor: RunDoctor) -> None:
    answer = doctor(have={*programs(*NEEDED), "python3"})
    assert (answer.returncode, answer.stderr) == (0, "")
    assert line_about("make", answer) == ["present", "make", "all targets"]
    assert line_about("DejaVu fonts", answer) == ["present", "DejaVu fonts", "make test: the dashboard"]
    needed, optional = answer.stdout.split("\nOptional:\n")
    assert "missing" not in needed
    assert line_about("nft", answer)[0] == "missing"
    assert "nft" in optional
    assert line_about("root, kernel", answer)[-1] == "make venv, then make doctor again"
    assert answer.stdout.splitlines()[-2:] == ["make run: ready", "make test: ready"]


@pytest.mark.parametrize("need", [need for need in NEEDS if need[0] in NEEDED and need[2].startswith("program ")])
def test_each_program_that_make_needs_is_missed(doctor: RunDoctor, need: list[str]) -> None:
    group, what, check, packages, _ = need
    answer = doctor(have={*programs(*NEEDED), "python3"} - {check.removeprefix("program ")})
    assert answer.returncode == 1
    assert line_about(what, answer)[0] == "missing"
    verdict = f"lacks {what} (apt-get install {packages})"
    of_run = verdict if group in FOR_RUN else "ready"
    assert answer.stdout.splitlines()[-2:] == [f"make run: {of_run}", f"make test: {verdict}"]


def test_python_without_its_venv_module_is_not_enough_unless_uv_is_there(doctor: RunDoctor, tmp_path: Path) -> None:
    have = programs(*NEEDED)
    assert line_about("Python 3.11 with venv", doctor(have=have))[0] == "missing"
    write_program(tmp_path / "bin" / "python3", "[[ $2 != *ensurepip* ]]")
    assert line_about("Python 3.11 with venv", doctor())[0] == "missing"
    assert doctor(have=["uv"]).returncode == 0


def test_uv_without_python_is_not_enough(doctor: RunDoctor) -> None:
    assert line_about("Python 3.11 with venv", doctor(have={*programs(*NEEDED), "uv"}))[0] == "missing"
    setup = doctor(script="hack/venv", have=["flock", "rm"])
    assert setup.returncode == 1
    assert setup.stderr.endswith("no Python 3.11 or newer on PATH: install one, or run make PYTHON=/path/to/python3\n")


def test_library_is_found_by_pkg_config(doctor: RunDoctor) -> None:
    assert line_about("libseccomp", doctor(have=["pkg-config"]))[0] == "present"


def test_docker_that_does_not_answer_is_not_there(doctor: RunDoctor, tmp_path: Path) -> None:
    assert line_about("docker", doctor())[-1] == "apt-get install docker.io"
    write_program(tmp_path / "bin" / "docker", "exit 1")
    assert line_about("docker (no answer)", doctor())[0] == "missing"
    assert line_about("docker", doctor(have=["docker", "kind"]))[0] == "present"
    assert line_about("kind", doctor())[0] == "present"


def test_old_go_is_not_enough(doctor: RunDoctor) -> None:
    what = f"Go {GO_MINIMUM[0]}.{GO_MINIMUM[1]}"
    assert line_about(what, doctor())[0] == "missing"
    assert line_about(what, doctor(go=f"go{GO_MINIMUM[0]}.9.3"))[0] == "missing"
    assert line_about(what, doctor(go=f"go{GO_MINIMUM[0]}.{GO_MINIMUM[1]}.1"))[0] == "present"
    assert line_about(what, doctor(go=f"go{GO_MINIMUM[0]}.{GO_MINIMUM[1] + 1}"))[0] == "present"


def test_packages_of_groups_are_listed_for_ci(doctor: RunDoctor) -> None:
    answer = doctor("--packages", "real-node-build", "pages", have=["jq"])
    assert answer.stdout.split() == ["gcc", "libc6-dev", "libseccomp-dev", "openssl", "pkg-config"]
    unknown = doctor("--packages", "pages", "wrong")
    assert (unknown.returncode, unknown.stderr) == (2, "error: hack/machine-needs.txt has no group wrong\n")


def test_ci_installs_all_groups() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    groups = {group for group, *_ in NEEDS}
    strict = re.search(r"^strict=\((.*?)\)", script, re.MULTILINE)
    assert strict
    named = " ".join(re.findall(r"hack/doctor --packages ([\w -]+)", script))
    assert groups == {*named.split(), *strict[1].split()}


def test_ci_fails_where_it_cannot_install_what_is_missing(doctor: RunDoctor) -> None:
    answer = doctor(script=".ci/run", have={*programs(*NEEDED), "python3"} - {"git", "gpg"})
    assert answer.returncode == 1
    assert answer.stderr == "error: this machine lacks git gnupg; install them and run this again\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root must run all tests")
def test_ci_allows_no_skip_where_nothing_is_missing(doctor: RunDoctor, tmp_path: Path) -> None:
    have = {*programs(*(group for group, *_ in NEEDS)), "python3"}
    doctor(have=have - {"jq"})
    write_program(tmp_path / "bin" / "make", 'echo "make $1, forbidden: ${XAPP_FORBID_SKIPS:-no}"')
    write_program(tmp_path / "bin" / "apt-get", 'echo "apt-get $@"')
    assert doctor(script=".ci/run").stdout.splitlines() == [
        "apt-get update -qq",
        "apt-get install -qq --no-install-recommends jq",
        "make audit, forbidden: no",
        "make test, forbidden: no",
    ]
    assert doctor(script=".ci/run", have=["jq"]).stdout.splitlines() == [
        "make audit, forbidden: 1",
        "make test, forbidden: 1",
    ]


def test_needs_are_those_of_the_tests_and_builds() -> None:
    assert CHROMIUM in programs("browser")
    assert set(OPTIONAL_PROGRAMS) <= programs(*NEEDED)
    packages = {package for group, *_, names, _ in NEEDS if group == "real-node-build" for package in names.split()}
    assert packages == {package for tool in ALL_TOOLS.values() for package in tool.debian_packages}
