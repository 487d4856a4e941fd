"""The files and make targets that the documents name exist."""

import json
import re
from pathlib import Path

import pytest

from tests.support.shell_blocks import unmarked_shell_blocks

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "operator" / "xapp_operator"
DASHBOARD = ROOT / "operator" / "dashboard"
SECURITY_PAGE = (ROOT / "docs" / "security.md").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
MAKEFILE = (ROOT / "Makefile").read_text()


def documents() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in DOCUMENTS]


@pytest.mark.parametrize("document", documents())
def test_links_point_to_existing_files(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text())
    missing = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("document", documents())
def test_python_files_exist(document: str) -> None:
    named = re.findall(r"`([\w./-]+\.py)`", (ROOT / document).read_text())
    assert [path for path in named if not ((ROOT / path).exists() or (PACKAGE / path).exists())] == []


@pytest.mark.parametrize("document", documents())
def test_make_targets_exist(document: str) -> None:
    targets = set(re.findall(r"`make ([a-z-]+)|^make ([a-z-]+)", (ROOT / document).read_text(), flags=re.MULTILINE))
    named = {first or second for first, second in targets}
    assert {target for target in named if f"\n{target}:" not in MAKEFILE} == set()


@pytest.mark.parametrize("document", [name for name in documents() if name.startswith(("docs/", "README"))])
def test_shell_blocks_run_or_are_marked_as_illustrations(document: str) -> None:
    lines = unmarked_shell_blocks((ROOT / document).read_text())
    assert lines == [], "mark them as tests/support/shell_blocks.py describes"


def test_every_make_target_has_a_description() -> None:
    declared = re.findall(r"^\.PHONY: (\S+)", MAKEFILE, flags=re.MULTILINE)
    described = re.findall(r"^([a-z-]+):.*## .+", MAKEFILE, flags=re.MULTILINE)
    assert declared == described


def test_the_tables_to_change_something_name_files_that_exist() -> None:
    tables = (ROOT / "ARCHITECTURE.md").read_text().split("| to change … |")[1:]
    assert tables
    for table in tables:
        cells = [row.strip("| ").split(" | ")[-1] for row in table.partition("\n\n")[0].splitlines()]
        named = [each for cell in cells for each in re.findall(r"`([^`]+)`", cell) if not each.startswith("make ")]
        assert named
        assert [
            path for path in named if not any(list(folder.glob(path)) for folder in (ROOT, PACKAGE, DASHBOARD))
        ] == []


@pytest.mark.parametrize(
    "name",
    ["requirements.lock", "requirements-dev.lock", "hack/requirements-node.lock", "hack/requirements-uv.lock"],
)
def test_lock_files_name_no_host(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    assert [line for line in lines if "://" in line or line.startswith("--")] == []


def test_the_security_page_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", SECURITY_PAGE)
    assert named
    assert [path for path, _ in named if not (ROOT / path).is_file()] == []
    assert [f"{path}::{name}" for path, name in named if name and f"def {name}(" not in (ROOT / path).read_text()] == []


def test_the_security_page_names_every_module_of_attacks() -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/security/**/test_*.py")}
    missing = sorted(module for module in modules if f"`{module}" not in SECURITY_PAGE)
    assert missing == [], "add them to a table of docs/security.md: who could do what, what stops them"


def test_links_to_headings_point_to_existing_ones() -> None:
    missing = []
    for document in DOCUMENTS:
        for target, heading in re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", document.read_text()):
            page = (document.parent / target).resolve() if target else document
            if page.exists() and heading not in headings(page):
                missing.append(f"{document.name}: {target}#{heading}")
    assert missing == []


@pytest.mark.parametrize("document", documents())
def test_every_row_belongs_to_a_table_of_as_many_columns(document: str) -> None:
    page = re.sub(r"^( *)```.*?^\1```$", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    blocks = [match[0].splitlines() for match in re.finditer(r"(?:^ *\|.*\n)+", page, flags=re.MULTILINE)]
    assert [block[0] for block in blocks if not re.fullmatch(r" *\|[-|]+\|", block[1] if block[1:] else "")] == []
    assert [row for block in blocks for row in block if columns(row) != columns(block[0])] == []


def columns(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) - 1


def headings(page: Path) -> set[str]:
    """Return the names by which links refer to the headings of a page, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_lock_of_the_dashboard_names_no_registry_and_has_a_hash_for_each_package() -> None:
    packages = json.loads((ROOT / "operator" / "dashboard" / "package-lock.json").read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert [name for name, package in installed.items() if "resolved" in package or "integrity" not in package] == []


def test_the_dashboard_asks_for_exact_versions() -> None:
    package = json.loads((ROOT / "operator" / "dashboard" / "package.json").read_text())
    versions = {**package["dependencies"], **package["devDependencies"]}
    assert [name for name, version in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_events_without_a_condition_are_explained() -> None:
    reconcile = "\n".join(path.read_text() for path in (PACKAGE / "reconcile").rglob("*.py"))
    literal = set(re.findall(r'events\.record\([^)]*?reason="(\w+)"', reconcile))
    named = set(re.findall(r'^[A-Z_]+: Final = "(\w+)"\n"""The reason of the event', reconcile, flags=re.MULTILINE))
    assert len(literal) > 3
    assert len(named) > 3
    table = (ROOT / "docs" / "troubleshooting.md").read_text()
    assert {each for each in literal | named if f"\n| `{each}` |" not in table} == set()
