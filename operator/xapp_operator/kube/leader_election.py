"""Leader election with a Lease (coordination.k8s.io): acquire, renew and release.

The leader election of `kubernetes.aio` keeps a leader running after a connection error. Here, a leader that cannot
renew in time steps down before another candidate may take over, and reports it.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.common.text import quote_input
from xapp_operator.errors import AlreadyExists, Conflict, KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import LEASES
from xapp_operator.kube.startup_denials import StartupDenials
from xapp_operator.telemetry.logs import get_logger

RENEW_FRACTION: Final = 1 / 3
LOST_FRACTION: Final = 2 / 3
"""Fraction of the lease after which a leader without renewal steps down (client-go: 10 of 15 s). Others wait longer."""
RETRY_FRACTION: Final = 1 / 15
ACQUIRE_RETRY_MAX_SECONDS: Final = 2.0
RELEASE_TIMEOUT_SECONDS: Final = 3.0
PROC_DIRECTORY: Final = Path("/proc")
_STATE_FIELD: Final = 0
_START_TICKS_FIELD: Final = 19
_ENDED_STATES: Final = frozenset("ZXx")

_log = get_logger(__name__)


class _LeaseLostError(Exception):
    """The Lease has another holder."""


@dataclass(frozen=True, slots=True)
class _ObservedHolder:
    """The last renewal of another holder; `observed_at` is on our monotonic clock, because its clock is not trusted."""

    holder: str
    renew_time: str
    observed_at: float


class LeaderElector:
    """One candidate for one Lease: `acquire` waits until it leads, and then renews the Lease until loss or release."""

    def __init__(
        self,
        client: KubeClient,
        *,
        namespace: str,
        name: str,
        lease_seconds: float,
        on_lost: Callable[[], None],
        on_renewed: Callable[[float], None] = lambda _: None,
        identity: str | None = None,
    ) -> None:
        """Prepare a candidate for the Lease `name` in `namespace`, which must exist.

        A leader that has not renewed for `lease_seconds` may be replaced. `on_renewed` is called after each renewal,
        with the end of the lead in seconds of the monotonic clock. `on_lost` is called once in the event loop, when
        this candidate loses the lead without releasing it.
        """
        self._client = client
        self._namespace = namespace
        self._name = name
        self._lease_seconds = lease_seconds
        self._on_lost = on_lost
        self._on_renewed = on_renewed
        self.identity = identity or process_identity()
        self._lease: JsonObject | None = None
        self._deadline = -math.inf
        self._renew_task: asyncio.Task[None] | None = None
        self._observed_holder: _ObservedHolder | None = None
        self._missing_since: float | None = None
        self._denials = StartupDenials(seconds=lease_seconds)

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()

    @property
    def is_leader(self) -> bool:
        """Return whether this candidate leads now; False as soon as it may have lost, even before `on_lost`."""
        return self._lease is not None and time.monotonic() < self._deadline

    @property
    def holder(self) -> str | None:
        """Return the identity of the last observed leader, or None before a leader was observed."""
        if self.is_leader:
            return self.identity
        return self._observed_holder.holder if self._observed_holder else None

    async def acquire(self) -> None:
        """Wait until this candidate leads.

        Raises:
            KubeError: when waiting cannot help: a namespace that does not exist, or a permission that was missing
                for a whole lease duration.
        """
        announced = False
        while not await self._try_acquire():
            if not announced:
                _log.info("waiting for leadership", lease=self._name, holder=self.holder)
                announced = True
            pause = min(ACQUIRE_RETRY_MAX_SECONDS, self._lease_seconds * RENEW_FRACTION)
            await asyncio.sleep(pause * random.uniform(0.8, 1.0))  # noqa: S311 - jitter
        _log.info("became leader", lease=self._name, identity=self.identity)
        self._renew_task = asyncio.create_task(self._renew_until_lost(), name=f"renew lease {self._name}")

    async def release(self) -> None:
        """Stop renewing and release the Lease, so that another candidate leads at once; never raises."""
        renewing, self._renew_task = self._renew_task, None
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        lease, self._lease = self._lease, None
        if lease is None:
            return
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT_SECONDS):
                # Read it again: the cancelled renewal may have reached the server.
                lease = await self._read_own_lease()
                obj(lease, "spec").update(holderIdentity="", leaseDurationSeconds=1, renewTime=_micro_time_now())
                await self._client.replace(LEASES, lease)
        except (KubeError, TimeoutError, _LeaseLostError):
            _log.warning("lease not released, it will expire", lease=self._name)

    async def _try_acquire(self) -> bool:
        started = time.monotonic()
        try:
            lease = await self._acquire_lease()
        except (Conflict, AlreadyExists):
            return False
        except KubeError as error:
            if error.permanent and not self._denials.may_pass(error):
                raise
            _log.warning("lease not acquired", lease=self._name, error=error.message)
            return False
        self._denials.end()
        if lease is None:
            return False
        self._record_renewal(lease, started=started)
        return True

    async def _acquire_lease(self) -> JsonObject | None:
        try:
            lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            return await self._create_lease() if self._may_create() else None
        self._missing_since = None
        if not self._is_available(lease):
            return None
        spec = obj(lease, "spec")
        transitions = integer(spec, "leaseTransitions") + (text(spec, "holderIdentity") != self.identity)
        lease["spec"] = {**spec, "acquireTime": _micro_time_now(), "leaseTransitions": transitions}
        return await self._write_renewal(lease)

    async def _create_lease(self) -> JsonObject:
        spec: JsonObject = {"acquireTime": _micro_time_now(), "leaseTransitions": 0}
        lease: JsonObject = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec | self._holder_fields(),
        }
        try:
            return await self._client.create(LEASES, lease)
        except NotFound as error:
            raise KubeError(
                f"leader election is not possible: the namespace {quote_input(self._namespace)} of the Lease does not "
                "exist; create it, or set XAPP_LEADER_ELECTION_NAMESPACE to another one",
                permanent=True,
            ) from error

    def _may_create(self) -> bool:
        """Return whether the holder of a Lease that was deleted has had the time to notice that, and to stop."""
        if self._observed_holder is None or is_dead(self._observed_holder.holder):
            return True
        if self._missing_since is None:
            self._missing_since = time.monotonic()
        return time.monotonic() - self._missing_since > self._lease_seconds

    def _is_available(self, lease: JsonObject) -> bool:
        spec = obj(lease, "spec")
        holder, renewed = text(spec, "holderIdentity"), text(spec, "renewTime")
        if holder in {"", self.identity} or is_dead(holder):
            return True
        observed = self._observed_holder
        if observed is None or (observed.holder, observed.renew_time) != (holder, renewed):
            observed = self._observed_holder = _ObservedHolder(holder, renewed, time.monotonic())
        return time.monotonic() - observed.observed_at > integer(
            spec, "leaseDurationSeconds", math.ceil(self._lease_seconds)
        )

    async def _renew_until_lost(self) -> None:
        pause = self._lease_seconds * RENEW_FRACTION
        while self.is_leader:
            await asyncio.sleep(min(pause, self._deadline - time.monotonic()))
            started = time.monotonic()
            pause = self._lease_seconds * RENEW_FRACTION
            try:
                async with asyncio.timeout(self._deadline - started):
                    self._record_renewal(await self._renew(), started=started)
            except _LeaseLostError:
                break
            except (KubeError, TimeoutError) as error:
                _log.warning("lease not renewed", lease=self._name, error=str(error) or "timeout")
                pause = self._lease_seconds * RETRY_FRACTION
        self._lease = None
        _log.error("leadership lost", lease=self._name, identity=self.identity)
        self._on_lost()

    async def _renew(self) -> JsonObject:
        try:
            try:
                return await self._write_renewal(self._lease or await self._read_own_lease())
            except Conflict:
                # Somebody edited the Lease, or a response was lost: we still hold it while we are the holder.
                return await self._write_renewal(await self._read_own_lease())
        except NotFound:
            # Somebody deleted it. Other candidates wait for a lease duration, so this leader need not stop.
            _log.warning("the Lease was deleted and is created again", lease=self._name)
            return await self._recreate()

    async def _recreate(self) -> JsonObject:
        try:
            return await self._create_lease()
        except AlreadyExists as error:
            raise _LeaseLostError from error

    async def _read_own_lease(self) -> JsonObject:
        lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        if text(obj(lease, "spec"), "holderIdentity") != self.identity:
            raise _LeaseLostError
        return lease

    async def _write_renewal(self, lease: JsonObject) -> JsonObject:
        return await self._client.replace(LEASES, {**lease, "spec": obj(lease, "spec") | self._holder_fields()})

    def _holder_fields(self) -> JsonObject:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._lease_seconds),
            "renewTime": _micro_time_now(),
        }

    def _record_renewal(self, lease: JsonObject, *, started: float) -> None:
        self._lease = lease
        self._deadline = started + self._lease_seconds * LOST_FRACTION
        self._on_renewed(self._deadline)


def _micro_time_now() -> str:
    # The format is MicroTime of meta/v1.
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def process_identity() -> str:
    """Return `<hostname>/<pid>/<process start ticks>/<machine>`.

    `machine` is the boot id and the PID namespace. Only where both match does a PID mean the same process: two pods may
    share a hostname, and in a pod the process may have PID 1.
    """
    stat = _process_stat(os.getpid())
    machine = _machine_id()
    if stat is None or machine is None:
        return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(8)}"
    return f"{socket.gethostname()}/{os.getpid()}/{stat[_START_TICKS_FIELD]}/{machine}"


def is_dead(identity: str) -> bool:
    """Return whether the process of that identity ran here and has ended; False when this is unknown."""
    parts = identity.split("/")
    machine = _machine_id()
    if parts[3:] != [machine] or not parts[1].isdecimal():
        return False
    stat = _process_stat(int(parts[1]))
    return stat is None or stat[_START_TICKS_FIELD] != parts[2] or stat[_STATE_FIELD] in _ENDED_STATES


def _machine_id() -> str | None:
    try:
        boot = (PROC_DIRECTORY / "sys/kernel/random/boot_id").read_text().strip()
        namespace = (PROC_DIRECTORY / "self/ns/pid").stat().st_ino
    except OSError:
        return None
    return f"{boot}.{namespace}"


def _process_stat(pid: int) -> list[str] | None:
    # proc(5): the second field, the command in parentheses, may contain anything; we read what follows it.
    try:
        return (PROC_DIRECTORY / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
