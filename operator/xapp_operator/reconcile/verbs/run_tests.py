"""StartTests and EndTests: the test hooks of the chart, which `helm test` runs beside the reconciles of the XApp.

Precondition of StartTests: the release is deployed, and no helm process of the operator works on it. The run is in the
status before helm starts. Changes in StatusDraft: test, and handled test-at, by the caller; how the run ends comes with
a later reconcile.

What a pod wrote is never part of a message, only its name and exit code.

A test may be in another namespace than its release. There, everything is done with the identity of the XApp, because a
release record can name any namespace. Other objects with the name of a test are left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from xapp_operator.api.conditions import Reason
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.common.text import shorten_line
from xapp_operator.domain.health.containers import containers_of
from xapp_operator.domain.planning.plan_input import TestOutcome, TestRun
from xapp_operator.errors import Conflict, HelmError, HelmTimeout, HookFailed, KubeError, NotFound, XAppError
from xapp_operator.helm.releases.release_storage import BEFORE_HOOK_CREATION, Hook, HookPhase
from xapp_operator.helm.requests import TestRequest
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import JOBS, PODS
from xapp_operator.monitor.hook_pods import find_hook_pod, is_test_object
from xapp_operator.reconcile.reconcile_context import ReconcilerContext, ReconcileRequest
from xapp_operator.reconcile.stored_releases.release_secrets import secrets_reader
from xapp_operator.reconcile.watching.release_watch import read_release_record
from xapp_operator.telemetry.logs import get_logger

TEST_OBJECTS_MAX: Final = 200
"""Objects of tests that are deleted before a run, or with the release."""
LEFT_NAMED_MAX: Final = 3
DESCRIPTION_MAX: Final = 400
GONE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.5

_KINDS: Final = {"Pod": PODS, "Job": JOBS}
_METRIC_OUTCOMES: Final = {TestOutcome.SUCCEEDED: "succeeded", TestOutcome.FAILED: "failed"}

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What a run needs of its XApp; it may last for hours, so nothing large is kept."""

    event_object: JsonObject
    name: str
    uid: str
    namespace: str
    release: str
    user: str | None
    client: KubeClient
    timeout: str
    timeout_seconds: float


def start_tests(request: ReconcileRequest, context: ReconcilerContext, run: TestRun) -> None:
    """Start `run`, which is in the status already."""
    xapp = request.xapp
    metadata: JsonObject = {
        key: value for key, value in obj(request.raw, "metadata").items() if isinstance(value, str | int)
    }
    subject = _Subject(
        event_object={**{key: request.raw[key] for key in ("apiVersion", "kind")}, "metadata": metadata},
        name=xapp.metadata.name,
        uid=xapp.metadata.uid,
        namespace=request.namespace,
        release=xapp.release_name,
        user=context.impersonation.user_for(xapp),
        client=context.impersonation.client_for(xapp),
        timeout=xapp.spec.timeout,
        timeout_seconds=xapp.spec.timeout_seconds,
    )
    context.test_runs.start(request.key, lambda: _run_and_record(subject, run, context))


def take_test_result(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """Put how the last run ended into the draft, if it has ended since the last reconcile."""
    if (ended := context.test_runs.take_result(request.key)) is not None:
        request.draft = replace(request.draft, test=ended)


async def end_tests(request: ReconcileRequest, context: ReconcilerContext) -> None:
    """End the run, and delete the pods that it has left running."""
    await context.test_runs.end(request.key)
    run = request.draft.test
    if run is None:
        return
    why = "they are disabled, or the release is changed, suspended or removed"
    message = f"the tests of revision {run.revision} were ended, because {why}"
    run = replace(run, outcome=TestOutcome.INTERRUPTED, last_at=context.clock.now(), message=message)
    request.draft = replace(request.draft, test=run)
    context.events.record(request.raw, reason="TestInterrupted", message=message)
    await delete_test_objects(request, context, run.revision, only="running")


async def delete_test_objects(
    request: ReconcileRequest, context: ReconcilerContext, revision: int, *, only: Literal["running"] | None = None
) -> None:
    """Delete the pods and Jobs of the tests of a revision, which helm leaves; what cannot be deleted stays."""
    client, namespace = context.impersonation.client_for(request.xapp), request.namespace
    try:
        record = await read_release_record(context.kube, namespace, request.xapp.release_name, revision)
    except (KubeError, HelmError) as error:
        _log.warning("objects of tests stay", namespace=namespace, name=request.key[1], error=error.message)
        if not isinstance(error, NotFound):  # those of a revision that was deleted went with it
            message = f"objects of the tests of revision {revision} may stay: {error.message}"
            context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)
        return
    ran = (test for test in record.tests if test.phase and (only is None or test.phase == HookPhase.RUNNING))
    left: list[str] = []
    for test in _with_known_kinds(ran):
        try:
            await _delete(client, test, namespace=namespace)
        except KubeError as error:
            left.append(f"{_describe(test, namespace)}: {error.message}")
    if left:
        _log.warning("objects of tests stay", namespace=namespace, name=request.key[1], objects=left[:LEFT_NAMED_MAX])
        more = f"; and {len(left) - LEFT_NAMED_MAX} more" if len(left) > LEFT_NAMED_MAX else ""
        message = f"objects of tests stay, delete them by hand: {'; '.join(left[:LEFT_NAMED_MAX])}{more}"
        context.events.record(request.raw, event_type="Warning", reason="LeftBehind", message=message)


