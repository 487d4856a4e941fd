"""Runs the operator until a signal ends it: event loop, leader election, probe, and an orderly stop.

One operator leads at a time, by a Lease; the others wait and take over when the leader stops.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, aclosing
from typing import Final

from xapp_operator.common.clock import SYSTEM_CLOCK, ServerClock
from xapp_operator.common.event_loop import new_event_loop
from xapp_operator.common.waiting import run_unless_stopped
from xapp_operator.config.settings import Settings
from xapp_operator.errors import KubeError, NotFound
from xapp_operator.handlers.kopf_operator import run_operator
from xapp_operator.helm.processes.watchdog import HelmWatchdog
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.leader_election import LOST_FRACTION, LeaderElector
from xapp_operator.kube.resources import CHART_REPOSITORIES, XAPPS
from xapp_operator.kube.startup_denials import StartupDenials
from xapp_operator.manager.probe_server import ProbeServer
from xapp_operator.reconcile.runtime import OperatorRuntime
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS
from xapp_operator.telemetry.metrics_server import MetricsServer

LEASE_NAME: Final = "xapp-operator"
EXIT_LEADERSHIP_LOST: Final = 3
"""Exit code after the Lease was lost: start again and wait for it."""
CRD_POLL_SECONDS: Final = 2.0
HELM_END_FRACTION: Final = (1 - LOST_FRACTION) / 2
"""Fraction of the lease that helm has to end after the lead was lost; in the rest, SIGKILL takes effect."""

_log = get_logger(__name__)


def run(settings: Settings) -> int:
    """Run the operator until a signal ends it, and return the exit code.

    Raises:
        KubeError: when no cluster is configured, or helm has no identity (see `_require_helm_identity`).
    """
    _require_helm_identity(settings)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_run(settings))


async def _run(settings: Settings) -> int:
    stop, lost = asyncio.Event(), asyncio.Event()
    await _run_until(stop, lost, settings)
    return EXIT_LEADERSHIP_LOST if lost.is_set() else 0


async def _run_until(stop: asyncio.Event, lost: asyncio.Event, settings: Settings) -> None:
    """Run until `stop` is set, which a signal does, or a lost Lease together with `lost`."""

    def install_signal_handlers() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def on_lost() -> None:
        lost.set()
        stop.set()

    install_signal_handlers()
    async with AsyncExitStack() as stack:
        # The times in objects are the API server's. It tells its own with each response, first with that for the Lease.
        clock = ServerClock(SYSTEM_CLOCK)
        kube = await stack.enter_async_context(await KubeClient.connect(settings, on_server_time=clock.learn))
        probe = await stack.enter_async_context(ProbeServer(settings, METRICS))
        metrics_server = await stack.enter_async_context(MetricsServer(settings))
        watchdog = HelmWatchdog(
            grace_seconds=min(settings.helm_term_seconds, settings.lease_seconds * HELM_END_FRACTION)
        )
        runtime_client = kube
        if settings.leader_election:
            elector = LeaderElector(
                kube,
                namespace=settings.leader_election_namespace,
                name=LEASE_NAME,
                lease_seconds=settings.lease_seconds,
                on_lost=on_lost,
                on_renewed=watchdog.extend,
            )
            if not await run_unless_stopped(stop, stack.enter_async_context(elector)):
                return
            runtime_client = kube.writing_while(lambda: elector.is_leader)
        if not await run_unless_stopped(stop, _wait_for_crds(kube, settings)):
            return
        runtime = OperatorRuntime(runtime_client, settings, METRICS, clock=clock, start_helm=watchdog.run_process)
        await stack.enter_async_context(watchdog.watching(runtime.helm_folder))
        if not await run_unless_stopped(stop, stack.enter_async_context(runtime)):
            return
        metrics_server.before_render = runtime.update_metrics
        probe.set_leading(runtime)
        await run_unless_stopped(stop, run_operator(runtime, settings, on_started=install_signal_handlers))


async def _wait_for_crds(kube: KubeClient, settings: Settings) -> None:
    """Wait until the cluster serves our kinds: they may be installed at the same time as the operator."""
    namespace = settings.namespaces[0] if settings.namespaces else None
    denials = StartupDenials()
    while True:
        try:
            for resource in (XAPPS, CHART_REPOSITORIES):
                pages = kube.list_pages(resource, namespace=namespace, metadata_only=True, limit=1)
                async with aclosing(pages):
                    await anext(pages)
        except NotFound:
            _log.warning("waiting for the CRDs: install crds/", kind=resource.kind)
        except KubeError as error:
            if error.permanent and not denials.may_pass(error):
                raise
            _log.warning("waiting for the API server", error=error.message)
        else:
            return
        await asyncio.sleep(CRD_POLL_SECONDS)


def _require_helm_identity(settings: Settings) -> None:
    """Refuse to give anyone who can create an XApp the operator's permissions, unless the settings allow it."""
    if settings.default_service_account is None and not settings.allow_operator_identity:
        raise KubeError(
            "helm has no identity to act with. Set XAPP_DEFAULT_SERVICE_ACCOUNT to a service account that exists in "
            "every namespace with XApps (manifests/ use xapp-deployer). Or set XAPP_ALLOW_OPERATOR_IDENTITY=true, "
            "which gives anyone who can create an XApp the operator's own permissions.",
            permanent=True,
        )
