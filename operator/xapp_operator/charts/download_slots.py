"""Downloads are shared fairly by namespace: slow repositories of one namespace leave places for all others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.errors import SourceTimeout

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_NAMESPACE_SHARE: Final = 4
"""One namespace gets this part of all slots: a slow download lasts for minutes, and is not ended for others."""


class DownloadSlots:
    """The slots of all downloads of a process; a download waits at most `timeout_seconds` for one."""

    def __init__(self, capacity: int, *, timeout_seconds: float) -> None:
        self._slots = FairSlots(capacity, per_key=max(1, capacity // _NAMESPACE_SHARE))
        self._timeout = timeout_seconds

    @asynccontextmanager
    async def slot(self, namespace: str) -> AsyncIterator[None]:
        """Hold a slot of `namespace` inside the block.

        Raises:
            SourceTimeout: when the namespace has no free slot in time.
        """
        try:
            async with asyncio.timeout(self._timeout):
                await self._slots.acquire(namespace)
        except TimeoutError:
            raise SourceTimeout(
                f"too many downloads run for the namespace {namespace}: none of them ended within "
                f"{self._timeout:g} s. Remove ChartRepositories that do not respond."
            ) from None
        try:
            yield
        finally:
            self._slots.release(namespace)


class SharedDownloads(Generic[K, T]):
    """Runs at most one download per namespace and key, in a slot of the namespace.

    Namespaces do not wait for each other's downloads, which may wait for a slot. So a download looks into its cache
    first: another namespace may have filled it. A download goes on when its callers are cancelled, and keeps the slot
    until it ends.
    """

    def __init__(self, slots: DownloadSlots) -> None:
        self._slots = slots
        self._downloads: SingleFlight[tuple[str, K], T] = SingleFlight()

    async def run(
        self, key: K, download: Callable[[], Awaitable[T]], *, namespace: str, require_new: bool = False
    ) -> T:
        """Return the result of `download`, which may be running already; `require_new` is as in SingleFlight."""

        async def run_in_slot() -> T:
            async with self._slots.slot(namespace):
                return await download()

        return await self._downloads.run((namespace, key), run_in_slot, require_new=require_new)

    async def close(self) -> None:
        """Cancel every download and wait until all have ended."""
        await self._downloads.close()
