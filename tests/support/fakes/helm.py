"""helm 4 in memory: what its commands read, write and print, as far as the operator uses them.

It takes the argument lists and the standard input of the shipped engine, keeps its releases in the FakeApiServer as
helm keeps them, and writes in the order of helm 4.3.1 (`pkg/action`). A template is one object, and can only print
values and the name of the release. Hooks run before an install or upgrade, and as tests; they have no weights.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import yaml

from tests.support.fakes.api_server import FakeApiServer, Refused, Target, target_of
from tests.support.fakes.helm_arguments import parse_arguments
from tests.support.fakes.helm_records import (
    crd_files,
    identity,
    inherited_labels,
    is_deletable,
    load_chart,
    load_values,
    manifest_of,
    objects_of,
    owned,
    owner_of,
    read_history,
    record_secret,
    record_target,
    render,
    split_hooks,
)
from tests.support.fakes.json_patch import Json
from tests.support.fakes.post_renderer import post_render
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock

PENDING = ("pending-install", "pending-upgrade", "pending-rollback")
PURGE_FAILED = "uninstall: Failed to purge the release"
HOOK_POLL_SECONDS = 0.1


class HelmFailed(Exception):
    """helm ends with exit code 1 and prints this."""


@dataclass
class Fault:
    """What goes wrong in one run of helm, after `writes` of its writes."""

    error: str = ""
    """What helm prints. Empty: helm is killed by SIGKILL."""
    writes: int | None = 0
    """None: all of them. So it has succeeded, although it fails."""


@dataclass
class Step:
    """A step of helm that changed a release, or something that a user did."""

    command: str
    """Of helm, or `user`."""
    what: str
    """The values that were deployed, the revision that was rolled back to, or what the user did."""
    release: str = "hello"
    done: bool = False
    """Whether it has succeeded, even if nobody was told."""
    force: str | None = None
    """The force-at that the operator had recorded as answered when it began."""


@dataclass
class _Run:
    """One process: what it was asked, and how much it has written."""

    command: str
    namespace: str
    positional: list[str]
    flags: dict[str, str]
    values: Json
    fault: Fault | None
    folder: Path
    writes: int = 0
    record: Json | None = None
    """The release in progress, which helm marks as failed when it gets SIGTERM."""
    step: Step | None = None


@dataclass
class FakeHelm:
    """A `ProcessStarter` that is helm; one for all processes of a cluster."""

    server: FakeApiServer
    clock: Clock = SYSTEM_CLOCK
    pause: float = 0.0
    """Seconds between two writes."""
    post_renders: bool = False
    """Whether labels come with the objects. Otherwise the operator adds them, as after a helm that cannot do it."""
    last_breath: float = 0.0
    """Seconds that a process still lives after SIGTERM."""
    around_write: Callable[[str], Callable[[], None]] = lambda _: lambda: None
    """Called before each write with what is written; what it returns is called after it."""
    output_max: int = 16 << 20
    """Bytes that are read of what a process prints."""
    faults: list[Fault | None] = field(default_factory=list)
    """Of the next steps that change a release, in this order; None is a step without a fault."""
    refusals: dict[str, Fault] = field(default_factory=dict)
    """What goes wrong whenever these values (as JSON) are deployed."""
    steps: list[Step] = field(default_factory=list)
    """The steps that changed a release, in order, and between them what users did."""
    on_step: list[Callable[[Step], None]] = field(default_factory=list)
    """Called with each step that begins to change a release."""
    running: set[str] = field(default_factory=set)
    """The releases that a helm works on; it may be only one helm for each."""

    async def __call__(
        self, command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        run = self._parse(command)
        changes = run.command in ("install", "upgrade", "rollback", "uninstall")
        works = changes or run.command == "test"
        if works:
            assert run.positional[0] not in self.running, "two helm processes work on one release"
            self.running.add(run.positional[0])
        if changes:
            what = run.positional[-1] if run.command == "rollback" else json.dumps(run.values, sort_keys=True)
            run.fault = self.refusals.get(what) or (self.faults.pop(0) if self.faults else None)
            run.step = Step(run.command, what, release=run.positional[0])
            self.steps.append(run.step)
            for listener in self.on_step:
                listener(run.step)
        try:
            await asyncio.sleep(self.pause if changes else 0)  # before the first request
            printed = (await getattr(self, f"_{run.command}")(run)).encode()
            if run.fault is not None and run.fault.writes is None:
                _fail(run.fault)
            return _result(0, printed[: self.output_max], truncated=len(printed) > self.output_max)
        except HelmFailed as failed:
            return _result(1, stderr=f"Error: {failed}\n")
        except _Killed:
            return _result(-9)
        except asyncio.CancelledError:
            await asyncio.sleep(self.last_breath)
            self._terminate(run)
            raise
        finally:
            if works:
                self.running.discard(run.positional[0])

    def _parse(self, command: Command) -> _Run:
        name, positional, flags = parse_arguments(command.arguments)
        values = load_values(command.stdin if isinstance(command.stdin, bytes) else b"")
        return _Run(name, flags.get("namespace", ""), positional, flags, values, None, command.working_folder)

    # Commands

    async def _version(self, _: _Run) -> str:
        return "v4.3.1"

    async def _get(self, run: _Run) -> str:
        subcommand, name = run.positional
        newest = self._history(run.namespace, name)[-1]
        if subcommand == "manifest":
            return str(newest["manifest"])
        metadata = newest["chart"]["metadata"]
        return json.dumps(
            {
                "revision": newest["version"],
                "status": newest["info"]["status"],
                "chart": metadata["name"],
                "version": metadata["version"],
                "appVersion": metadata.get("appVersion", ""),
                "deployedAt": newest["info"]["last_deployed"],
            }
        )

    async def _template(self, run: _Run) -> str:
        name, path = run.positional
        return manifest_of(render(load_chart(path), run.values, name, include_crds="include-crds" in run.flags))

    async def _dry_run(self, run: _Run) -> str:
        record = self._new_record(run, *run.positional, status="pending-install", description="Dry run")
        self._check_owners(run, run.positional[0], objects_of(record["manifest"]))
        return json.dumps(record | {"chart": record["chart"] | {"files": crd_files(run.positional[1])}})

    async def _install(self, run: _Run) -> str:
        name, path = run.positional
        history = self._history(run.namespace, name, missing_ok=True)
        if history and not ("replace" in run.flags and history[-1]["info"]["status"] in ("uninstalled", "failed")):
            raise HelmFailed("INSTALLATION FAILED: release name check failed: cannot reuse a name that is still in use")
        record = self._new_record(run, name, path, status="pending-install", description="Initial install underway")
        await self._post_render(run, record)
        objects = objects_of(record["manifest"])
        self._check_owners(run, name, objects)
        if history:
            record["version"] = history[-1]["version"] + 1
            if history[-1]["info"]["status"] != "failed":
                await self._set_status(run, history[-1], "superseded", "superseded by new release")
        await self._create_record(run, record)
        try:
            await self._run_hooks(run, record, "pre-install")
            await self._apply(run, name, objects, [])
        except HelmFailed as failed:
            await self._fail(run, f'Release "{name}" failed: {failed}')
            raise HelmFailed(f"INSTALLATION FAILED: {failed}") from None
        await self._set_status(run, record, "deployed", "Install complete")
        return json.dumps(record)

    async def _upgrade(self, run: _Run) -> str:
        name, path = run.positional
        history = self._history(run.namespace, name, missing_ok=True)
        if not history:
            raise HelmFailed(f'UPGRADE FAILED: "{name}" has no deployed releases')
        last = history[-1]
        if last["info"]["status"] in PENDING:
            raise HelmFailed("UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress")
        deployed = [each for each in history if each["info"]["status"] == "deployed"]
        if not deployed and last["info"]["status"] not in ("failed", "superseded"):
            raise HelmFailed(f'UPGRADE FAILED: "{name}" has no deployed releases')
        current = deployed[-1] if deployed else last
        record = self._new_record(run, name, path, status="pending-upgrade", description="Preparing upgrade")
        await self._post_render(run, record)
        record["version"] = last["version"] + 1
        record["info"]["first_deployed"] = current["info"]["first_deployed"]
        stored = self.server.get(record_target(run.namespace, name, last["version"]))["metadata"]["labels"]
        record["labels"] = {**last["labels"], **inherited_labels(stored), **record["labels"]}
        objects, before = objects_of(record["manifest"]), objects_of(current["manifest"])
        known = {identity(each) for each in before}
        self._check_owners(run, name, [each for each in objects if identity(each) not in known])
        await self._create_record(run, record)
        try:
            await self._run_hooks(run, record, "pre-upgrade")
            await self._apply(run, name, objects, before)
        except HelmFailed as failed:
            await self._write_record(run, current)
            await self._fail(run, f'Upgrade "{name}" failed: {failed}')
            raise HelmFailed(f"UPGRADE FAILED: {failed}") from None
        await self._set_status(run, current, "superseded", current["info"]["description"])
        await self._set_status(run, record, "deployed", "Upgrade complete")
        return json.dumps(record)

    async def _rollback(self, run: _Run) -> str:
        name, number = run.positional
        history = self._history(run.namespace, name)
        current = history[-1]
        wanted = [each for each in history if each["version"] == int(number)]
        if not wanted:
            raise HelmFailed(f"release has no {number} version")
        info = {**current["info"], "status": "pending-rollback", "description": f"Rollback to {number}"}
        info["last_deployed"] = self._now()
        record = {**wanted[0], "version": current["version"] + 1, "info": info}
        await self._create_record(run, record)
        try:
            await self._apply(run, name, objects_of(record["manifest"]), objects_of(current["manifest"]))
        except HelmFailed as failed:
            await self._set_status(run, current, "superseded", current["info"]["description"])
            await self._set_status(run, record, "failed", f'Rollback "{name}" failed: {failed}')
            raise
        for each in self._history(run.namespace, name):
            if each["info"]["status"] == "deployed":
                await self._set_status(run, each, "superseded", each["info"]["description"])
        await self._set_status(run, record, "deployed", info["description"])
        return "Rollback was a success! Happy Helming!\n"

    async def _uninstall(self, run: _Run) -> str:
        (name,) = run.positional
        history = self._history(run.namespace, name, missing_ok=True)
        if not history:
            stored = any(each["metadata"].get("labels", {}).get("name") == name for each in self.server.all("secrets"))
            not_found = f"uninstall: Release not loaded: {name}: release: not found"
            raise HelmFailed("no release provided" if stored else not_found)  # none of the records can be decoded
        newest, left = history[-1], list[str]()
        if newest["info"]["status"] != "uninstalled":
            if self._has_record(run, newest):  # otherwise helm goes on
                await self._set_status(run, newest, "uninstalling", "Deletion in progress (or silently failed)")
            for each in reversed(objects_of(newest["manifest"])):
                target = target_of(each, namespace=run.namespace)
                if owner_of(self.server, target) not in ((name, run.namespace), None):
                    left.append(f"[{each['kind']}] {target.name}\n")
                elif owner_of(self.server, target) is not None:
                    with self._write(run, f"delete {target.plural}"):
                        self.server.delete(target, {})
                    await asyncio.sleep(self.pause)
        for each in history:
            if not self._has_record(run, each):
                raise HelmFailed(f"uninstallation completed with 1 error(s): {PURGE_FAILED}: release: not found")
            with self._write(run, "delete record"):
                self.server.delete(record_target(run.namespace, each["name"], each["version"]), {})
                _set_done(run, done=each is newest)
        heading = f"{len(left)} resource(s) were not deleted because they are not owned by this release:\n"
        return f'{"".join([heading, *left]) if left else ""}release "{name}" uninstalled\n'

    async def _test(self, run: _Run) -> str:
        (name,) = run.positional
        record = self._history(run.namespace, name)[-1]
        try:
            await self._run_hooks(run, record, "test")
        finally:
            await self._write_record(run, record)
        return f"NAME: {name}\n"

    # Hooks

    async def _run_hooks(self, run: _Run, record: Json, event: str) -> None:
        """Run the hooks of an event, one after the other; the caller writes how the last one ended."""
        hooks = [each for each in record["hooks"] if event in each["events"]]
        for hook in hooks:
            body = yaml.safe_load(hook["manifest"])
            target = target_of(body, namespace=run.namespace)
            self._delete_hook(run, hook, "before-hook-creation")
            hook["last_run"] = {"started_at": self._now(), "phase": "Running"}
            await self._write_record(run, record)
            try:
                with self._write(run, f"apply hook {target.plural}"):
                    self.server.apply(target, body, manager="helm")
                await self._wait_for_hook(run, target)
            except HelmFailed as failed:
                hook["last_run"] |= {"completed_at": self._now(), "phase": "Failed"}
                self._delete_hook(run, hook, "hook-failed")
                raise HelmFailed(f"failed {event}: {failed}") from None
            hook["last_run"] |= {"completed_at": self._now(), "phase": "Succeeded"}
        for hook in hooks:
            self._delete_hook(run, hook, "hook-succeeded")

    def _delete_hook(self, run: _Run, hook: Json, policy: str) -> None:
        target = target_of(yaml.safe_load(hook["manifest"]), namespace=run.namespace)
        known = self.server.find(target.plural, target.name, namespace=target.namespace) is not None
        if known and policy in hook["delete_policies"]:
            with self._write(run, f"delete hook {target.plural}"):
                self.server.delete(target, {})

    async def _wait_for_hook(self, run: _Run, target: Target) -> None:
        until = self.clock.monotonic() + int(run.flags["timeout"].removesuffix("s"))
        where = f"resource {target.kind}/{target.namespace}/{target.name} not ready. status:"
        while target.kind == "Pod":
            phase = self.server.get(target).get("status", {}).get("phase")
            if phase == "Succeeded":
                return
            if phase == "Failed":
                raise HelmFailed(f"{where} Failed, message: Pod failed")
            if self.clock.monotonic() >= until:
                raise HelmFailed(f"{where} InProgress, message: Pod in progress\ncontext deadline exceeded")
            await asyncio.sleep(HOOK_POLL_SECONDS)

    # Records

    def _new_record(self, run: _Run, name: str, path: str, *, status: str, description: str) -> Json:
        chart, now = load_chart(path), self._now()
        manifest, hooks = split_hooks(render(chart, run.values, name))
        labels = dict(pair.split("=", 1) for pair in run.flags.get("labels", "").split(",") if pair)
        return {
            "name": name,
            "info": {"first_deployed": now, "last_deployed": now, "status": status, "description": description},
            "chart": {"metadata": chart.metadata, "values": chart.values},
            "config": run.values,
            "manifest": manifest,
            "hooks": hooks,
            "version": 1,
            "namespace": run.namespace,
            "labels": labels,
            "apply_method": "ssa",
        }

    async def _post_render(self, run: _Run, record: Json) -> None:
        if not (self.post_renders and "post-renderer" in run.flags):
            return
        record["manifest"] = await post_render(run.folder, record["manifest"])
        if not record["manifest"]:
            raise HelmFailed(f"{run.command.upper()} FAILED: error while running post render on files: empty")

    def _history(self, namespace: str, name: str, *, missing_ok: bool = False) -> list[Json]:
        found = read_history(self.server.all("secrets"), namespace, name)
        if not (found or missing_ok):
            raise HelmFailed("release: not found")
        if found and "info" not in found[-1]:
            raise HelmFailed("panic: runtime error: invalid memory address or nil pointer dereference")
        return found

    def _has_record(self, run: _Run, record: Json) -> bool:
        secret = record_target(run.namespace, record["name"], record["version"]).name
        return self.server.find("secrets", secret, namespace=run.namespace) is not None

    async def _create_record(self, run: _Run, record: Json) -> None:
        run.record = record
        secret = record_secret(record, "createdAt", now=self.clock.now())
        target = record_target(run.namespace, record["name"], record["version"])
        with self._write(run, f"create record {record['info']['status']}"):
            self.server.create(target, secret)
        await asyncio.sleep(self.pause)

    async def _write_record(self, run: _Run, record: Json) -> None:
        secret = record_secret(record, "modifiedAt", now=self.clock.now())
        target = record_target(run.namespace, record["name"], record["version"])
        with self._write(run, f"update record {record['info']['status']}"):
            self.server.replace(target, secret, manager="")
            _set_done(run, done=record["info"]["status"] == "deployed" and record is run.record)

    async def _set_status(self, run: _Run, record: Json, status: str, description: str) -> None:
        record["info"] = {**record["info"], "status": status, "description": description}
        await self._write_record(run, record)
        if record is run.record:
            run.record = None
        if status in ("uninstalling", "superseded"):
            await asyncio.sleep(self.pause)

    async def _fail(self, run: _Run, description: str) -> None:
        record, run.record = run.record, None
        assert record is not None
        record["info"] = {**record["info"], "status": "failed", "description": description}
        run.fault = None
        await self._write_record(run, record)

    # Objects

    async def _apply(self, run: _Run, name: str, objects: list[Json], before: list[Json]) -> None:
        old = {identity(each): owned(each, name, run.namespace) for each in before}
        for each in objects:
            body, target = owned(each, name, run.namespace), target_of(each, namespace=run.namespace)
            with self._write(run, f"apply {target.plural}"):
                self.server.apply(target, body, manager="helm", before=old.get(identity(each)))
            await asyncio.sleep(self.pause)
        wanted = {identity(each) for each in objects}
        for each in before:
            target = target_of(each, namespace=run.namespace)
            if identity(each) not in wanted and is_deletable(self.server, target):
                with self._write(run, f"delete {target.plural}"):
                    self.server.delete(target, {})

    def _check_owners(self, run: _Run, name: str, objects: list[Json]) -> None:
        for each in objects:
            target = target_of(each, namespace=run.namespace)
            live = self.server.find(target.plural, target.name, namespace=target.namespace)
            if live is None or "take-ownership" in run.flags or owner_of(self.server, target) == (name, run.namespace):
                continue
            step = "INSTALLATION FAILED: unable to continue with install"
            if run.command == "upgrade":
                step = "UPGRADE FAILED: unable to continue with update"
            raise HelmFailed(
                f'{step}: {target.kind} "{target.name}" in namespace "{run.namespace}" exists and cannot be imported '
                "into the current release: invalid ownership metadata"
            )

    # Faults

    @contextmanager
    def _write(self, run: _Run, what: str) -> Iterator[None]:
        fault = run.fault
        if fault is not None and run.writes == fault.writes:
            run.fault = None
            _fail(fault)
        run.writes += 1
        done = self.around_write(f"{run.command}: {what}")
        try:
            yield
        except Refused as refused:
            raise HelmFailed(str(refused)) from None
        done()

    def _terminate(self, run: _Run) -> None:
        """React to SIGTERM: an install or upgrade is marked as failed."""
        if run.record is not None and run.command in ("install", "upgrade") and self._has_record(run, run.record):
            record = run.record
            record["info"] = {**record["info"], "status": "failed", "description": "context canceled"}
            secret = record_secret(record, "modifiedAt", now=self.clock.now())
            done = self.around_write(f"{run.command}: terminated")
            self.server.replace(record_target(run.namespace, record["name"], record["version"]), secret, manager="")
            done()

    def _now(self) -> str:
        return datetime.fromtimestamp(self.clock.now(), UTC).isoformat()


def _set_done(run: _Run, *, done: bool) -> None:
    if run.step is not None and done:
        run.step.done = True


class _Killed(Exception): ...


def _fail(fault: Fault) -> NoReturn:
    raise HelmFailed(fault.error) if fault.error else _Killed


def _result(code: int, stdout: bytes = b"", *, truncated: bool = False, stderr: str = "") -> ProcessResult:
    return ProcessResult(
        exit_code=code, stdout=stdout, stdout_truncated=truncated, stderr=stderr, timed_out=False, duration_seconds=0.0
    )