async def _run_and_record(subject: _Subject, run: TestRun, context: ReconcilerContext) -> TestRun:
    started = context.clock.monotonic()
    try:
        ended = await _run(subject, run, context)
    except Exception as error:
        _log.exception("running tests failed unexpectedly", namespace=subject.namespace, name=subject.name)
        ended = replace(run, outcome=TestOutcome.INTERRUPTED, message=f"{type(error).__name__}: see the operator's log")
    ended = replace(ended, last_at=context.clock.now())
    context.metrics.record_reconcile(
        action="test",
        outcome=_METRIC_OUTCOMES.get(ended.outcome, "interrupted"),
        seconds=context.clock.monotonic() - started,
    )
    if ended.outcome is TestOutcome.SUCCEEDED:
        context.events.record(subject.event_object, reason=Reason.TEST_SUCCEEDED, message=ended.message)
    else:
        reason = Reason.TEST_FAILED if ended.outcome is TestOutcome.FAILED else "TestInterrupted"
        context.events.record(subject.event_object, event_type="Warning", reason=reason, message=ended.message)
    return ended


async def _run(subject: _Subject, run: TestRun, context: ReconcilerContext) -> TestRun:
    helm_request = TestRequest(
        name=subject.release,
        namespace=subject.namespace,
        user=subject.user,
        timeout=subject.timeout_seconds,
        read_secrets=secrets_reader((subject.namespace, subject.name), subject.release, context),
    )
    begun: tuple[Hook, ...] = ()
    try:
        async with context.test_runs.record_slots.slot(subject.namespace):
            tests = (await read_release_record(context.kube, subject.namespace, subject.release, run.revision)).tests
        if not tests:
            return replace(run, outcome=TestOutcome.SUCCEEDED, message="the chart has no tests")
        await _delete_leftovers(subject, tests)  # may last, so it holds no place
        async with context.helm.slot(subject.namespace, urgent=False) as slot:
            with context.held_releases.hold((subject.namespace, subject.release), subject.uid):
                begun = tests
                await context.helm.test(helm_request, slot=slot)
    except XAppError as error:
        may_have_passed = begun and not isinstance(error, HookFailed | HelmTimeout)
        if not (may_have_passed and await _have_passed(subject, run, context, before=begun)):
            return await _after_failure(subject, run, context, error)
    count = len(tests)
    passed = "1 test" if count == 1 else f"all {count} tests"
    return replace(run, outcome=TestOutcome.SUCCEEDED, message=f"{passed} of revision {run.revision} passed")


async def _have_passed(subject: _Subject, run: TestRun, context: ReconcilerContext, *, before: Sequence[Hook]) -> bool:
    """Return whether the record says that all tests have passed since it was read `before`.

    helm fails after that if it does not learn that its last write was stored.
    """
    try:
        record = await read_release_record(context.kube, subject.namespace, subject.release, run.revision)
    except (KubeError, HelmError):
        return False
    started = [test.started_at for test in before]
    is_new = all(test.started_at not in started for test in record.tests)
    return is_new and all(test.phase == HookPhase.SUCCEEDED for test in record.tests)


