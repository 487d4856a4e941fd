"""One helm process for one call: its slot, folder, environment and bounds, and the error that it ended with.

A call without a cluster gets no credential: no kubeconfig, and a sandbox in which it can read only its chart.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult, ProcessStarter, run_process
from xapp_operator.common.sandbox import Sandbox
from xapp_operator.common.sandboxed_exec import CANNOT_RESTRICT
from xapp_operator.common.text import explain_disk_error
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import ChartInvalid, HelmError, HelmNotStarted, HelmTimeout
from xapp_operator.helm.labelling.post_rendering import PostRendering, write_plugin
from xapp_operator.helm.processes import user_kubeconfig
from xapp_operator.helm.processes.arguments import POST_RENDERER_FLAG, environment
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.helm.processes.slots import HelmSlot, HelmSlots, SlotCounts, held_slot
from xapp_operator.helm.processes.workspace import Workspace
from xapp_operator.helm.requests import SecretsReader
from xapp_operator.helm.results.error_rules import error_from_stderr
from xapp_operator.kube.credentials import ConnectionInfo
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS

OUTPUT_MAX_BYTES: Final = 16 * MIB
CPU_SECONDS: Final = 60  # a normal call needs less than one
NICENESS: Final = 5
SERVICE_ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"

_GO_RUNTIME_CRASH: Final = re.compile(r"^(?:fatal error: |SIG[A-Z]+: |runtime: )", re.MULTILINE)

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmCall:
    """One run of helm: its arguments, the values for its standard input, and its bounds.

    `secrets` are texts that no error may contain. `read_secrets` returns them where they are read after a failure only,
    and `withheld` tells why they could not be read, so that no error may contain what helm says. `chart_name` names the
    chart in errors, and `subject` the release in the log. Places are shared fairly by `namespace`. A call that does not
    need the cluster can read `chart`, and no other file of this process. `files` are written to the folder of the call,
    which is helm's working directory.

    A call with a `connection` acts as its user and has no other credential. It can connect to the API server only. It
    changes nothing there, so nothing has to be cleaned up after it. Nor does a `dry_run`. With `post_rendering`, the
    arguments have `--post-renderer`.
    """

    arguments: tuple[str, ...]
    subject: str
    namespace: str
    timeout_seconds: float
    values: bytes | None = field(default=None, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    read_secrets: SecretsReader | None = field(default=None, repr=False, compare=False)
    withheld: str = ""
    needs_cluster: bool = True
    chart: Path | None = None
    chart_name: str = ""
    cpu_seconds: int = CPU_SECONDS
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    connection: ConnectionInfo | None = field(default=None, repr=False)
    dry_run: bool = False
    post_rendering: PostRendering | None = None

    @property
    def command(self) -> str:
        return self.arguments[0]

    @property
    def uses_own_identity(self) -> bool:
        """Return whether helm acts with the kubeconfig of this process."""
        return self.needs_cluster and self.connection is None

    @property
    def only_renders(self) -> bool:
        """Return whether helm changes nothing, and ends soon by itself."""
        return self.dry_run or not self.uses_own_identity


class HelmRunner:
    """Runs calls, within `limits`."""

    def __init__(
        self,
        settings: Settings,
        *,
        limits: HelmLimits,
        program: Path,
        workspace: Workspace,
        sandbox: Sandbox,
        kubeconfig: str | None,
        server: str | None,
        start: ProcessStarter = run_process,
    ) -> None:
        if not sandbox.available:
            if settings.require_sandbox:
                raise HelmError(
                    "this kernel has no Landlock, and XAPP_REQUIRE_SANDBOX is true: run on a node with Linux 5.13 or "
                    "newer and Landlock enabled (6.7 restricts the network too), or set XAPP_REQUIRE_SANDBOX=false"
                )
            logger.warning(
                "this kernel has no Landlock: helm could read files of this process while it renders a chart"
            )
        self._program = str(program)
        self._limits = limits
        self._start = start
        self._grace = settings.helm_term_seconds
        self._slots = HelmSlots(limits)
        self._workspace = workspace
        self._sandbox = sandbox
        self._kubeconfig = _resolve_kubeconfig(kubeconfig, server, workspace.folder)
        self._plugins = workspace.folder / "plugins"
        self._can_post_render = write_plugin(self._plugins)

    def slot(self, namespace: str, *, urgent: bool) -> AbstractAsyncContextManager[HelmSlot]:
        """Wait for the place of one call; see `HelmSlots.slot` and `held_slot`."""
        if held_slot() is not None:
            raise RuntimeError("a task that holds a place for helm must not wait for another")
        return self._slots.slot(namespace, urgent=urgent)

    def slot_counts(self) -> SlotCounts:
        return self._slots.counts()

    async def run(self, call: HelmCall, *, slot: HelmSlot | None = None) -> ProcessResult:
        """Run helm and return its result, also when it failed.

        It runs in the place `slot`, which is returned when helm has ended. Without one, the call waits for a place; a
        rendering runs in the place that its task holds for a later call. Without a post-renderer, or if helm cannot
        pass it the manifest, helm applies the manifest as it is.

        Raises:
            HelmError: if the call needs a cluster and none is configured, if helm cannot be started, if it needed too
                much memory to wait, or if it was ended because another namespace needed its place.
        """
        without = tuple(each for each in call.arguments if each != POST_RENDERER_FLAG)
        plain_call = replace(call, arguments=without, post_rendering=None)
        if call.post_rendering is None or not self._can_post_render:
            return await self._run_once(plain_call, slot)
        outcome = await self._run_once(call, slot)
        if outcome.exit_code <= 0 or not call.post_rendering.is_failed(outcome.stderr):
            return outcome
        logger.info("helm did not post-render the manifest", command=call.command, subject=call.subject)
        call.post_rendering.complete = False
        return await self._run_once(plain_call, None)

    async def _run_once(self, call: HelmCall, slot: HelmSlot | None) -> ProcessResult:
        if call.uses_own_identity and self._kubeconfig is None:
            raise HelmError(
                "no cluster is configured: set KUBECONFIG, or run in a pod with a service account", permanent=True
            )
        async with AsyncExitStack() as stack:
            held = held_slot()
            if slot is None and held is not None and call.only_renders:
                slot = await stack.enter_async_context(held.lend())
            else:
                if slot is None:
                    slot = await stack.enter_async_context(self.slot(call.namespace, urgent=True))
                stack.push_async_callback(slot.close)
            with _disk_errors(), self._workspace.call_folder() as folder:
                if call.files or call.connection is not None:
                    await asyncio.to_thread(_write_files, folder, call)
                if call.post_rendering is not None:
                    await stack.enter_async_context(call.post_rendering.answering(folder))
                outcome = await self._start(
                    self._command(call, folder),
                    limits=self._process_limits(call),
                    on_start=None if call.only_renders else slot.watch,  # a rendering ends by itself
                )
            if slot.memory_exceeded:
                raise HelmError(
                    f"helm {call.command} waited for a hook and needed more memory than helm processes of its "
                    "namespace may hold while they wait: it is tried again. Make the chart smaller, or raise "
                    "XAPP_HELM_WAITING"
                )
            if slot.place_taken and outcome.exit_code != 0:
                raise HelmError(
                    f"helm {call.command} was ended while it waited for a hook, because its place was needed for "
                    "another xApp; it is tried again. Make the hook shorter, or raise XAPP_HELM_WAITING"
                )
        ended = "timeout" if outcome.timed_out else "ok" if outcome.exit_code == 0 else "failed"
        METRICS.record_helm(command=call.command, outcome=ended, seconds=outcome.duration_seconds)
        logger.debug(
            "helm finished", command=call.command, subject=call.subject, outcome=ended, seconds=outcome.duration_seconds
        )
        return outcome

    def raise_on_failure(self, call: HelmCall, outcome: ProcessResult) -> None:
        """Raise the XAppError that `outcome` means, if any."""
        if outcome.timed_out:
            raise HelmTimeout(
                f"helm {call.command} did not finish within {call.timeout_seconds:g} s and was ended: raise the timeout"
            )
        if outcome.exit_code == 0:
            return
        if outcome.exit_code == -signal.SIGKILL and outcome.duration_seconds >= call.cpu_seconds:
            raise ChartInvalid(
                f"the chart needs more than {call.cpu_seconds} s of processor time: simplify its templates"
            )
        if _GO_RUNTIME_CRASH.search(outcome.stderr):
            raise ChartInvalid(
                f"the chart needs more than the {self._limits.memory_bytes // MIB} MiB of memory that helm may use: "
                f"simplify its templates, or raise {self._limits.memory_variable}"
            )
        if outcome.exit_code < 0:
            raise HelmError(
                f"helm {call.command} was killed by signal {-outcome.exit_code}: check the memory of the machine"
            )
        if outcome.exit_code == CANNOT_RESTRICT and not call.uses_own_identity:
            raise HelmNotStarted(f"helm was not started: {outcome.stderr.strip()}")
        raise error_from_stderr(
            outcome.stderr,
            chart=call.chart_name,
            secrets=call.secrets,
            withheld=call.withheld,
            uninstall=call.command == "uninstall",
        )

    def _command(self, call: HelmCall, folder: Path) -> Command:
        kubeconfig = str(folder / ("none" if call.connection is None else user_kubeconfig.FILE_NAME))
        if call.uses_own_identity and self._kubeconfig:
            kubeconfig = self._kubeconfig
        discovery = self._workspace.discovery
        command = Command(
            program=self._program,
            arguments=call.arguments,
            environment=environment(
                working_folder=folder,
                discovery_cache=discovery,
                kubeconfig=kubeconfig,
                memory_bytes=self._limits.memory_bytes,
                plugins=None if call.post_rendering is None else self._plugins,
            ),
            working_folder=folder,
            stdin=call.values,
        )
        if call.uses_own_identity:
            return command
        chart = () if call.chart is None else (call.chart.absolute(),)
        readable = (*chart, *(() if call.post_rendering is None else (self._plugins,)))
        if call.connection is None:
            return self._sandbox.restrict(command, readable=readable)
        discovery.mkdir(exist_ok=True)
        port = user_kubeconfig.connection_port(call.connection)
        return self._sandbox.restrict(command, readable=readable, writable=(discovery,), connect_port=port)

    def _process_limits(self, call: HelmCall) -> ProcessLimits:
        return ProcessLimits(
            timeout_seconds=call.timeout_seconds,
            grace_seconds=0 if call.only_renders else self._grace,  # a rendering has nothing to clean up
            memory_bytes=self._limits.memory_bytes,
            niceness=NICENESS,
            stdout_bytes=OUTPUT_MAX_BYTES,
            cpu_seconds=call.cpu_seconds,
        )


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Translate errors of the folder for helm, and of the start of helm, which may pass."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        place = "XAPP_WORK_DIR of the process, or at XAPP_CACHE_DIR if that is not set"
        raise HelmNotStarted(explain_disk_error("helm cannot run", error, place=place)) from error


def _write_files(folder: Path, call: HelmCall) -> None:
    for name, content in call.files.items():
        (folder / name).write_bytes(content)
    if call.connection is not None:
        path = folder / user_kubeconfig.FILE_NAME
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(user_kubeconfig.write_kubeconfig(call.connection))


def find_helm(name: str) -> Path:
    """Return the absolute path of the program `name`, which is a path or a name on PATH.

    Raises:
        HelmError: if the program does not exist.
    """
    program = shutil.which(name)
    if program is None:
        raise HelmError("helm is not installed: install helm 4, or set XAPP_HELM to its path", permanent=True)
    return Path(program).absolute()


def write_pod_kubeconfig(path: Path, *, server: str, account_folder: str = SERVICE_ACCOUNT_FOLDER) -> None:
    """Write the kubeconfig of a pod for the API server at `server`; `account_folder` has its token and CA.

    A pod needs one too: with the in-cluster configuration, the Kubernetes client library ignores `--kube-as-user`
    (client-go, `clientcmd.inClusterClientConfig`), so helm would act as the operator. The file names the mounted token
    by its path and contains no secret.
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "pod",
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}],
        "clusters": [
            {"name": "pod", "cluster": {"server": server, "certificate-authority": f"{account_folder}/ca.crt"}}
        ],
        "users": [{"name": "pod", "user": {"tokenFile": f"{account_folder}/token"}}],
    }
    path.write_text(json.dumps(content))


def _resolve_kubeconfig(kubeconfig: str | None, server: str | None, folder: Path) -> str | None:
    if kubeconfig is not None:  # one path or several, made absolute because helm runs in another folder
        return os.pathsep.join(str(Path(path).expanduser().absolute()) for path in kubeconfig.split(os.pathsep) if path)
    if server is None:
        return None
    path = folder / "kubeconfig"
    write_pod_kubeconfig(path, server=server)
    return str(path)
