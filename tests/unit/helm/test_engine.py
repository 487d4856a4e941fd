"""When the engine reads the secrets that the error of a failed step must not contain."""

from __future__ import annotations

import asyncio
from typing import NoReturn, cast

import pytest

from xapp_operator.common.bounded_process import ProcessResult
from xapp_operator.errors import HelmError, HelmTimeout
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.processes.runner import HelmCall, HelmRunner
from xapp_operator.helm.requests import TestRequest as HelmTestRequest


class ExitedRunner:
    """Returns a helm that has exited with 1."""

    def __init__(self, *, timed_out: bool) -> None:
        self._timed_out = timed_out

    async def run(self, _: HelmCall, **__: object) -> ProcessResult:
        return ProcessResult(
            exit_code=1, stdout=b"", stdout_truncated=False, stderr="", timed_out=self._timed_out, duration_seconds=1.0
        )

    def raise_on_failure(self, _: HelmCall, outcome: ProcessResult) -> NoReturn:
        raise HelmTimeout("late") if outcome.timed_out else HelmError("failed")


@pytest.mark.parametrize("timed_out", [True, False])
def test_secrets_are_read_only_for_an_error_with_helms_message(timed_out: bool) -> None:
    reads: list[str] = []

    async def read_secrets() -> frozenset[str]:
        reads.append("read")
        return frozenset()

    engine = object.__new__(HelmEngine)
    engine._runner = cast("HelmRunner", ExitedRunner(timed_out=timed_out))
    request = HelmTestRequest(name="hello", namespace="ric", read_secrets=read_secrets)
    with pytest.raises(HelmTimeout if timed_out else HelmError):
        asyncio.run(engine.test(request))
    assert bool(reads) != timed_out
