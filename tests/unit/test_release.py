"""The tag of a release has the version of the project, and its notes are that part of the changelog."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def release(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / "hack" / "release.py", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def project(folder: Path, changelog: str) -> Path:
    """Return a project of version 1.2.3."""
    (folder / "hack").mkdir()
    (folder / "hack" / "release.py").write_bytes((ROOT / "hack" / "release.py").read_bytes())
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (folder / "CHANGELOG.md").write_text(changelog)
    return folder


def test_the_tag_has_the_version_of_the_project() -> None:
    assert release("version", f"v{VERSION}").stdout == f"version={VERSION}\n"


@pytest.mark.parametrize("tag", [f"v{VERSION}0", VERSION, f"v{VERSION}-rc.1"])
def test_another_tag_is_refused(tag: str) -> None:
    refused = release("version", tag)
    assert refused.returncode == 1
    assert refused.stderr == (
        f"error: the tag is {tag}, and pyproject.toml has version {VERSION}: the tag must be v{VERSION}\n"
    )


def test_the_notes_are_the_part_of_the_version(tmp_path: Path) -> None:
    changelog = (
        "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n### Added\n\n- One.\n\n## [1.2.2]\n\n- Old.\n"
    )
    assert release("notes", "1.2.3", root=project(tmp_path, changelog)).stdout == "### Added\n\n- One.\n"


@pytest.mark.parametrize("changelog", ["## [Unreleased]\n\n- One.\n", "## [1.2.3]\n\n## [1.2.2]\n\n- Old.\n"])
def test_a_version_without_notes_is_refused(changelog: str, tmp_path: Path) -> None:
    refused = release("notes", "1.2.3", root=project(tmp_path, changelog))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "move what is unreleased there" in refused.stderr


def test_the_actions_of_the_workflows_are_pinned_by_digest() -> None:
    workflows = [path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    used = re.findall(r"(?m)uses: (.*)$", "\n".join(workflows))
    assert len(used) > 5
    for action in used:
        assert action.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_what_is_run_before_a_commit_are_targets_of_make() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    makefile = (ROOT / "Makefile").read_text()
    targets = {each["entry"].removeprefix("make ") for each in hooks}
    assert {"lint", "types", "imports"} <= targets
    assert all(f"\n{target}: venv" in makefile for target in targets)


def test_every_go_module_is_updated() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    (folders,) = (each["directories"] for each in updates if each["package-ecosystem"] == "gomod")
    listed = subprocess.run(["git", "ls-files", "*go.mod"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    modules = [f"/{Path(line).parent}" for line in listed.split()]
    assert [each for each in modules if not any(fnmatch(each, pattern) for pattern in folders)] == []


def test_the_lock_files_are_updated_by_a_workflow() -> None:
    update = yaml.safe_load((ROOT / ".github" / "workflows" / "update-locks.yml").read_text())
    (job,) = update["jobs"].values()
    assert update["permissions"] == {"contents": "read"}
    assert job["permissions"] == {"actions": "write", "contents": "write", "pull-requests": "write"}
    with_token = [each["name"] for each in job["steps"] if "github.token" in str(each)]
    assert with_token == ["Open a pull request"], "what builds and resolves packages gets no token"
    steps = "\n".join(each.get("run", "") for each in job["steps"])
    assert "make lock UPGRADE=--upgrade" in steps
    (added,) = re.findall(r"git add --update -- '(.*)'", steps)
    written = re.findall(r"-o (\S+\.lock)", (ROOT / "Makefile").read_text())
    assert [name for name in written if not fnmatch(name, added)] == []
    assert set(re.findall(r"--requirement (\S+)", steps)) <= set(written)
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert "workflow_dispatch" in tests[True], "YAML reads the key `on` as true"
    assert "gh workflow run test.yml" in steps


def test_the_workflow_of_releases_works_without_variables() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert text.count("vars.REGISTRY") == text.count("vars.REGISTRY || 'ghcr.io'") == 2
    assert yaml.safe_load(text)["defaults"] == {"run": {"shell": "bash"}}, "bash ends a pipe with its first failure"
    assert "--prerelease" in text


def test_a_release_has_the_wheel_of_the_command_line() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert text.index("hatchling build -t wheel -d dist") < text.index('"${wheels[@]}"')


def test_the_guide_names_what_a_release_contains() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    guide = (
        (ROOT / "docs" / "operations.md").read_text().partition("\n### Install a release\n")[2].partition("\n## ")[0]
    )
    assert "/.github/workflows/release.yml@refs/tags/v$VERSION" in guide
    assert 'tags: ["v[0-9]+' in workflow
    assert "CHARTS: ${{ steps.names.outputs.repository }}/charts\n" in workflow
    assert "CHART=ghcr.io/$REPOSITORY/charts/xapp-operator\n" in guide
    assert "cosign sign --yes --recursive" in workflow
    assert "cosign verify" in guide
    assert f"xapp_operator-{VERSION}-py3-none-any.whl" in guide
    for folder in re.findall(r"github\.com/\$REPOSITORY/(manifests/[\w/-]+)\?ref=v\$VERSION", guide):
        assert (ROOT / folder / "kustomization.yaml").is_file()


def test_the_chart_of_a_release_names_its_image_and_its_runbooks() -> None:
    before = (ROOT / "manifests" / "chart" / "values.yaml").read_text()
    runbooks = "https://github.com/example/xapp-operator/blob/v1.2.3/docs/troubleshooting.md"
    after = release("values", "ghcr.io/example/xapp-operator@sha256:abc", runbooks).stdout
    image = {"repository": "ghcr.io/example/xapp-operator", "digest": "sha256:abc"}
    expected = yaml.safe_load(before)
    expected["image"] |= image
    expected["monitoring"]["prometheusRule"]["runbookURL"] = runbooks
    assert yaml.safe_load(after) == expected
    assert len(before.splitlines()) == len(after.splitlines())
    assert "release.py values" in (ROOT / ".github" / "workflows" / "release.yml").read_text()
