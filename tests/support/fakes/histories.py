"""Histories of one XApp: what users and faults do to it, and what must be true whatever they did."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Target, target_of
from tests.support.fakes.clock import FakeClock, FakeTimeLoop
from tests.support.fakes.helm import Step
from tests.support.fakes.helm_records import (
    Chart,
    decode_record,
    manifest_of,
    objects_of,
    owned,
    read_history,
    record_secret,
    record_target,
    render,
)
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import BROKEN, NAMESPACE, FakeCluster, Killed
from tests.support.fakes.step_checks import check_released, check_steps
from xapp_operator.api.models import XApp, XAppSpec
from xapp_operator.config.settings import Settings
from xapp_operator.reconcile.status.status_draft import request_digest, requested_value

GOOD_TAGS = ["one", "two", "three"]
TIMEOUT_SECONDS = 30
MAX_HISTORY = XAppSpec.model_fields["max_history"].default
RESYNC_SECONDS = 100
PAUSE_SECONDS = 0.2
"""Between two writes of helm, so that other things happen in the middle of its steps."""
LAG_SECONDS = 2.0
"""Of watches, so that decisions do not rest on what they have not shown yet."""
UNSEEN_SECONDS = LAG_SECONDS + 1.0
"""For so long after a change, the operator may not have seen it when its last write arrives."""
QUIET_SECONDS = 110.0
"""After this time without a write, with a resync in it, an XApp has settled."""
SETTLED_AFTER_MAX_SECONDS = 3600.0
STEADY_SECONDS = 210.0

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  tag: {{ .Values.tag | quote }}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 1
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: hello}}
  template:
    metadata: {labels: {app: hello}}
    spec: {containers: [{name: main, image: "example.com/xapp:{{ .Values.tag }}"}]}
"""
CHART = Chart(
    {"name": "hello", "version": "0.1.0"},
    {"tag": "one"},
    {"templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT},
)
_ARCHIVE = chart_archive(
    {"values.yaml": "tag: one\n", "templates/configmap.yaml": CONFIGMAP, "templates/deployment.yaml": DEPLOYMENT}
)
STORED_CHART = chart_archive_manifest(_ARCHIVE, namespace=NAMESPACE)

STALLED_REASONS = {
    *("AccessDenied", "ChartInvalid", "DependencyNotReady", "HealthCheckFailed", "InstallFailed", "RollbackFailed"),
    *("TestFailed", "UpgradeFailed", "ValuesInvalid"),
}


def make_settings(cache_dir: Any) -> Settings:
    """Return the settings of every operator in a history."""
    return Settings(
        helm="/bin/sh",
        cache_dir=cache_dir,
        allow_operator_identity=True,
        repository_denied_networks=(),
        resync_seconds=RESYNC_SECONDS,
        backoff_max_seconds=RESYNC_SECONDS / 3,
    )


def xapp_body(*, tag: str = "one", **spec: Any) -> Json:
    """Return an XApp whose pods run an image with `tag`."""
    return {
        "apiVersion": "xapp-operator.io/v1alpha1",
        "kind": "XApp",
        "metadata": {"name": "hello", "namespace": NAMESPACE},
        "spec": {
            "xAppName": "hello",
            "organization": "acme",
            "team": "ran",
            "version": "0.1.0",
            "owner": "jane",
            "namespace": NAMESPACE,
            "method": "Upload Chart",
            "archive": {
                "chartArchiveRef": {"name": STORED_CHART["metadata"]["name"]},
                "digest": STORED_CHART["spec"]["digest"],
            },
            "values": {"tag": tag},
            "timeout": f"{TIMEOUT_SECONDS}s",
            "upgrade": {"onFailure": "rollback"},
            "deletionPolicy": "Uninstall",
            **spec,
        },
    }


@dataclass
class History:
    """An XApp named hello in a cluster, and everything that was done to it; others beside it are not checked."""

    cluster: FakeCluster
    unexpected: list[str] = field(default_factory=list)
    """Exceptions that the operator did not expect."""
    removed: list[tuple[Json, dict[int, str]]] = field(default_factory=list)
    """The XApp as the operator knew it when it went away, and the revisions that were left then."""
    tokens: int = 0
    orphaned: bool = False
    pruned_tags: dict[int, str] = field(default_factory=dict)
    """The tags of revisions whose records are gone."""
    hold: tuple[str, int, int, str] | None = None
    """The uid and generation of the XApp for which a revision was held last, the revision, and its tag."""
    forces: dict[str, str | None] = field(default_factory=dict)
    """The force-at of each pair of retry-at and force-at that was asked for, by the digest of the pair."""
    on_note: list[Callable[[str], None]] = field(default_factory=list)
    """Called with each thing that a user does."""

    def follow(self, other: History) -> None:
        """Begin in the cluster in which another history has ended; its operator is gone."""
        self.cluster.server.copy_objects(other.cluster.server)
        self.cluster.helm.steps.extend(other.cluster.helm.steps)
        self.tokens, self.hold, self.forces = other.tokens, other.hold, dict(other.forces)

    # What users do

    def create(self, **spec: Any) -> None:
        if self.cluster.xapp() is None:
            self.note("create")
            self.store_chart()
            self.cluster.create(xapp_body(**spec))

    def store_chart(self) -> None:
        """Store the chart of the XApps, unless it is stored."""
        if self.cluster.server.find("chartarchives", STORED_CHART["metadata"]["name"]) is None:
            self.cluster.create(STORED_CHART)

    def edit(self, **spec: Any) -> None:
        self.note(f"edit {spec}")
        self.cluster.edit({"spec": spec})

    def set_tag(self, tag: str) -> None:
        self.edit(values={"tag": tag})

    def annotate(self, name: str, value: str = "") -> None:
        """Set an annotation to a value that it never had."""
        self.tokens += 1
        self.note(f"{name} {value}")
        text = f"{value}@{self.tokens}" if value else str(self.tokens)
        self.cluster.edit({"metadata": {"annotations": {f"xapp-operator.io/{name}": text}}})
        body = self.cluster.xapp()
        if body is not None:
            xapp = XApp.model_validate(body)
            self.forces[request_digest(xapp)] = requested_value(xapp, "force_at")

    def delete(self) -> None:
        self.note("delete")
        self.cluster.delete()

    def uninstall_by_hand(self) -> None:
        """Remove the release, as a person's `helm uninstall` does."""
        self.note("uninstall by hand")
        server = self.cluster.server
        for plural in ("secrets", "deployments", "configmaps"):
            for body in server.all(plural):
                if body["metadata"].get("labels", {}).get("owner", "helm") == "helm":
                    group = "apps" if plural == "deployments" else ""
                    server.delete(Target(group, "v1", plural, NAMESPACE, body["metadata"]["name"]), {})

    def install_by_hand(self, tag: str = "one", *, status: str = "deployed") -> None:
        """Install the chart as a person's `helm install` does, or leave it in another status."""
        self.note("install by hand")
        now, server = datetime.fromtimestamp(self.cluster.clock.now(), UTC).isoformat(), self.cluster.server
        record: Json = {
            "name": "hello",
            "info": {"first_deployed": now, "last_deployed": now, "status": status, "description": "by hand"},
            "chart": {"metadata": CHART.metadata, "values": CHART.values},
            "config": {"tag": tag},
            "manifest": manifest_of(render(CHART, {"tag": tag}, "hello")),
            "hooks": [],
            "version": 1,
            "namespace": NAMESPACE,
            "labels": {},
        }
        written = record_secret(record, "createdAt", now=self.cluster.clock.now())
        server.create(record_target(NAMESPACE, "hello", 1), written)
        for each in objects_of(record["manifest"]):
            server.apply(target_of(each, namespace=NAMESPACE), owned(each, "hello", NAMESPACE), manager="helm")

    def leave_behind(self, status: str) -> None:
        """Give the newest revision a status that another helm may have left."""
        self.note(f"left {status}")
        secret = self._records()[-1] if self._records() else None
        record = secret and decode_record(secret)
        if secret is None or record is None:
            return
        record["info"]["status"] = status
        labels = {key: value for key, value in secret["metadata"]["labels"].items() if key != "modifiedAt"}
        patch = record_secret({**record, "labels": labels}, "modifiedAt", now=self.cluster.clock.now())
        target = Target("", "v1", "secrets", NAMESPACE, secret["metadata"]["name"])
        self.cluster.server.patch(target, patch, manager="")

    def note(self, what: str) -> None:
        self.cluster.helm.steps.append(Step("user", what))
        for listener in self.on_note:
            listener(what)

    # What there is

    def _records(self) -> list[Json]:
        secrets = (each for each in self.cluster.server.all("secrets") if each["type"] == "helm.sh/release.v1")
        return sorted(secrets, key=lambda each: int(each["metadata"]["labels"]["version"]))

    @property
    def records(self) -> list[Json]:
        """Return the records of the release as helm finds them, oldest first."""
        return read_history(self._records(), NAMESPACE, "hello")

    @property
    def deployed_tags(self) -> list[str]:
        """Return the tag of each revision that is called deployed."""
        records = (decode_record(each) for each in self._records())
        return [each["config"]["tag"] for each in records if each and each["info"]["status"] == "deployed"]

    @property
    def tags(self) -> dict[int, str]:
        """Return the tag of each revision whose record can be read."""
        records = (decode_record(each) for each in self._records())
        return {each["version"]: each["config"]["tag"] for each in records if each}

    @property
    def numbers(self) -> dict[str, int]:
        """Return the number of each revision by the uid of its Secret."""
        return {each["metadata"]["uid"]: int(each["metadata"]["labels"]["version"]) for each in self._records()}

    @property
    def live_tags(self) -> set[str]:
        """Return the tags of the objects that exist."""
        config_maps = {each["data"]["tag"] for each in self.cluster.server.all("configmaps")}
        images = (
            each["spec"]["template"]["spec"]["containers"][0]["image"]
            for each in self.cluster.server.all("deployments")
        )
        return config_maps | {image.rpartition(":")[2] for image in images}

    def describe(self) -> str:
        """Return what has happened, for a failure."""
        steps = (f"{each.command} {each.what}{'' if each.done else ' !'}" for each in self.cluster.helm.steps)
        body = self.cluster.xapp() or {}
        lines = [*steps, f"revisions: {self.cluster.revisions}", f"live: {self.live_tags}", f"ended: {self.outcome}"]
        shown = {key: value for key, value in body.get("status", {}).items() if key not in ("history", "release")}
        return "\n".join([*lines, f"writes: {self.cluster.writes[-30:]}", json.dumps(shown)])

    @property
    def helm_steps(self) -> list[Step]:
        return [each for each in self.cluster.helm.steps if each.command != "user" and each.release == "hello"]

    @property
    def outcome(self) -> str:
        """Return in a few words how it ended."""
        ready, stalled = self.cluster.condition("Ready"), self.cluster.condition("Stalled")
        if self.cluster.xapp() is None:
            return "gone"
        if ready is None:
            return "unknown"
        return f"{'Stalled' if stalled else 'Ready' if ready['status'] == 'True' else 'NotReady'} {ready['reason']}"

    # What must be true

    async def settle(self) -> None:
        """End all faults, and wait until nothing is written any more."""
        cluster = self.cluster
        cluster.kill = None
        cluster.helm.faults.clear()
        since = cluster.clock.monotonic()
        while (left := max(since, cluster.last_write_at) + QUIET_SECONDS - cluster.clock.monotonic()) > 0:
            late = cluster.clock.monotonic() - since > SETTLED_AFTER_MAX_SECONDS
            assert not late, f"never settles: {cluster.writes[-20:]}"
            await cluster.wait(left)

    async def check_steady(self) -> None:
        """A settled XApp costs no write and no helm, and a healthy one no request at all."""
        cluster = self.cluster
        before = (len(cluster.writes), len(cluster.helm.steps), cluster.lives)
        assert cluster.transport is not None
        requests = len(cluster.transport.requests)
        await cluster.wait(STEADY_SECONDS)
        assert (len(cluster.writes), len(cluster.helm.steps), cluster.lives) == before
        if self.outcome.startswith("Ready"):
            assert cluster.transport.requests[requests:] == []

    def check(self) -> None:
        """Check all that is true of every settled history."""
        assert self.unexpected == []
        self._check_removals()
        check_steps(each for each in self.cluster.helm.steps if each.release == "hello")
        assert not any(each.startswith("pending") for each in self.cluster.revisions.values()) or self._is_resting()
        body = self.cluster.xapp()
        if body is None:
            return
        check_released(self.helm_steps, self.records, self.cluster.condition("Released"))
        ready = self.cluster.condition("Ready")
        assert "deletionTimestamp" not in body["metadata"], "the deletion never ends"
        if body["spec"].get("suspend"):
            assert body["status"]["phase"] == "Suspended"
            return
        assert ready is not None, "no Ready for the current generation"
        if ready["status"] == "True":
            self._check_ready(body)
        else:
            stalled = self.cluster.condition("Stalled")
            assert ready["reason"] in STALLED_REASONS, ready
            assert stalled is not None or ready["reason"] == "HealthCheckFailed", ready

    def _is_resting(self) -> bool:
        body = self.cluster.xapp()
        return body is None or bool(body["spec"].get("suspend"))

    def _check_ready(self, body: Json) -> None:
        status = body["status"]
        newest = max(self.cluster.revisions)
        assert self.cluster.revisions[newest] == "deployed"
        assert list(self.cluster.revisions.values()).count("deployed") == 1, self.cluster.revisions
        assert status["release"]["revision"] == newest
        shown, most = [each["revision"] for each in status["history"]], body["spec"].get("maxHistory", MAX_HISTORY)
        assert shown == sorted(shown, reverse=True)
        assert shown[0] == newest
        assert len(self.cluster.revisions.keys() & set(shown)) == len(shown) == min(len(self.cluster.revisions), most)
        assert status["history"][0].get("wasHealthy") is not False
        broken = {revision for revision, each in self.tags.items() if BROKEN in each and not self.cluster.healed}
        assert not any(each.get("wasHealthy") for each in status["history"] if each["revision"] in broken)
        (tag,) = self.deployed_tags
        assert self.live_tags == {tag}
        if self._held_tag(body) is not None:
            assert tag == self._held_tag(body), f"not what is held: {self.hold}"
        else:
            assert tag == body["spec"]["values"].get("tag", tag)  # others are in spec.valuesFrom
        assert self.cluster.healed or BROKEN not in tag
        assert self.cluster.condition("Stalled") is None
        assert self.cluster.condition("Reconciling") is None

    def note_answer(self, step: Step) -> None:
        """Take note of the force-at that a step answers; the operator records it before the step begins."""
        attempt = (self.cluster.xapp() or {}).get("status", {}).get("lastAttempt", {})
        step.force = self.forces.get(attempt.get("requestDigest", ""))

    def watch_records(self) -> None:
        """Take note of each revision that is held from now on, of what is pruned, and of XApps that go away."""
        orphaned: tuple[Json, float] | None = None

        def note_change(plural: str, body: Json) -> None:
            nonlocal orphaned
            if plural != "xapps" or body["metadata"]["name"] != "hello":
                return
            self._note_hold(body)
            if "deletionTimestamp" in body["metadata"] and body["spec"]["deletionPolicy"] == "Orphan":
                orphaned = body, math.inf
            elif orphaned is not None and orphaned[1] == math.inf:
                orphaned = orphaned[0], self.cluster.clock.monotonic() + UNSEEN_SECONDS

        def note_removal(plural: str, body: Json) -> None:
            nonlocal orphaned
            if not self.cluster.revisions:
                self.hold, self.pruned_tags = None, {}
            elif plural == "secrets" and (record := decode_record(body)):
                self.pruned_tags[record["version"]] = record["config"].get("tag", "")
            if plural != "xapps":
                return
            if orphaned is not None and self.cluster.clock.monotonic() <= orphaned[1]:
                body, orphaned = orphaned[0], None
            self.removed.append((body, self.cluster.revisions))
            self.orphaned = self.orphaned or body["spec"]["deletionPolicy"] == "Orphan"

        self.cluster.server.on_stored.append(note_change)
        self.cluster.server.on_removed.append(note_removal)

    def _note_hold(self, body: Json) -> None:
        """Take note of a revision that the status calls held, or of its copy, if it is pruned already."""
        held, metadata = body.get("status", {}).get("heldRevision"), body["metadata"]
        if held is None or body["status"]["observedGeneration"] != metadata["generation"]:
            return
        tag = self.tags.get(held) or self.pruned_tags.get(held) or next(iter(self.deployed_tags), None)
        if tag is not None and (self._held_tag(body) is None or self.hold is None or self.hold[2] != held):
            self.hold = metadata["uid"], metadata["generation"], held, tag

    def _held_tag(self, body: Json) -> str | None:
        """Return what must run although the spec may differ; a change of the spec ends that."""
        metadata = body["metadata"]
        if self.hold is None or self.hold[:2] != (metadata["uid"], metadata["generation"]):
            return None
        return self.hold[3]

    def _check_removals(self) -> None:
        """The finalizer is dropped only when the release is gone, or is to stay."""
        for body, revisions in self.removed:
            let_go = "deletionTimestamp" in body["metadata"]  # otherwise it was deleted before it had the finalizer
            if let_go and body["spec"]["deletionPolicy"] == "Uninstall":
                assert revisions == {}, f"the XApp went away before its release: {revisions}"
        if self.cluster.xapp() is None and not self.orphaned and self.removed:
            assert self.live_tags == set(), "objects are left over"
            assert self._records() == []


Play = Callable[[History], Coroutine[Any, Any, None]]


def run_history(
    settings: Settings,
    play: Play,
    check: Callable[[History], None] = lambda _: None,
    *,
    watch: Callable[[History], None] = lambda _: None,
    after: History | None = None,
) -> History:
    """Let `play` happen to a cluster with a running operator, and check what must be true in the end.

    `check` checks what else must be true of this history. `watch` is called before the operator starts. The cluster is
    new, or the one in which another history ended.
    """
    clock = FakeClock() if after is None else FakeClock(after.cluster.clock.monotonic())
    loop = FakeTimeLoop(clock)
    unexpected: list[str] = []

    def collect(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        if event.get("exc_info"):
            unexpected.append(repr(event))
        raise structlog.DropEvent

    async def run() -> History:
        cluster = FakeCluster(settings, clock)
        cluster.helm.pause = PAUSE_SECONDS
        cluster.server.lag = LAG_SECONDS
        history = History(cluster, unexpected)
        if after is not None:
            history.follow(after)

        history.watch_records()
        cluster.helm.on_step.append(history.note_answer)
        watch(history)
        await cluster.start()
        try:
            await play(history)
            await history.settle()
            history.check()
            check(history)
            await history.check_steady()
        except AssertionError as error:
            error.add_note(history.describe())
            raise
        finally:
            await cluster.stop()
        return history

    def note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Killed):
            unexpected.append(repr(context))

    loop.set_exception_handler(note)
    before = structlog.get_config()
    structlog.configure(processors=[collect])
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(run())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        structlog.configure(**before)
