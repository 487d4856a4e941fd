"""The commands of the README work, in order."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.integration.localrun.make_run import MakeRun
from tests.localcluster.cluster import ROOT
from tests.localrun.samples import REPOSITORY_PORT
from tests.localrun.services import DEFAULT_PORT

pytestmark = pytest.mark.integration

MAKE = re.compile(r"^make ([a-z-]+)", re.MULTILINE)


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def with_run_addresses(text: str, run: MakeRun) -> str:
    """Replace the folders and addresses of a run in the checkout by those of this run."""
    repository = re.search(r"chart repository: (http://\S+)", run.output)
    assert repository is not None
    return (
        text.replace("$PWD/.local", str(run.folder))
        .replace("@.local", f"@{run.folder}")
        .replace(f"http://127.0.0.1:{DEFAULT_PORT}", run.url)
        .replace(f"http://127.0.0.1:{REPOSITORY_PORT}", repository[1])
    )


def test_the_commands_of_the_readme_work_in_order(simulated_run: MakeRun, tmp_path: Path) -> None:
    run = simulated_run
    (manifest,) = blocks("yaml")
    (tmp_path / "xapp.yaml").write_text(with_run_addresses(manifest, run))
    for name in ("manifests", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\nnoproxy = *\n")
    commands = [block for block in blocks("sh") if not MAKE.search(block)]
    script = "\n".join(with_run_addresses(block, run) for block in commands)
    answer = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "CURL_HOME": str(tmp_path), "XAPP_GATEWAY": run.url},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "acme-ran-hello-world" in answer.stdout
    run.cluster.kubectl("wait", "--for=delete", "xapp/acme-ran-greeter", "-n", "ric-xapps", "--timeout=60s")
    run.cluster.kubectl("wait", "--for=condition=Ready", "xapp/acme-ran-counter", "-n", "ric-xapps", "--timeout=60s")


def test_the_targets_of_the_readme_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = [target for block in blocks("sh") for target in MAKE.findall(block)]
    assert targets == ["run", "test"]
    assert all(re.search(rf"^{target}:.*## ", makefile, flags=re.MULTILINE) for target in targets)
