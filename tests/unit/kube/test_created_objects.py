"""When the objects that a request created are deleted again."""

from __future__ import annotations

import asyncio

import pytest

from xapp_operator.errors import AccessDenied, ApiOverloaded, ApiUnavailable, Conflict, FormInvalid, KubeError
from xapp_operator.kube.created_objects import cleanup_on_failure

REFUSALS = [AccessDenied("no"), Conflict("no"), FormInvalid("no")]
UNKNOWN = [KubeError("broken"), ApiUnavailable("lost"), ApiOverloaded("late"), asyncio.CancelledError()]


class Objects:
    """Two objects that a request creates, and those of them that it has deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def delete(self, name: str) -> None:
        self.deleted.append(name)

    async def create(self, *, then: BaseException | None = None) -> None:
        async with cleanup_on_failure() as cleanup:
            for name in ("first", "second"):
                cleanup.push_async_callback(self.delete, name)
            if then is not None:
                raise then


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
async def test_they_are_deleted_last_first_after_a_refusal(error: BaseException) -> None:
    objects = Objects()
    with pytest.raises(type(error)):
        await objects.create(then=error)
    assert objects.deleted == ["second", "first"]


@pytest.mark.parametrize("error", UNKNOWN, ids=lambda error: type(error).__name__)
async def test_they_stay_when_the_outcome_is_unknown(error: BaseException) -> None:
    objects = Objects()
    with pytest.raises(type(error)):
        await objects.create(then=error)
    assert objects.deleted == []


async def test_they_stay_after_a_success() -> None:
    objects = Objects()
    await objects.create()
    assert objects.deleted == []
