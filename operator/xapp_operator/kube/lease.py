"""Which of several operators leads: a Lease of coordination.k8s.io, taken, renewed and given back.

Lives in `kube` because it is a protocol on one API object. Leader election of `kubernetes.aio` keeps a leader running
after a connection error, so this is our own: a leader that could not renew in time has lost before another may take
over, and says so.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from xapp_operator.api.json import JsonObject, integer, obj, text
from xapp_operator.errors import AlreadyExists, Conflict, KubeError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.holder import is_dead, own_identity
from xapp_operator.kube.resources import LEASES
from xapp_operator.telemetry.logs import get_logger

RENEW_AFTER: Final = 1 / 3
LOST_AFTER: Final = 2 / 3
"""Part of the term after which an unrenewed leader has lost; others wait the whole of it (as client-go: 10 of 15 s)."""
RETRY_AFTER: Final = 1 / 15
ASK_AGAIN_MAX_SECONDS: Final = 2.0
RELEASE_SECONDS: Final = 3.0

_log = get_logger(__name__)


class _TakenError(Exception):
    """The Lease has another holder by now, or is gone."""


@dataclass(frozen=True, slots=True)
class _Rival:
    """The last renewal of another holder; `seen_at` is of our monotonic clock, because its clock is not trusted."""

    holder: str
    renewed: str
    seen_at: float


class Leadership:
    """One candidate for one Lease: `acquire` waits for the lead, which is then renewed until lost or released."""

    def __init__(
        self,
        client: KubeClient,
        *,
        namespace: str,
        name: str,
        seconds: float,
        on_lost: Callable[[], None],
        identity: str | None = None,
    ) -> None:
        """Prepare a candidate.

        Args:
            client: in whose name the Lease is written.
            namespace: of the Lease; it must exist.
            name: of the Lease.
            seconds: the term; who has not renewed for so long may be replaced.
            on_lost: called once in the event loop when the lead is lost without having been released.
            identity: by default `holder.own_identity`.
        """
        self._client = client
        self._namespace = namespace
        self._name = name
        self._seconds = seconds
        self._on_lost = on_lost
        self.identity = identity or own_identity()
        self._lease: JsonObject | None = None
        self._lost_at = -math.inf
        self._renewing: asyncio.Task[None] | None = None
        self._rival: _Rival | None = None

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.release()

    @property
    def is_leader(self) -> bool:
        """Tell whether this candidate leads right now; False as soon as it may have lost, even before `on_lost`."""
        return self._lease is not None and time.monotonic() < self._lost_at

    @property
    def holder(self) -> str | None:
        """Return the identity of the leader as last seen, or None before anybody was seen leading."""
        if self.is_leader:
            return self.identity
        return self._rival.holder if self._rival else None

    async def acquire(self) -> None:
        """Wait until this candidate leads.

        Raises:
            KubeError: when waiting cannot help: a missing right, or a namespace that does not exist.
        """
        announced = False
        while not await self._try_to_take():
            if not announced:
                _log.info("waiting for the lead", lease=self._name, holder=self.holder)
                announced = True
            pause = min(ASK_AGAIN_MAX_SECONDS, self._seconds * RENEW_AFTER)
            await asyncio.sleep(pause * random.uniform(0.8, 1.0))  # noqa: S311 - jitter
        _log.info("leading", lease=self._name, identity=self.identity)
        self._renewing = asyncio.create_task(self._keep(), name=f"renew lease {self._name}")

    async def release(self) -> None:
        """Stop renewing and give the Lease back, so that another candidate leads at once; never raises."""
        renewing, self._renewing = self._renewing, None
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        lease, self._lease = self._lease, None
        if lease is None:
            return
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                # Read again: the renewal that was just cancelled may have reached the server.
                lease = await self._read_own()
                obj(lease, "spec").update(holderIdentity="", leaseDurationSeconds=1, renewTime=_now())
                await self._client.replace(LEASES, lease)
        except (KubeError, TimeoutError, _TakenError):
            _log.warning("the lease was not given back; it runs out by itself", lease=self._name)

    async def _try_to_take(self) -> bool:
        began = time.monotonic()
        try:
            lease = await self._take()
        except (Conflict, AlreadyExists):
            return False
        except KubeError as error:
            if error.permanent:
                raise
            _log.warning("the lease cannot be read or written", lease=self._name, error=error.message)
            return False
        if lease is None:
            return False
        self._held(lease, began=began)
        return True

    async def _take(self) -> JsonObject | None:
        try:
            lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            return await self._create()
        if not self._is_free(lease):
            return None
        spec = obj(lease, "spec")
        transitions = integer(spec, "leaseTransitions") + (text(spec, "holderIdentity") != self.identity)
        lease["spec"] = {**spec, "acquireTime": _now(), "leaseTransitions": transitions}
        return await self._renewed(lease)

    async def _create(self) -> JsonObject:
        spec: JsonObject = {"acquireTime": _now(), "leaseTransitions": 0}
        lease: JsonObject = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec | self._claim(),
        }
        try:
            return await self._client.create(LEASES, lease)
        except NotFound as error:
            raise KubeError(
                f"no lead can be taken: namespace {self._namespace!r} of the Lease does not exist; create it, or name "
                "another in XAPP_LEADER_ELECTION_NAMESPACE",
                permanent=True,
            ) from error

    def _is_free(self, lease: JsonObject) -> bool:
        spec = obj(lease, "spec")
        holder, renewed = text(spec, "holderIdentity"), text(spec, "renewTime")
        if holder in {"", self.identity} or is_dead(holder):
            return True
        rival = self._rival
        if rival is None or (rival.holder, rival.renewed) != (holder, renewed):
            rival = self._rival = _Rival(holder, renewed, time.monotonic())
        return time.monotonic() - rival.seen_at > integer(spec, "leaseDurationSeconds", math.ceil(self._seconds))

    async def _keep(self) -> None:
        pause = self._seconds * RENEW_AFTER
        while self.is_leader:
            await asyncio.sleep(min(pause, max(self._lost_at - time.monotonic(), 0)))
            began = time.monotonic()
            pause = self._seconds * RENEW_AFTER
            try:
                async with asyncio.timeout(max(self._lost_at - began, 0)):
                    self._held(await self._renew(), began=began)
            except _TakenError:
                break
            except (KubeError, TimeoutError) as error:
                _log.warning("the lease could not be renewed", lease=self._name, error=str(error) or "time-out")
                pause = self._seconds * RETRY_AFTER
        self._lease = None
        self._renewing = None
        _log.error("the lead is lost", lease=self._name, identity=self.identity)
        self._on_lost()

    async def _renew(self) -> JsonObject:
        lease = self._lease or await self._read_own()
        try:
            return await self._renewed(lease)
        except Conflict:
            # Somebody labelled it, or an answer to us was lost: still ours, as long as the holder is.
            return await self._renewed(await self._read_own())
        except NotFound as error:
            raise _TakenError from error

    async def _read_own(self) -> JsonObject:
        try:
            lease = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound as error:
            raise _TakenError from error
        if text(obj(lease, "spec"), "holderIdentity") != self.identity:
            raise _TakenError
        return lease

    async def _renewed(self, lease: JsonObject) -> JsonObject:
        return await self._client.replace(LEASES, {**lease, "spec": obj(lease, "spec") | self._claim()})

    def _claim(self) -> JsonObject:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._seconds),
            "renewTime": _now(),
        }

    def _held(self, lease: JsonObject, *, began: float) -> None:
        self._lease = lease
        self._lost_at = began + self._seconds * LOST_AFTER


def _now() -> str:
    # MicroTime of Kubernetes.
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
