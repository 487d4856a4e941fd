"""The manifest of a chart goes through the post-renderer, tested with a program that replaces helm."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from xapp_operator.common.sandbox import Sandbox
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.helm.labelling.post_rendering import MANIFEST_BYTES_MAX, PostRendering
from xapp_operator.helm.processes.arguments import POST_RENDERER_FLAG
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.helm.processes.runner import HelmCall, HelmRunner, find_helm
from xapp_operator.helm.processes.workspace import Workspace

PROGRAM = """\
#!{python}
import json, os, subprocess, sys
from pathlib import Path
manifest = Path({folder!r}, "manifest")
if {flag!r} in sys.argv and manifest.exists():
    plugin = json.loads(Path(os.environ["HELM_PLUGINS"], "xapp-labels/plugin.yaml").read_text())
    (command,) = plugin["runtimeConfig"]["platformCommand"]
    with manifest.open("rb") as stdin:
        subprocess.run([command["command"], *command["args"]], stdin=stdin, stdout=subprocess.PIPE)
with Path({folder!r}, "runs").open("a") as runs:
    print(json.dumps(sys.argv[1:]), file=runs)
print(Path({folder!r}, "error").read_text(), file=sys.stderr)
sys.exit(1)
"""
MANIFEST = "kind: Service\nmetadata:\n  name: svc\n"
POST_RENDERED, PLAIN = ["install", POST_RENDERER_FLAG, "hello"], ["install", "hello"]
NOT_MERGED = "Error: INSTALLATION FAILED: error merging manifests: parsing hello/templates/s.yaml: MalformedYAMLError"
NO_PLUGIN = (
    'level=WARN msg="failed to load plugin (ignoring)" error="mkdir cache: no space left on device"\n'
    'Error: invalid argument "xapp-labels" for "--post-renderer" flag: plugin: {Name:xapp-labels} not found'
)
EMPTY = 'Error: INSTALLATION FAILED: error while running post render on files: post-renderer "xapp-labels" produced'
QUOTED = 'Error: INSTALLATION FAILED: Service "svc" is invalid: spec.type: Unsupported: "error merging manifests: x"'


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[HelmRunner]:
    program = tmp_path / "helm"
    program.write_text(PROGRAM.format(python=sys.executable, folder=str(tmp_path), flag=POST_RENDERER_FLAG))
    program.chmod(0o755)
    workspace = Workspace(tmp_path / "work")
    yield HelmRunner(
        Settings(),
        limits=HelmLimits(concurrency=2, memory_bytes=300 * MIB, waiting=2, memory_variable="XAPP_HELM_MEMORY"),
        program=find_helm(str(program)),
        workspace=workspace,
        sandbox=Sandbox(landlock_version=0),
        kubeconfig="one",
        server=None,
    )
    workspace.close()


@pytest.mark.parametrize(
    ("manifest", "error", "runs"),
    [
        (None, NOT_MERGED, [POST_RENDERED, PLAIN]),
        (None, NO_PLUGIN, [POST_RENDERED, PLAIN]),
        (None, "Error: INSTALLATION FAILED: Kubernetes cluster unreachable", [POST_RENDERED]),
        ("", EMPTY, [POST_RENDERED, PLAIN]),
        ("#" * (MANIFEST_BYTES_MAX + 1), EMPTY, [POST_RENDERED, PLAIN]),
        (MANIFEST, QUOTED, [POST_RENDERED]),
        (MANIFEST, EMPTY, [POST_RENDERED]),  # the log of a hook, say
    ],
    ids=[
        "not merged",
        "no plugin",
        "another error",
        "empty",
        "too long",
        "quoted by the API server",
        "printed by the chart",
    ],
)
async def test_helm_runs_without_the_post_renderer_only_if_it_has_stored_nothing(
    runner: HelmRunner, tmp_path: Path, manifest: str | None, error: str, runs: list[list[str]]
) -> None:
    (tmp_path / "error").write_text(error)
    if manifest is not None:
        (tmp_path / "manifest").write_text(manifest)
    rendering = PostRendering(ObjectMetadata({"xapp-operator.io/xapp": "hello"}, {}, "xapp-operator.io/component"))
    outcome = await runner.run(
        HelmCall(
            arguments=tuple(POST_RENDERED),
            subject="ric/hello",
            namespace="ric",
            timeout_seconds=60.0,
            post_rendering=rendering,
        )
    )
    assert outcome.exit_code == 1
    assert [json.loads(line) for line in (tmp_path / "runs").read_text().splitlines()] == runs
    assert rendering.complete == (manifest == MANIFEST)
