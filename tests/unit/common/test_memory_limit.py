"""The memory limit of a container, by both versions of cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest

from xapp_operator.common.memory_limit import container_memory_limit

V1, V2 = "memory.limit_in_bytes", "memory.max"
UNLIMITED_V1 = "9223372036854771712"


@pytest.mark.parametrize(
    ("membership", "files", "limit"),
    [
        ("0::/\n", {V2: "1000\n"}, 1000),
        ("0::/\n", {V2: "max\n"}, None),
        ("0::/a/b\n", {f"a/b/{V2}": "max\n", f"a/{V2}": "2000\n", V2: "3000\n"}, 2000),
        ("0::/a\n", {f"a/{V2}": "500\n", V2: "3000\n"}, 500),
        ("4:memory:/\n", {f"memory/{V1}": "1000\n"}, 1000),
        ("4:memory:/\n", {f"memory/{V1}": UNLIMITED_V1}, None),
        ("5:cpu,memory:/pod/1\n0::/\n", {f"memory/{V1}": "1000\n"}, 1000),
        ("4:memory:/pod/1\n", {f"memory/pod/1/{V1}": "700\n", f"memory/{V1}": UNLIMITED_V1}, 700),
        ("0::/\n", {}, None),
        ("", {}, None),
    ],
)
def test_limit(tmp_path: Path, membership: str, files: dict[str, str], limit: int | None) -> None:
    root = tmp_path / "cgroup"
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    (tmp_path / "membership").write_text(membership)
    assert container_memory_limit(root=root, membership=tmp_path / "membership") == limit


def test_a_system_without_cgroups_has_no_limit(tmp_path: Path) -> None:
    assert container_memory_limit(root=tmp_path, membership=tmp_path / "none") is None


def test_this_process_can_be_asked() -> None:
    limit = container_memory_limit()
    assert limit is None or limit > 0
