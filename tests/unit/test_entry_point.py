"""The console script prints its version without reading settings."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from xapp_operator.entry_point import main


def test_version_prints_the_version_of_the_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAPP_WORKERS", "wrong")
    assert main(["version"]) == 0
    printed = capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert printed == capsys.readouterr().out == f"xapp-operator {version('xapp-operator')}\n"
