"""`xapp` in this process, with a home folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command_line import Finished
from tests.support.stand_in_gateway import StandInGateway, stand_in_gateway
from xapp_operator.cli.main import main

Xapp = Callable[..., Finished]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XAPP_GATEWAY", "XAPP_TOKEN", "KUBECONFIG", "NO_COLOR", "XDG_CONFIG_HOME", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def xapp(home: Path, capsys: pytest.CaptureFixture[str]) -> Xapp:
    """Runs one command."""

    def run(*arguments: str) -> Finished:
        assert home.exists()
        code = main(arguments)
        shown = capsys.readouterr()
        return Finished(code, shown.out, shown.err)

    return run


@pytest.fixture
def gateway() -> Iterator[StandInGateway]:
    with stand_in_gateway() as one:
        yield one
