"""What the operator does in many situations, word for word: each request, status, event and helm process.

After a change that is meant, write the files anew and read the difference: `WRITE_TRACES=1 pytest` with this module.
"""

from __future__ import annotations

import difflib
import itertools
import os
import random
import uuid
from pathlib import Path

import pytest

from tests.support.fakes.histories import run_history
from tests.support.fakes.trace import Trace
from tests.unit.histories.situations import TRACED
from xapp_operator.config.settings import Settings

TRACES = Path(__file__).with_name("traces")
REWRITE = f"WRITE_TRACES=1 pytest {Path(__file__).relative_to(Path(__file__).parents[3])}"


def file_of(name: str) -> Path:
    return TRACES / f"{name.replace(',', '').replace(' ', '-')}.txt"


@pytest.fixture(autouse=True)
def certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing differ from run to run."""
    numbers = itertools.count(1)
    monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=next(numbers) << 112))


@pytest.mark.parametrize("name", TRACED)
def test_history_is_as_it_was(name: str, settings: Settings, tmp_path: Path) -> None:
    trace = Trace()
    run_history(settings.model_copy(update={"cache_dir": tmp_path}), TRACED[name], watch=trace.watch)
    file, found = file_of(name), trace.text()
    if os.environ.get("WRITE_TRACES"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    known = file.read_text(encoding="utf-8")
    changes = difflib.unified_diff(known.splitlines(), found.splitlines(), "known", "now", lineterm="", n=2)
    if found != known:
        pytest.fail("\n".join([f"write it anew, if that is meant: {REWRITE}", *changes]), pytrace=False)


def test_each_trace_belongs_to_a_situation() -> None:
    assert {path.name for path in TRACES.iterdir()} == {file_of(name).name for name in TRACED}
