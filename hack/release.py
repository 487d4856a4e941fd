"""What a release needs to know.

`release.py version TAG` checks that a tag has the version of the project. `release.py notes VERSION` prints its part of
the changelog. `release.py values IMAGE@DIGEST RUNBOOKS` prints the values of the chart with that image, and with the
address of the page that says what to do about alerts.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version_of_tag(tag: str, project: str) -> str:
    """Return the version that a tag such as `v1.2.3` names.

    Args:
        tag: the tag.
        project: the text of `pyproject.toml`.

    Raises:
        ValueError: the project has another version.
    """
    version = str(tomllib.loads(project)["project"]["version"])
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and pyproject.toml has version {version}: the tag must be v{version}")
    return version


def notes_of(version: str, changelog: str) -> str:
    """Return what the changelog says of a version, without its heading.

    Raises:
        ValueError: it says nothing of it.
    """
    for part in re.split(r"(?m)^## ", changelog)[1:]:
        heading, _, text = part.partition("\n")
        if heading.startswith(f"[{version}]") and text.strip():
            return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no part with the heading `## [{version}]`: move what is unreleased there")


def released_values(image: str, runbooks: str, values: str) -> str:
    """Return `values.yaml` with an image such as `registry/name@sha256:…`, and the address of the runbooks."""
    repository, _, digest = image.partition("@")
    values = re.sub(r"(?m)^  repository: .*$", f"  repository: {repository}", values, count=1)
    values = re.sub(r"(?m)^  digest: .*$", f"  digest: {digest}", values, count=1)
    return values.replace('runbookURL: ""', f'runbookURL: "{runbooks}"', 1)


def main(arguments: list[str]) -> None:
    """Print `version=…`, the notes of a version, or the values of a release."""
    command, argument, *others = arguments
    if command == "version":
        print(f"version={version_of_tag(argument, (ROOT / 'pyproject.toml').read_text())}")
    elif command == "values":
        (runbooks,) = others
        print(released_values(argument, runbooks, (ROOT / "manifests" / "chart" / "values.yaml").read_text()), end="")
    else:
        print(notes_of(argument, (ROOT / "CHANGELOG.md").read_text()), end="")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"error: {error}")
