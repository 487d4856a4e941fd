"""The chart of a release: pushed as the workflow does it, then read as docs/operations.md tells an administrator to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.localcluster import Binaries
from tests.localcluster.cluster import ROOT
from tests.support.oci_registry import LocalRegistry
from tests.support.operator_chart import CHART, by_name, pod_spec

pytestmark = pytest.mark.integration

IMAGE = f"ghcr.io/example/xapp-operator@sha256:{'0123456789abcdef' * 4}"
RUNBOOKS = "https://github.com/example/xapp-operator/blob/v0.1.0/docs/troubleshooting.md"


def test_a_release_is_installed_by_the_digest_of_its_chart(binaries: Binaries, tmp_path: Path) -> None:
    helm_program = binaries.resolve(["helm"])["helm"]

    def helm(*arguments: str) -> str:
        """Run helm and return both outputs, as the workflow reads them."""
        environment = {"HOME": str(tmp_path)}
        done = subprocess.run(
            [helm_program, *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    shutil.copytree(CHART, tmp_path / "chart")
    release = [sys.executable, str(ROOT / "hack" / "release.py"), "values", IMAGE, RUNBOOKS]
    values = subprocess.run(release, capture_output=True, text=True, timeout=60, check=True).stdout
    (tmp_path / "chart" / "values.yaml").write_text(values)
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    with LocalRegistry(binaries.resolve(["registry"])["registry"]) as registry:
        charts = f"{registry.url}/example/xapp-operator/charts"
        helm("package", "chart")
        pushed = digest_of(helm("push", f"xapp-operator-{version}.tgz", charts, "--plain-http"))
        shutil.rmtree(tmp_path / "chart")
        (tmp_path / f"xapp-operator-{version}.tgz").unlink()

        pulled = digest_of(helm("pull", f"{charts}/xapp-operator", "--version", version, "--plain-http"))
        assert pulled == pushed
        shown = yaml.safe_load(helm("show", "values", f"xapp-operator-{version}.tgz"))["image"]
        assert f"{shown['repository']}@{shown['digest']}" == IMAGE
        by_digest = helm("template", "xapp-operator", f"{charts}/xapp-operator@{pulled}", "--plain-http")
    # Helm names what it has pulled before the first object.
    objects = by_name(each for each in yaml.safe_load_all(by_digest.partition("---\n")[2]) if each)
    for component in ("operator", "gateway"):
        assert {each["image"] for each in pod_spec(objects, component)["containers"]} == {IMAGE}


def digest_of(output: str) -> str:
    """Return the digest that helm prints."""
    (digest,) = re.findall(r"(?m)^Digest: (sha256:[0-9a-f]{64})$", output)
    return str(digest)
