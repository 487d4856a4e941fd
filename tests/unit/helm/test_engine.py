"""When the engine reads the secrets that the error of a failed step must not contain."""

from __future__ import annotations

from pathlib import Path

import pytest

from xapp_operator.common.bounded_process import ProcessResult
from xapp_operator.config.settings import Settings
from xapp_operator.errors import HelmError
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.requests import TestRequest as HelmTestRequest


@pytest.mark.parametrize("timed_out", [True, False])
async def test_secrets_are_read_only_for_an_error_with_helms_message(tmp_path: Path, timed_out: bool) -> None:
    reads: list[str] = []

    async def read_secrets() -> frozenset[str]:
        reads.append("read")
        return frozenset()

    async def exit_with_1(*_: object, **__: object) -> ProcessResult:
        return ProcessResult(
            exit_code=1, stdout=b"", stdout_truncated=False, stderr="", timed_out=timed_out, duration_seconds=1.0
        )

    engine = HelmEngine(Settings(helm="/bin/sh", cache_dir=tmp_path), kubeconfig="none", start=exit_with_1)
    try:
        with pytest.raises(HelmError, match="did not finish" if timed_out else "without a message"):
            await engine.test(HelmTestRequest(name="hello", namespace="ric", read_secrets=read_secrets))
    finally:
        engine.close()
    assert bool(reads) != timed_out
