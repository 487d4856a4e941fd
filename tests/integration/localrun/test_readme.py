"""The commands of the README work, in order."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.integration.localrun.make_run import MakeRun
from tests.integration.localrun.page_commands import prepare_folder, with_run_addresses
from tests.localcluster.cluster import ROOT

pytestmark = pytest.mark.integration

MAKE = re.compile(r"^make ([a-z-]+)", re.MULTILINE)


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_readme_work_in_order(simulated_run: MakeRun, tmp_path: Path) -> None:
    run = simulated_run
    (manifest,) = blocks("yaml")
    (tmp_path / "xapp.yaml").write_text(with_run_addresses(manifest, run))
    prepare_folder(tmp_path, run)
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
