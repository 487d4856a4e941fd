"""How many helm processes may run, and with how much memory each, so that they fit the memory of the container."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import HelmError
from xapp_operator.telemetry.logs import get_logger

OWN_MEMORY: Final = 256 * MIB
"""What this process itself may need: 120 MiB, 6 KiB for each XApp, indexes, and the values that it merges."""
WAITING_MEMORY: Final = 64 * MIB
"""The memory of one place to wait. A helm process that waits for a hook and holds more takes more places.

Measured: 34 MiB for a small chart.
"""
RENDERINGS_MAX: Final = 4
"""helm processes of the gateway, so that uploads leave processor time and memory to lists."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmLimits:
    """Bounds of all helm processes of one engine.

    At most `concurrency` run, with `memory_bytes` each. Others wait for hooks in `waiting` places of WAITING_MEMORY
    each. `memory_variable` is the environment variable that sets `memory_bytes`.
    """

    concurrency: int
    memory_bytes: int
    waiting: int
    memory_variable: str

    @classmethod
    def for_operator(cls, settings: Settings) -> HelmLimits:
        return cls(
            concurrency=settings.helm_concurrency,
            memory_bytes=settings.helm_memory,
            waiting=settings.helm_waiting,
            memory_variable="XAPP_HELM_MEMORY",
        )

    @classmethod
    def for_gateway(cls, settings: Settings) -> HelmLimits:
        """Return the limits of the gateway, whose helm only renders: it never waits for a hook."""
        return cls(
            concurrency=min(settings.helm_concurrency, RENDERINGS_MAX),
            memory_bytes=settings.render_memory,
            waiting=0,
            memory_variable="XAPP_RENDER_MEMORY",
        )

    @property
    def total_bytes(self) -> int:
        """Return what all processes together may hold, without this process itself."""
        return self.concurrency * self.memory_bytes + self.waiting * WAITING_MEMORY

    def fit(self, container_bytes: int | None, *, others_bytes: int = 0) -> HelmLimits:
        """Return limits that fit a container of so many bytes: fewer processes where they must be, with a warning.

        `others_bytes` are for child processes other than helm.

        Raises:
            HelmError: when not even one process fits.
        """
        reserved = OWN_MEMORY + others_bytes
        if container_bytes is None or reserved + self.total_bytes <= container_bytes:
            return self
        available = container_bytes - reserved
        if available < self.memory_bytes:
            raise HelmError(
                f"{self.memory_variable} is {self.memory_bytes // MIB} MiB, and the container may use "
                f"{container_bytes // MIB} MiB, of which {reserved // MIB} MiB are for this process: raise the "
                f"memory limit of the container, or lower {self.memory_variable}",
                permanent=True,
            )
        concurrency = max(1, min(self.concurrency, int(available * (1 - self._waiting_part) / self.memory_bytes)))
        waiting = min(self.waiting, int((available - concurrency * self.memory_bytes) / WAITING_MEMORY))
        fitted = replace(self, concurrency=concurrency, waiting=waiting)
        _log.warning(
            "fewer helm processes than configured, so that they fit the memory limit of the container",
            concurrency=concurrency,
            waiting=waiting,
            memory_limit_mib=container_bytes // MIB,
            needed_mib=(reserved + self.total_bytes) // MIB,
        )
        return fitted

    @property
    def _waiting_part(self) -> float:
        return self.waiting * WAITING_MEMORY / self.total_bytes
