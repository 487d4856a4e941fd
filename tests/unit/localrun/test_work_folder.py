"""The folder in which helm works during `make run`, benchmarks and histories."""

from __future__ import annotations

from pathlib import Path

from tests.support.work_folder import work_folder


def test_folder_is_in_memory_private_and_removed(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    with (
        work_folder(tmp_path / "cache", memory=memory) as folder,
        work_folder(tmp_path / "other", memory=memory) as other,
    ):
        assert folder.parent == other.parent == memory
        assert folder != other
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert list(memory.iterdir()) == []


def test_folder_is_beside_the_charts_without_memory(tmp_path: Path) -> None:
    with work_folder(tmp_path / "cache", memory=tmp_path / "none") as folder:
        assert folder == tmp_path / "cache" / "work"
