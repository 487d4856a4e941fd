"""One helm process for one call: a slot, a folder, the environment, the bounds, and how it failed.

Lives between `engine`, which knows what is asked for, and `process`, which knows nothing of helm.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xapp_operator.api.json import JsonObject
from xapp_operator.config import MIB, Settings
from xapp_operator.domain.redaction import secrets_of
from xapp_operator.domain.yamlvalues import dump_values
from xapp_operator.errors import ChartInvalid, HelmError, HelmTimeout, XAppError
from xapp_operator.helm.arguments import environment
from xapp_operator.helm.classify import classify
from xapp_operator.helm.kubeconfig import absolute_paths, write_for_pod
from xapp_operator.helm.process import Command, Limits, Outcome, run
from xapp_operator.helm.workspace import Workspace
from xapp_operator.telemetry.logs import get_logger
from xapp_operator.telemetry.metrics import METRICS

OUTPUT_MAX_BYTES: Final = 16 * MIB
CPU_SECONDS: Final = 60  # a step needs a fraction of one; waiting for hooks needs next to none

_CRASH: Final = re.compile(r"^(?:fatal error: |SIG[A-Z]+: |runtime: )", re.MULTILINE)  # of the Go runtime

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One run of helm: its arguments, the values for its standard input and its bounds (`seconds`, `cpu_seconds`).

    `secrets` are texts that no error may quote, beside the secret ones of `values`. `cluster` says that it needs the
    API server; `chart` names the chart in errors, `subject` the release in the log.
    """

    arguments: tuple[str, ...]
    subject: str
    seconds: float
    values: JsonObject | None = field(default=None, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    cluster: bool = True
    chart: str = ""
    cpu_seconds: int = CPU_SECONDS

    @property
    def command(self) -> str:
        """Return helm's subcommand."""
        return self.arguments[0]


class Runner:
    """Runs calls, at most `helm_concurrency` at a time."""

    def __init__(
        self, settings: Settings, *, program: Path, workspace: Workspace, kubeconfig: str | None, server: str | None
    ) -> None:
        self._program = str(program)
        self._memory = settings.helm_memory
        self._grace = settings.helm_term_seconds
        self._slots = asyncio.Semaphore(settings.helm_concurrency)
        self._workspace = workspace
        self._kubeconfig = _settled(kubeconfig, server, workspace.folder)

    async def run(self, call: Call) -> Outcome:
        """Run helm and return how it ended, whatever that was.

        Raises:
            HelmError: where there is no cluster for a call that needs one.
        """
        if call.cluster and self._kubeconfig is None:
            raise HelmError(
                "no cluster is configured: set KUBECONFIG, or run in a pod with a service account", permanent=True
            )
        async with self._slots:
            with self._workspace.call() as folder:
                outcome = await run(self._command(call, folder), limits=self._limits(call))
        ended = "timeout" if outcome.expired else "ok" if outcome.code == 0 else "failed"
        METRICS.helm_ran(command=call.command, outcome=ended, seconds=outcome.seconds)
        logger.debug("helm ran", command=call.command, subject=call.subject, outcome=ended, seconds=outcome.seconds)
        return outcome

    def failure(self, call: Call, outcome: Outcome) -> XAppError | None:
        """Return what went wrong, or None."""
        if outcome.expired:
            return HelmTimeout(
                f"helm {call.command} did not end within {call.seconds:g} s and was stopped: raise the timeout"
            )
        if outcome.code == 0:
            return None
        if outcome.code == -signal.SIGKILL and outcome.seconds >= call.cpu_seconds:
            return ChartInvalid(f"the chart needs more than {call.cpu_seconds} s of processor time: make it do less")
        if _CRASH.search(outcome.stderr):
            return ChartInvalid(
                f"the chart needs more than the {self._memory // MIB} MiB of memory that helm may use: make its "
                "templates do less, or raise XAPP_HELM_MEMORY"
            )
        if outcome.code < 0:
            return HelmError(
                f"helm {call.command} was ended from outside by signal {-outcome.code}: is the memory used up?"
            )
        return classify(outcome.stderr, chart=call.chart, secrets=call.secrets | secrets_of(call.values or {}))

    def _command(self, call: Call, folder: Path) -> Command:
        kubeconfig = self._kubeconfig if call.cluster and self._kubeconfig else str(folder / "none")
        return Command(
            program=self._program,
            arguments=call.arguments,
            environment=environment(
                folder=folder,
                discovery=self._workspace.folder / "discovery",
                kubeconfig=kubeconfig,
                memory=self._memory,
            ),
            folder=folder,
            stdin=None if call.values is None else dump_values(call.values),
        )

    def _limits(self, call: Call) -> Limits:
        return Limits(
            seconds=call.seconds,
            grace=self._grace if call.cluster else 0,  # a rendering has nothing to tidy up
            memory=self._memory,
            output=OUTPUT_MAX_BYTES,
            cpu_seconds=call.cpu_seconds,
        )


def find_helm(name: str) -> Path:
    """Return the absolute path of the program `name`, a path or a name on PATH.

    Raises:
        HelmError: where there is none.
    """
    program = shutil.which(name)
    if program is None:
        raise HelmError("helm is not installed here: install helm 4, or set XAPP_HELM to its path", permanent=True)
    return Path(program).absolute()


def _settled(kubeconfig: str | None, server: str | None, folder: Path) -> str | None:
    if kubeconfig is not None:
        return absolute_paths(kubeconfig)
    if server is None:
        return None
    path = folder / "kubeconfig"
    write_for_pod(path, server=server)
    return str(path)
