"""Verifies cosign signatures apart from the event loop, a bounded amount at a time.

A tenant chooses the signatures of a chart and the keys of a ChartRepository: SIGNATURES_MAX signatures with KEYS_MAX
keys of the slowest kind take about a second. So one namespace has one thread at a time.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from cachetools import LRUCache

from xapp_operator.charts.signatures.cosign import find_signer
from xapp_operator.charts.signatures.trusted_keys import TrustedKeys
from xapp_operator.charts.sources.chart_source import RegistrySignatures
from xapp_operator.common.fair_slots import FairSlots

T = TypeVar("T")

VERIFIER_THREADS: Final = 2
_MAX_REFUSALS: Final = 4096


class CosignVerifier:
    """Verifies signatures for one process, in threads that nothing else uses."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(VERIFIER_THREADS, thread_name_prefix="signatures")
        self._slots = FairSlots(VERIFIER_THREADS, per_key=1)
        self._refused: LRUCache[tuple[str, str], bool] = LRUCache(_MAX_REFUSALS)

    async def is_signed(self, found: RegistrySignatures, keys: TrustedKeys, *, namespace: str) -> bool:
        """Return whether one of the keys signed the manifest; signatures that were refused are not verified again."""
        async with self._slots.slot(namespace):
            refusal = (await self._run(partial(_digest, found)), keys.digest)
            if refusal in self._refused:
                return False
            verify = partial(find_signer, found.signatures, manifest_digest=found.manifest_digest, keys=keys.cosign)
            if await self._run(verify) is not None:
                return True
            self._refused[refusal] = True
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _digest(found: RegistrySignatures) -> str:
    parts = [found.manifest_digest.encode()]
    for each in found.signatures:
        parts += [each.payload, each.signature.encode()]
    digests = (hashlib.sha256(part).digest() for part in parts)
    return hashlib.sha256(b"".join(digests)).hexdigest()