async def _delete_leftovers(subject: _Subject, tests: Iterable[Hook]) -> None:
    """Delete what earlier runs have left where helm does not.

    helm applies a hook without the policy before-hook-creation over the old object, which has ended long ago, and
    takes its result.
    """
    kept = (each for each in tests if each.delete_policies and BEFORE_HOOK_CREATION not in each.delete_policies)
    deleted = [
        test for test in _with_known_kinds(kept) if await _delete(subject.client, test, namespace=subject.namespace)
    ]
    for test in deleted:
        if not await _wait_until_gone(subject.client, test, namespace=subject.namespace):
            raise HelmError(
                f"{_describe(test, subject.namespace)}, which an earlier run of the tests has left, is still being "
                "deleted: remove what holds it, such as a finalizer, then request the tests again",
                permanent=True,
            )


def _with_known_kinds(tests: Iterable[Hook]) -> list[Hook]:
    return [each for each in tests if each.kind in _KINDS][:TEST_OBJECTS_MAX]


async def _delete(client: KubeClient, test: Hook, *, namespace: str) -> bool:
    """Delete the object of a test of a release in `namespace`; return whether there was one.

    Raises:
        KubeError: when it cannot be read or deleted.
    """
    resource, where = _KINDS[test.kind], test.namespace or namespace
    try:
        found = await client.get(resource, test.name, namespace=where, metadata_only=True)
        if not is_test_object(found):
            return False
        uid = text(obj(found, "metadata"), "uid")
        await client.delete(resource, test.name, namespace=where, uid=uid, propagation="Background")
    except (NotFound, Conflict):  # another one has its name by now
        return False
    return True


async def _wait_until_gone(client: KubeClient, test: Hook, *, namespace: str) -> bool:
    for _ in range(int(GONE_SECONDS / POLL_SECONDS)):
        try:
            await client.get(_KINDS[test.kind], test.name, namespace=test.namespace or namespace, metadata_only=True)
        except NotFound:
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


def _describe(test: Hook, namespace: str) -> str:
    where = f" in namespace {test.namespace}" if test.namespace not in ("", namespace) else ""
    return shorten_line(f"{test.kind} {test.name}{where}", DESCRIPTION_MAX)


async def _after_failure(subject: _Subject, run: TestRun, context: ReconcilerContext, error: XAppError) -> TestRun:
    ended_by_test = isinstance(error, HookFailed | HelmTimeout)
    seconds = context.clock.now() - context.clock.corrected(run.first_at)
    if not (ended_by_test or error.permanent or seconds >= subject.timeout_seconds):
        message = f"the tests are run again, because they were interrupted: {error.message}"
        return replace(run, outcome=TestOutcome.INTERRUPTED, message=message)
    message = error.message
    if ended_by_test:
        with contextlib.suppress(KubeError, HelmError):
            message = (
                await _describe_failure(subject, run, context, timed_out=isinstance(error, HelmTimeout)) or message
            )
    return replace(run, outcome=TestOutcome.FAILED, message=message)


async def _describe_failure(
    subject: _Subject, run: TestRun, context: ReconcilerContext, *, timed_out: bool
) -> str | None:
    """Return which test failed, with which exit code, and where its logs are; None if the record does not tell."""
    record = await read_release_record(context.kube, subject.namespace, subject.release, run.revision)
    failed = [test for test in record.tests if test.started_at and test.phase != HookPhase.SUCCEEDED]
    if not failed:
        return None
    # helm stops at the first test that fails. Others may have failed in an earlier run.
    test = max(failed, key=lambda each: datetime.fromisoformat(each.started_at))
    what, where = f"test {_describe(test, subject.namespace)}", test.namespace or subject.namespace
    verdict = f"did not finish within spec.timeout ({subject.timeout})" if timed_out else "failed"
    reader = context.kube if where == subject.namespace else subject.client
    try:
        pod = await find_hook_pod(reader, kind=test.kind, name=test.name, namespace=where)
    except KubeError as error:
        return f"{what} {verdict}; its pod cannot be read: {error.message}"
    if pod is None:
        return f"{what} {verdict}; it has no pod any more, so there is neither an exit code nor a log"
    containers = list(containers_of(pod))
    culprit = next((each for each in containers if each.exit_code), containers[-1])
    if culprit.exit_code:
        verdict = f"{verdict}: {culprit.role} {culprit.name}, {culprit.termination_summary}"
    pod_name = text(obj(pod, "metadata"), "name")
    return (
        f"{what} {verdict}. Its log is with the tests of the xApp, or: kubectl logs --namespace={where} "
        f"{pod_name} --container={culprit.name}"
    )
