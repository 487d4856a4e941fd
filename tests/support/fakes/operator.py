"""The whole operator on the fakes: as many lives as a test wants, each ended where it says.

Everything between the edges is the shipped code: `OperatorRuntime` with its queue, workers, watches, observer, plan,
verbs and status writer, and the Kubernetes client and the helm engine below them. kopf is played by `KopfStandIn`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from kubernetes.aio.client import Configuration

from tests.support.fakes.api_server import FakeApiServer, FakeTransport, Target
from tests.support.fakes.clock import FakeClock, WrongClock
from tests.support.fakes.helm import FakeHelm
from tests.support.fakes.json_patch import Json
from tests.support.fakes.kopf import KopfStandIn
from tests.support.fakes.kubelet import run_pods
from xapp_operator.common.bounded_process import ProcessStarter
from xapp_operator.common.clock import ServerClock
from xapp_operator.config.settings import Settings
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.credentials import ClusterCredentials
from xapp_operator.kube.resources import XAPPS
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity
from xapp_operator.reconcile.runtime import OperatorRuntime
from xapp_operator.telemetry.metrics import Metrics

NAMESPACE = "ns"
BROKEN = "broken"
"""An image tag with which pods never become ready."""


class Killed(BaseException):
    """The process that did this got SIGKILL."""


@dataclass
class Kill:
    """Ends the operator, and its helm with it, at the `write`th write from now: before or after it."""

    write: int
    after: bool


async def _never() -> float:
    return 1e9


@functools.cache
def fake_credentials() -> ClusterCredentials:
    """Return credentials that nobody checks."""
    configuration = Configuration(host="http://fake")
    return ClusterCredentials(configuration, refresh=_never, first_refresh=1e9, kubeconfig_path="/fake")


@dataclass
class FakeCluster:
    """One cluster with the operator, its time, and what the operator and its helm have written."""

    settings: Settings
    clock: FakeClock = field(default_factory=FakeClock)
    kill: Kill | None = None
    writes: list[str] = field(default_factory=list)
    """Every write of the operator and of helm."""
    last_write_at: float = 0.0
    lives: int = 0
    downtime: float = 1.0
    """Seconds until the operator starts again after a kill."""
    healed: bool = False
    """Broken images have been mended."""
    outage: bool = False
    """No pod is ready."""
    refuse: Callable[[ApiRequest], None] = lambda _: None
    """Called with each request of the operator; it may raise Refused."""
    latency: Callable[[ApiRequest], float] = lambda _: 0.0
    """Returns for how many seconds a request waits."""
    response_latency: Callable[[ApiRequest], float] = lambda _: 0.0
    """Returns for how many seconds a response waits, whose request has had its effect."""
    on_response: list[Callable[[ApiRequest, ApiResponse, RequestIdentity], None]] = field(default_factory=list)
    """Called with each request of the operator that is no watch, and the response to it."""

    on_write: list[Callable[[str, Kill], None]] = field(default_factory=list)
    """Called before and after each write of the operator and of helm with what is written, and a kill right then."""

    def __post_init__(self) -> None:
        self.server = FakeApiServer(self.clock)
        self.server.create(Target("", "v1", "namespaces"), {"metadata": {"name": NAMESPACE}})
        self.machine = WrongClock(self.clock)
        """The clock of the machine on which the operator and its helm run."""
        self.helm = FakeHelm(self.server, self.machine, around_write=self._around_write)
        self.start_helm: ProcessStarter = self.helm
        self.server.on_stored.append(self._run_controllers)
        run_pods(self.server)
        self._history: asyncio.Task[Any] | None = None
        self._died = asyncio.Event()
        self._numbers = itertools.count()
        self._keeper: asyncio.Task[None] | None = None
        self.transport: FakeTransport | None = None
        self.runtime: OperatorRuntime | None = None
        self._credentials = fake_credentials()

    # The operator

    async def start(self) -> None:
        """Start the operator; when it is killed, it starts again, as in a Deployment."""
        self._history = asyncio.current_task()
        self._keeper = asyncio.create_task(self._keep_running(), name="keeper")
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """Kill the operator for good."""
        assert self._keeper is not None
        self._died.set()
        self._keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._keeper
        await _end_tasks(but=[asyncio.current_task()])

    def restart(self) -> None:
        """End the operator now, between two writes; it starts again."""
        self._died.set()

    async def _keep_running(self) -> None:
        while True:
            self.lives += 1
            self._died = asyncio.Event()
            life = asyncio.create_task(self._live(self._died), name="operator")
            died = asyncio.create_task(self._died.wait(), name="death")
            await asyncio.wait({life, died}, return_when=asyncio.FIRST_COMPLETED)
            if life.done() and not self._died.is_set():
                life.result()
            life.cancel()
            await _end_tasks(but=[asyncio.current_task(), self._history])
            self.helm.running.clear()
            await asyncio.sleep(self.downtime)

    async def _live(self, died: asyncio.Event) -> None:
        def around_write(request: ApiRequest) -> Callable[[], None]:
            if died.is_set():
                raise Killed
            return self._around_write(f"{request.method} {request.path}")

        clock = ServerClock(self.machine)
        clock.learn(int(self.clock.now()))  # from the responses for its Lease and the CRDs
        self.transport = FakeTransport(
            self.server,
            self._credentials,
            around_write=around_write,
            refuse=self._check_request,
            on_response=self.on_response,
            on_server_time=clock.learn,
        )
        self.transport.latency = self._find_latency
        self.transport.response_latency = self._find_response_latency
        async with KubeClient(self.transport) as kube:
            runtime = OperatorRuntime(kube, self.settings, Metrics(), clock=clock, start_helm=self.start_helm)
            self.runtime = runtime
            async with runtime:
                await KopfStandIn(kube, runtime).run()

    def _find_response_latency(self, request: ApiRequest) -> float:
        return self.response_latency(request)

    def _find_latency(self, request: ApiRequest) -> float:
        return self.latency(request)

    def _check_request(self, request: ApiRequest) -> None:
        self.refuse(request)

    def _around_write(self, what: str) -> Callable[[], None]:
        if self._died.is_set():
            raise Killed
        number = next(self._numbers)
        self._tell(what, Kill(number, after=False))
        kill = self.kill
        if kill is not None:
            self.kill = Kill(kill.write - 1, after=kill.after) if kill.write else None
            kill = None if kill.write else kill
        if kill is not None and not kill.after:
            self._die(f"killed before {what}")

        def done() -> None:
            self._note_write(what)
            self._tell(what, Kill(number, after=True))
            if kill is not None:
                self._die(f"killed after {what}")

        return done

    def _tell(self, what: str, kill: Kill) -> None:
        for listener in self.on_write:
            listener(what, kill)

    def _note_write(self, what: str) -> None:
        self.writes.append(what)
        self.last_write_at = self.clock.monotonic()

    def _die(self, why: str) -> None:
        self._note_write(why)
        self._died.set()
        raise Killed

    # The user

    def xapp(self, name: str = "hello") -> Json | None:
        return self.server.find("xapps", name)

    def create(self, body: Json) -> None:
        plural = {"XApp": "xapps", "ChartArchive": "chartarchives", "Secret": "secrets"}[body["kind"]]
        group, _, version = body["apiVersion"].rpartition("/")
        self.server.create(Target(group, version, plural, NAMESPACE), body)

    def edit(self, change: Json, name: str = "hello") -> bool:
        """Merge a change into the XApp; return False when it is gone."""
        if self.xapp(name) is None:
            return False
        self.server.patch(_xapp_target(name), change)
        return True

    def delete(self, name: str = "hello") -> None:
        if self.xapp(name) is not None:
            self.server.delete(_xapp_target(name), {})

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if self._keeper is not None and self._keeper.done():
            self._keeper.result()  # the operator ended by itself

    async def wait_for(self, condition: Callable[[], bool], *, seconds: float) -> bool:
        """Wait until a condition holds, at most for so long."""
        until = self.clock.monotonic() + seconds
        while not condition():
            if self.clock.monotonic() > until:
                return False
            await self.wait(1.0)
        return True

    def condition(self, kind: str, name: str = "hello") -> Json | None:
        """Return a condition of the current generation."""
        found = self.xapp(name) or {}
        for each in found.get("status", {}).get("conditions", ()):
            if each["type"] == kind and each["observedGeneration"] == found["metadata"]["generation"]:
                condition: Json = each
                return condition
        return None

    @property
    def revisions(self) -> dict[int, str]:
        """Return the status of each stored revision, as the labels tell it."""
        found = {}
        for secret in self.server.all("secrets"):
            labels = secret["metadata"].get("labels", {})
            if secret["type"] == "helm.sh/release.v1":
                found[int(labels["version"])] = labels["status"]
        return dict(sorted(found.items()))

    # The controllers of Kubernetes

    def _run_controllers(self, plural: str, body: Json) -> None:
        if (
            plural == "deployments"
            and body.get("status", {}).get("observedGeneration") != body["metadata"]["generation"]
        ):
            asyncio.get_running_loop().call_later(1.0, self._roll_out, body["metadata"])

    def restart_controllers(self) -> None:
        """Let the controllers of Kubernetes go on with what they were at when this cluster was copied."""
        for body in self.server.all("deployments"):
            self._run_controllers("deployments", body)
            self._await_deadline(body)

    def heal(self) -> None:
        """Let every image work from now on."""
        self.healed = True
        self._roll_out_all()

    def set_outage(self, *, on: bool) -> None:
        """Let no pod be ready, or those with a good image again, as when a node is away."""
        self.outage = on
        self._roll_out_all()

    def crash(self) -> None:
        """Let the pods fail for good, as when their containers crash after they were ready for a moment."""
        self.outage = True
        self._roll_out_all(late=True)

    def _roll_out_all(self, *, late: bool = False) -> None:
        for body in self.server.all("deployments"):
            self._roll_out(body["metadata"], late=late)

    def _roll_out(self, metadata: Json, *, late: bool = False) -> None:
        body = self.server.find("deployments", metadata["name"], namespace=metadata["namespace"])
        if body is None:
            return
        replicas = body["spec"].get("replicas", 1)
        image = body["spec"]["template"]["spec"]["containers"][0]["image"]
        broken = self.outage or (BROKEN in image and not self.healed)
        ready = 0 if broken else replicas
        progress = {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}
        if not broken:
            progress["reason"] = "NewReplicaSetAvailable"
        elif late:
            progress |= {"status": "False", "reason": "ProgressDeadlineExceeded"}
        else:
            self._await_deadline(body)
        target = Target("apps", "v1", "deployments", metadata["namespace"], metadata["name"], "status")
        status = {
            "observedGeneration": body["metadata"]["generation"],
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "conditions": [
                {"type": "Available", "status": "False" if broken else "True", "reason": "MinimumReplicas"},
                progress,
            ],
        }
        self.server.patch(target, {"status": status})

    def _await_deadline(self, body: Json) -> None:
        deadline = body["spec"].get("progressDeadlineSeconds", 600)
        asyncio.get_running_loop().call_later(deadline, self._end_roll_out, body["metadata"])

    def _end_roll_out(self, metadata: Json) -> None:
        body = self.server.find("deployments", metadata["name"], namespace=metadata["namespace"])
        if body is not None and body["metadata"]["generation"] == metadata["generation"]:
            self._roll_out(body["metadata"], late=True)


def _xapp_target(name: str) -> Target:
    return Target(XAPPS.group, XAPPS.version, XAPPS.plural, NAMESPACE, name)


async def _end_tasks(*, but: Collection[asyncio.Task[Any] | None]) -> None:
    """End every task of the loop but these, as SIGKILL does: none of them can write any more."""
    while left := asyncio.all_tasks() - set(but):
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
