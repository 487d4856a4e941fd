"""The helm processes fit the memory limit of the container."""

from __future__ import annotations

import pytest

from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import HelmError
from xapp_operator.helm.processes.limits import OWN_MEMORY, RENDERINGS_MAX, HelmLimits

GIB = 1024 * MIB


@pytest.mark.parametrize("container", [None, 64 * GIB])
def test_nothing_changes_where_it_fits(container: int | None) -> None:
    limits = HelmLimits.for_operator(Settings())
    assert limits.fit(container) == limits
    assert (limits.concurrency, limits.memory_bytes, limits.waiting) == (8, GIB, 64)


@pytest.mark.parametrize("container", [OWN_MEMORY + GIB, 2 * GIB, 3 * GIB, 4 * GIB, 7 * GIB, 12 * GIB])
@pytest.mark.parametrize("memory", [64 * MIB, 300 * MIB, GIB])
def test_fewer_processes_run_where_the_container_is_small(
    container: int, memory: int, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = HelmLimits.for_operator(Settings(helm_memory=memory))
    fitted = limits.fit(container)
    assert OWN_MEMORY + fitted.total_bytes <= container
    assert 1 <= fitted.concurrency <= limits.concurrency
    assert 0 <= fitted.waiting <= limits.waiting
    assert ("fewer helm processes than configured" in capsys.readouterr().out) is (fitted != limits)


def test_memory_of_other_processes_counts_too() -> None:
    limits = HelmLimits.for_operator(Settings(helm_memory=300 * MIB))
    fitted = limits.fit(4 * GIB, others_bytes=GIB)
    assert OWN_MEMORY + GIB + fitted.total_bytes <= 4 * GIB < OWN_MEMORY + GIB + limits.total_bytes


def test_start_is_refused_where_not_even_one_process_fits() -> None:
    with pytest.raises(HelmError, match=r"XAPP_HELM_MEMORY is 1024 MiB, and the container may use 1024 MiB") as caught:
        HelmLimits.for_operator(Settings()).fit(GIB)
    assert caught.value.permanent


def test_the_gateway_has_a_limit_of_its_own() -> None:
    limits = HelmLimits.for_gateway(Settings())
    assert (limits.concurrency, limits.memory_bytes, limits.waiting) == (RENDERINGS_MAX, 256 * MIB, 0)
    with pytest.raises(HelmError, match="XAPP_RENDER_MEMORY"):
        limits.fit(300 * MIB)
