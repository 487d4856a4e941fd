"""The shell blocks of a page of the documentation, run in order against one `make run`."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.localrun.make_run import MakeRun
from tests.localcluster.cluster import ROOT
from tests.localrun.samples import REPOSITORY_PORT
from tests.localrun.services import DEFAULT_PORT
from tests.support.shell_blocks import Block

PAGE_SECONDS = 300.0
CURL_SETTINGS = "fail-with-body\nsilent\nshow-error\nnoproxy = *\n"
OPTIONAL_PROGRAMS = ("gpg", "jq", "openssl")
"""What some pages need besides the programs of a checkout."""

_STEP = "\n@@ step {}\n"


def with_run_addresses(text: str, run: MakeRun) -> str:
    """Replace the addresses of a run on this machine by those of this run."""
    repository = re.search(r"chart repository: (http://\S+)", run.output)
    assert repository is not None
    return text.replace(f"http://127.0.0.1:{DEFAULT_PORT}", run.url).replace(
        f"http://127.0.0.1:{REPOSITORY_PORT}", repository[1]
    )


def prepare_folder(folder: Path, run: MakeRun) -> None:
    """Put what commands use of a checkout into `folder`."""
    for name in ("manifests", ".venv"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".local").symlink_to(run.folder)
    (folder / ".curlrc").write_text(CURL_SETTINGS)


def run_page(blocks: list[Block], run: MakeRun, folder: Path) -> None:
    """Run the blocks in `folder`, and compare their output with what the page shows. Raises AssertionError."""
    prepare_folder(folder, run)
    script = _script(blocks)
    _skip_without_programs(script)
    with _keyring_folder() as keyring:
        answer = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", with_run_addresses(script, run)],
            cwd=folder,
            env={**_environment(run, folder), "GNUPGHOME": str(keyring)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PAGE_SECONDS,
            check=False,
        )
    assert answer.returncode == 0, answer.stdout
    printed = _printed_by_step(answer.stdout)
    for number, block in enumerate(blocks):
        if block.kind == "output":
            missing = [line for line in block.text.splitlines() if not _is_printed(line, printed[number - 1])]
            assert missing == [], printed[number - 1]


@contextmanager
def _keyring_folder() -> Iterator[Path]:
    """A folder for gpg, and no agent of it afterwards."""
    # Not below pytest's folder: the path of the agent's socket may have at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="gnupg-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        if shutil.which("gpgconf"):
            subprocess.run(["gpgconf", "--homedir", folder, "--kill", "all"], check=False, timeout=PAGE_SECONDS)


def _skip_without_programs(script: str) -> None:
    for program in OPTIONAL_PROGRAMS:
        if re.search(rf"\b{program} ", script) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def _environment(run: MakeRun, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HELM_", "XAPP_"))}
    programs = f"{run.folder}/bin:{ROOT}/.venv/bin:{os.environ['PATH']}"
    return {
        **kept,
        "HOME": str(folder),
        "PATH": programs,
        "KUBECONFIG": f"{run.folder}/kubeconfig",
        "XAPP_GATEWAY": run.url,
        "CURL_HOME": str(folder),
    }


def _script(blocks: list[Block]) -> str:
    parts = []
    for number, block in enumerate(blocks):
        if block.kind == "file":
            folder = Path(block.title).parent
            parts.append(f"mkdir -p '{folder}'\ncat > '{block.title}' <<'END_OF_FILE'\n{block.text}END_OF_FILE\n")
        elif block.kind == "script":
            parts.append(f"printf '%s' '{_STEP.format(number)}'\n{block.text}")
    return "\n".join(parts)


def _printed_by_step(output: str) -> dict[int, str]:
    parts = re.split(r"^@@ step (\d+)$", output, flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def _is_printed(line: str, output: str) -> bool:
    words = [re.escape(word).replace("…", ".*") for word in line.split()]
    return re.search(r"^\s*" + r"\s+".join(words) + r"\s*$", output, re.MULTILINE) is not None
