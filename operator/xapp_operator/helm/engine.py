"""The engine: it starts every helm process, a bounded number at a time.

No layer above knows helm's flags or reads its output. Cancelling a call ends its process (SIGTERM, a grace period,
SIGKILL) before the cancellation continues. By then helm has marked an interrupted install or upgrade as failed, or has
left it pending (a rollback, which does not react to SIGTERM, or after SIGKILL).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final, Literal

from xapp_operator.api.json import integer, text
from xapp_operator.common.bounded_process import ProcessResult, ProcessStarter, run_process
from xapp_operator.common.off_loop import run_sized
from xapp_operator.common.sandbox import Sandbox
from xapp_operator.common.sandboxed_exec import landlock_version
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.domain.chart_values.yaml_values import dump_values
from xapp_operator.domain.masking.redaction import secret_texts
from xapp_operator.errors import ChartInvalid, HelmError, HelmTimeout, SignatureInvalid, XAppError
from xapp_operator.helm.labelling.post_rendering import PostRendering
from xapp_operator.helm.processes import arguments
from xapp_operator.helm.processes.limits import HelmLimits
from xapp_operator.helm.processes.runner import CPU_SECONDS, OUTPUT_MAX_BYTES, HelmCall, HelmRunner, find_helm
from xapp_operator.helm.processes.slots import HelmSlot, SlotCounts
from xapp_operator.helm.processes.workspace import Workspace, reap_orphans
from xapp_operator.helm.requests import (
    DryRunRequest,
    RecordedOperation,
    ReleaseOperation,
    ReleaseRequest,
    ReleaseResult,
    RenderResult,
    RollbackRequest,
    TemplateRequest,
    TestRequest,
    UninstallRequest,
    UninstallResult,
    VerifiedArchive,
    VerifyRequest,
)
from xapp_operator.helm.results.error_rules import is_release_not_found, template_stop_reason, user_refusal
from xapp_operator.helm.results.output import (
    decode_stdout,
    parse_dry_run,
    parse_left_objects,
    parse_release,
    rendered_notes,
    stdout_text,
)
from xapp_operator.helm.results.stderr import error_text, parse_warnings, presentable_message

TEMPLATE_CPU_SECONDS: Final = 20
CRDS_FOLDER: Final = "crds/"
TIMEOUT_MARGIN_SECONDS: Final = 5.0  # after helm's own timeout, whose message names the hook
QUERY_TIMEOUT_SECONDS: Final = 30.0

_KEYRING_FILE: Final = "trusted keys"  # no chart has a name with a blank
_VERIFIED: Final = re.compile(
    r"^Using Key With Fingerprint: (?P<fingerprint>[0-9A-F]{40,64})\n"
    r"Chart Hash Verified: sha256:(?P<digest>[0-9a-f]{64})$",
    re.MULTILINE,
)


class HelmEngine:
    """Runs the helm 4 command line; one for each program, closed by `close`."""

    def __init__(
        self,
        settings: Settings,
        *,
        limits: HelmLimits | None = None,
        kubeconfig: str | None = None,
        server: str | None = None,
        start: ProcessStarter = run_process,
    ) -> None:
        """Find helm and create a private folder.

        Args:
            settings: `helm`, `helm_term_seconds`, `work_dir` and `cache_dir` are used.
            limits: how many processes, with how much memory. Default: those of the operator in `settings`.
            kubeconfig: the path or paths of KUBECONFIG.
            server: the URL of the API server, for a pod, which has no kubeconfig. With neither, only `template` works.
            start: runs one helm process from start to end.

        Raises:
            HelmError: if helm is not installed, or the folder for helm belongs to another user.
        """
        program = find_helm(settings.helm)
        self._base = settings.work_dir or settings.cache_dir / "helm"
        self._grace = settings.helm_term_seconds
        self._workspace = Workspace(self._base)
        self.folder = self._workspace.folder  # every helm process works in it
        try:
            self._runner = HelmRunner(
                settings,
                limits=limits or HelmLimits.for_operator(settings),
                program=program,
                workspace=self._workspace,
                sandbox=Sandbox(landlock_version=landlock_version()),
                kubeconfig=kubeconfig,
                server=server,
                start=start,
            )
        except BaseException:  # each start on a full disk would fill it more
            self._workspace.close()
            raise

    def close(self) -> None:
        """Remove the private folder; no call may be running."""
        self._workspace.close()

    def forget_kinds(self, unserved: Collection[tuple[str, str]]) -> None:
        """Let helm ask again which kinds the API server serves: otherwise it takes what is gone for deleted.

        `unserved` are pairs of apiVersion and kind; see `Workspace.forget_kinds`.
        """
        self._workspace.forget_kinds(unserved)

    async def reap_orphans(self) -> int:
        """End the helm processes that a killed operator left behind; return how many there were."""
        return await reap_orphans(self._base, grace=self._grace)

    async def version(self) -> str:
        """Return helm's version, like `v4.3.1`.

        Raises:
            HelmError: permanent when it is not helm 4.
        """
        outcome = await self._runner.run(
            HelmCall(
                arguments=("version", "--template={{.Version}}"),
                subject="helm",
                namespace="",
                timeout_seconds=QUERY_TIMEOUT_SECONDS,
                needs_cluster=False,
            )
        )
        if outcome.timed_out:
            raise HelmTimeout(f"helm version did not finish within {QUERY_TIMEOUT_SECONDS:g} s")
        found = outcome.stdout.decode("utf-8", "replace").strip()
        if outcome.exit_code != 0 or not found.startswith("v4."):
            raise HelmError(f"helm 4 is needed, this is {found or 'something else'}: set XAPP_HELM", permanent=True)
        return found

    def slot(self, namespace: str, *, urgent: bool) -> AbstractAsyncContextManager[HelmSlot]:
        """Wait for a place of the namespace, in which one call can run, and hold it until that call or the block ends.

        If none is free, a helm that only waits is ended: of a namespace that holds more; for an `urgent` call, also of
        this one.
        """
        return self._runner.slot(namespace, urgent=urgent)

    def slot_counts(self) -> SlotCounts:
        """Return how many places there are, and how many are taken."""
        return self._runner.slot_counts()

    async def install(self, request: ReleaseRequest, *, slot: HelmSlot | None = None) -> ReleaseResult:
        """Install a release.

        Raises:
            XAppError: see `error_from_stderr`; HelmTimeout when it did not end in time.
        """
        return await self._install_or_upgrade(arguments.install(request), request, slot=slot)

    async def upgrade(self, request: ReleaseRequest, *, slot: HelmSlot | None = None) -> ReleaseResult:
        """Upgrade a release; values of older revisions do not stay in force.

        Raises:
            XAppError: as `install`.
        """
        return await self._install_or_upgrade(arguments.upgrade(request), request, slot=slot)

    async def rollback(self, request: RollbackRequest, *, slot: HelmSlot | None = None) -> None:
        """Create a new revision from an old one, with the labels of the old one.

        When it is interrupted or a hook fails, helm leaves the release pending-rollback.

        Raises:
            XAppError: as `install`.
        """
        await self._run_checked(_release_call(arguments.rollback(request), request), slot=slot)

    async def uninstall(self, request: UninstallRequest, *, slot: HelmSlot | None = None) -> UninstallResult:
        """Remove a release with its history; return None if helm finds no record of one, which is not an error.

        Returns when the deletes are accepted, with the objects that helm has left. When it is interrupted, helm leaves
        the release `uninstalling`.

        Raises:
            XAppError: as `install`.
        """
        call = _release_call(arguments.uninstall(request), request)
        outcome = await self._runner.run(call, slot=slot)
        if outcome.exit_code > 0 and is_release_not_found(outcome.stderr):
            return None
        await self._raise_on_failure(call, outcome)
        return parse_left_objects(outcome)

    async def test(self, request: TestRequest, *, slot: HelmSlot | None = None) -> None:
        """Run the test hooks of the newest revision of a release, one after the other, until one fails.

        helm records each result in the release. When it is interrupted, it records nothing more, and leaves the pod.

        Raises:
            HookFailed: when a test fails; the message names its hook.
            XAppError: as `install`.
        """
        await self._run_checked(_release_call(arguments.test(request), request), slot=slot)

    async def template(self, request: TemplateRequest) -> RenderResult:
        """Render a chart offline.

        A template that stops (`fail`, `required`, a missing field) is only a warning: `lookup` finds nothing here, and
        may find something on the cluster.

        Raises:
            ChartInvalid: when a template does not parse, renders invalid YAML, or needs too much memory, time or
                output; when the chart cannot be read or is not for this cluster.
            ValuesInvalid: when the schema refuses the values, with one field error for each violation.
            HelmTimeout: when the machine was too busy to render within `timeout`.
        """
        call = await asyncio.to_thread(_template_call, arguments.template(request), request)
        output = await self._runner.run(call)
        # In a thread: finding secrets in the output takes a walk through all values.
        rendered = await asyncio.to_thread(self._parse_render_output, call, output)
        if not request.notes or not rendered.manifest:
            return rendered
        dry_run = await self._runner.run(replace(call, arguments=arguments.render_notes(request)))
        return replace(rendered, notes=rendered_notes(dry_run))

    async def dry_run(self, request: DryRunRequest) -> RenderResult:
        """Render a chart with the cluster, as a user: `lookup` finds what they may read. Nothing is changed.

        The manifest has no hooks. It has the CustomResourceDefinitions of the chart itself if it is installed.

        Raises:
            AccessDenied: when the user may not look something up, or not read the release or an object of the chart.
                The message speaks to the user of a connection.
            ValuesInvalid, ChartInvalid: when a template stops; the message names file and line.
            XAppError: see `error_from_stderr`.
        """
        call = HelmCall(
            arguments=arguments.dry_run(request),
            subject=f"{request.namespace}/{request.name}",
            namespace=request.namespace,
            timeout_seconds=request.timeout,
            values=await asyncio.to_thread(dump_values, request.values),
            secrets=request.secrets,
            connection=request.connection,
            chart=request.chart,
            chart_name=request.chart_name,
            dry_run=True,
            cpu_seconds=TEMPLATE_CPU_SECONDS if request.connection else CPU_SECONDS,
            post_rendering=_post_rendering(request),
        )
        outcome = await self._runner.run(call)
        if outcome.stdout_truncated:
            raise ChartInvalid(f"the chart renders more than {OUTPUT_MAX_BYTES // MIB} MiB: make it smaller")
        if outcome.exit_code > 0 and request.connection is not None:
            refusal = await asyncio.to_thread(user_refusal, outcome.stderr, secrets=call.secrets)
            if refusal is not None:
                raise refusal
        await self._raise_on_failure(call, outcome)
        return await asyncio.to_thread(parse_dry_run, outcome, upgrade=request.upgrade)

    async def verify(self, request: VerifyRequest) -> VerifiedArchive:
        """Check that a key of the keyring signed the provenance of an archive, and that it is for this archive.

        Raises:
            SignatureInvalid: in helm's words, when it is not.
            HelmTimeout: when the machine was too busy to check it within `timeout`.
        """
        files = {request.file_name: request.archive, f"{request.file_name}.prov": request.provenance}
        call = HelmCall(
            arguments=arguments.verify(archive=request.file_name, keyring=_KEYRING_FILE),
            subject=request.file_name,
            namespace=request.namespace,
            timeout_seconds=request.timeout,
            needs_cluster=False,
            files={**files, _KEYRING_FILE: request.keyring},
            cpu_seconds=TEMPLATE_CPU_SECONDS,
        )
        outcome = await self._runner.run(call)
        if outcome.exit_code == 1 and not outcome.timed_out:
            raise SignatureInvalid(presentable_message(error_text(outcome.stderr)))
        self._runner.raise_on_failure(call, outcome)
        found = _VERIFIED.search(stdout_text(outcome))
        if found is None:
            raise SignatureInvalid("helm verify did not say which key signed the chart. Check that this is helm 4")
        return VerifiedArchive(fingerprint=found["fingerprint"], digest=found["digest"])

    async def _install_or_upgrade(
        self, command: tuple[str, ...], request: ReleaseRequest, *, slot: HelmSlot | None
    ) -> ReleaseResult:
        call = _release_call(command, request)
        outcome = await self._run_checked(call, slot=slot)
        labelled = call.post_rendering is not None and call.post_rendering.complete
        if outcome.stdout_truncated:
            # The output contains the whole chart and is too long. The release itself is fine, so it is read in parts.
            return replace(await self._get_release(request), labelled=labelled)
        return await run_sized(len(outcome.stdout), parse_release, outcome, labelled=labelled)

    async def _get_release(self, request: ReleaseRequest) -> ReleaseResult:
        metadata_output, manifest_output = await asyncio.gather(
            self._run_checked(_get_call("metadata", request)), self._run_checked(_get_call("manifest", request))
        )
        metadata = decode_stdout(metadata_output)
        return ReleaseResult(
            revision=integer(metadata, "revision"),
            status=text(metadata, "status"),
            manifest=stdout_text(manifest_output),
            chart_name=text(metadata, "chart"),
            chart_version=text(metadata, "version"),
            app_version=text(metadata, "appVersion"),
            last_deployed=text(metadata, "deployedAt"),
        )

    async def _run_checked(self, call: HelmCall, *, slot: HelmSlot | None = None) -> ProcessResult:
        outcome = await self._runner.run(call, slot=slot)
        await self._raise_on_failure(call, outcome)
        return outcome

    async def _raise_on_failure(self, call: HelmCall, outcome: ProcessResult) -> None:
        if outcome.timed_out or outcome.exit_code != 0:
            if outcome.exit_code > 0 and not outcome.timed_out:
                call = await _with_secrets(call)
            # In a thread: it walks through all values.
            await asyncio.to_thread(self._runner.raise_on_failure, call, outcome)

    def _parse_render_output(self, call: HelmCall, outcome: ProcessResult) -> RenderResult:
        found_warnings = parse_warnings(outcome.stderr)
        if outcome.stdout_truncated:
            raise ChartInvalid(f"the chart renders more than {OUTPUT_MAX_BYTES // MIB} MiB: make it smaller")
        if outcome.exit_code > 0:
            stop_reason = template_stop_reason(outcome.stderr, secrets=call.secrets)
            if stop_reason is not None:
                return RenderResult(manifest="", notes="", warnings=(*found_warnings, stop_reason), stopped=True)
        self._runner.raise_on_failure(call, outcome)
        return RenderResult(manifest=stdout_text(outcome), notes="", warnings=found_warnings)


def _release_call(command: tuple[str, ...], request: ReleaseOperation) -> HelmCall:
    call = HelmCall(
        arguments=command,
        subject=f"{request.namespace}/{request.name}",
        namespace=request.namespace,
        timeout_seconds=request.timeout + TIMEOUT_MARGIN_SECONDS,
    )
    if isinstance(request, ReleaseRequest):
        rendering = _post_rendering(request)
        return replace(call, values=request.values, secrets=request.secrets, post_rendering=rendering)
    if isinstance(request, RecordedOperation):
        return replace(call, read_secrets=request.read_secrets)
    return call


async def _with_secrets(call: HelmCall) -> HelmCall:
    """Return `call` with the secrets that its error must not contain, or with the reason why they are not known."""
    if call.read_secrets is None:
        return call
    try:
        return replace(call, secrets=await call.read_secrets())
    except XAppError as error:
        return replace(call, withheld=error.message)


def _get_call(subcommand: Literal["manifest", "metadata"], request: ReleaseRequest) -> HelmCall:
    return HelmCall(
        arguments=arguments.get(subcommand, request),
        subject=f"{request.namespace}/{request.name}",
        namespace=request.namespace,
        timeout_seconds=QUERY_TIMEOUT_SECONDS,
    )


def _template_call(command: tuple[str, ...], request: TemplateRequest) -> HelmCall:
    return HelmCall(
        arguments=command,
        subject=f"{request.namespace}/{request.name}",
        namespace=request.namespace,
        timeout_seconds=request.timeout,
        values=dump_values(request.values),
        secrets=secret_texts(request.values),
        needs_cluster=False,
        chart=request.chart,
        chart_name=request.chart_name,
        cpu_seconds=TEMPLATE_CPU_SECONDS,
        post_rendering=_post_rendering(request),
    )


def _post_rendering(request: ReleaseRequest | TemplateRequest | DryRunRequest) -> PostRendering | None:
    return None if request.object_metadata is None else PostRendering(request.object_metadata)
