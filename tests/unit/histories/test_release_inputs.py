"""Charts and values of XApps: where they come from, when they are read, and what a change of them leads to."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import FakeApiServer, FakeTransport, Refused, Target
from tests.support.fakes.helm import FakeHelm, Fault, _Run
from tests.support.fakes.helm_records import decode_record
from tests.support.fakes.histories import History, run_history
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.unit.histories.situations.actions import count_reads
from xapp_operator.config.settings import Settings
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  tag: {{ .Values.tag | quote }}
  version: {{ .Chart.Version }}
  text: {{ .Values.text | quote }}
  address: {{ .Values.global.kubeIp | quote }}
"""
VALUES = "tag: one\ntext: chart\nglobal: {kubeIp: ''}\n"
EXTERNAL_SCHEMA = '{"$ref": "https://schemas.example.com/values.json"}'
ARCHIVE_KEY = "chart.tgz"
ADDRESS, OTHER_ADDRESS = "192.0.2.1", "192.0.2.2"


def archive(version: str = "0.1.0", **files: str) -> bytes:
    names = {name.replace("__", "."): content for name, content in files.items()}
    return chart_archive({"values.yaml": VALUES, "templates/configmap.yaml": CONFIGMAP, **names}, version=version)


def store(history: History, packed: bytes) -> Json:
    """Store a chart as a ChartArchive; return the field of the spec that names it."""
    stored = chart_archive_manifest(packed, namespace=NAMESPACE)
    history.cluster.create(stored)
    return {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}


def live(history: History) -> Json:
    found = history.cluster.server.find("configmaps", "hello")
    return found["data"] if found else {}


def config(history: History) -> Json:
    """Return the values that the newest revision was given."""
    name = f"sh.helm.release.v1.hello.v{max(history.cluster.revisions)}"
    record = decode_record(history.cluster.server.get(Target("", "v1", "secrets", NAMESPACE, name)))
    assert record is not None
    values: Json = record["config"]
    return values


def ready(history: History) -> tuple[str, str]:
    found = history.cluster.condition("Ready") or {}
    return found.get("reason", ""), found.get("message", "")


async def wait_revision(history: History, number: int) -> None:
    def reached() -> bool:
        return history.cluster.revisions.get(number) == "deployed" and history.outcome.startswith("Ready")

    assert await history.cluster.wait_for(reached, seconds=120.0), history.describe()
    await history.cluster.wait(10.0)


def record_runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    """Return command and flags of each helm that changes a release, a list that grows."""
    runs: list[tuple[str, dict[str, str]]] = []
    parse = FakeHelm._parse

    def record(self: FakeHelm, command: Any) -> _Run:
        run = parse(self, command)
        if run.command in ("install", "upgrade", "uninstall", "test"):
            runs.append((run.command, run.flags))
        return run

    monkeypatch.setattr(FakeHelm, "_parse", record)
    return runs


def remove_files(folder: Path) -> None:
    for path in [each for each in folder.rglob("*") if each.is_file()]:
        path.unlink()


def test_another_chart_in_the_spec_is_deployed(settings: Settings) -> None:
    async def play(history: History) -> None:
        first, second = store(history, archive()), store(history, archive("0.2.0"))
        history.create(archive=first)
        await wait_revision(history, 1)
        assert live(history)["version"] == "0.1.0"
        history.edit(archive=second)
        await wait_revision(history, 2)
        status = (history.cluster.xapp() or {})["status"]["release"]
        assert (live(history)["version"], status["chartVersion"]) == ("0.2.0", "0.2.0")
        # With another length, every xApp would be upgraded after an update of the operator.
        assert status["chartDigest"] == second["digest"].removeprefix("sha256:")[:40]

    run_history(settings, play)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_an_archive_in_an_object_is_read_when_the_object_changes(settings: Settings, kind: str) -> None:
    async def play(history: History) -> None:
        server, (old, new) = history.cluster.server, (archive("0.3.0"), archive("0.4.0"))
        encoded = base64.b64encode(new).decode()
        if kind == "Secret":
            server.create(Target("", "v1", "secrets", NAMESPACE), secret("chart", chart__tgz=old))
            target, field, changed = Target("", "v1", "secrets", NAMESPACE, "chart"), "secretRef", "data"
        else:
            target, field, changed = Target("", "v1", "configmaps", NAMESPACE, "chart"), "configMapRef", "binaryData"
            data = {ARCHIVE_KEY: base64.b64encode(old).decode()}
            body = {"metadata": {"name": "chart"}, "data": {"tag": "one"}, "binaryData": data}
            server.create(Target("", "v1", "configmaps", NAMESPACE), body)
        history.create(archive={field: {"name": "chart", "key": ARCHIVE_KEY}, "chartArchiveRef": None, "digest": None})
        await wait_revision(history, 1)
        read = count_reads(history, "chart")
        for _ in range(2):
            history.annotate("reconcile-at")
            await history.cluster.wait(20.0)
        assert count_reads(history, "chart") == read
        server.patch(target, {changed: {ARCHIVE_KEY: encoded}})
        await wait_revision(history, 2)
        assert live(history)["version"] == "0.4.0"

    run_history(settings, play)


def test_a_stored_chart_is_not_read_again_after_a_restart(settings: Settings) -> None:
    async def play(history: History) -> None:
        chart = store(history, archive("0.5.0"))
        history.create(archive=chart)
        await wait_revision(history, 1)
        name = chart["chartArchiveRef"]["name"]
        assert count_reads(history, name) > 0
        history.cluster.restart()
        await history.cluster.wait(20.0)
        history.set_tag("two")
        await wait_revision(history, 2)
        assert history.cluster.lives == 2
        assert count_reads(history, name) == 0

    run_history(settings, play)


def test_a_stored_chart_that_is_no_longer_on_disk_is_read_again(settings: Settings, tmp_path: Path) -> None:
    async def play(history: History) -> None:
        history.create(archive=store(history, archive("0.7.0")))
        await wait_revision(history, 1)
        remove_files(tmp_path)
        history.set_tag("two")
        await wait_revision(history, 2)

    run_history(settings.model_copy(update={"cache_dir": tmp_path}), play)


def test_values_files_are_merged_in_order_below_the_values_of_the_spec(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_values(history, "low", "text: low\nlow: 1\nboth: low\n")
        create_values(history, "high", "both: high\ntag: file\n")
        sources = [{"kind": "Secret", "name": "low"}, {"kind": "Secret", "name": "high"}]
        history.create(archive=store(history, archive()), valuesFrom=sources)
        await wait_revision(history, 1)
        assert config(history) == {"text": "low", "low": 1, "both": "high", "tag": "one"}
        read = count_reads(history, "low")
        history.annotate("reconcile-at")
        await history.cluster.wait(20.0)
        assert count_reads(history, "low") == read
        replace_secret(history, secret("low", values__yaml="text: changed\n"))
        await wait_revision(history, 2)
        assert config(history) == {"text": "changed", "both": "high", "tag": "one"}
        history.edit(valuesFrom=sources[1:])
        await wait_revision(history, 3)
        assert live(history)["text"] == "chart"

    run_history(settings, play)


def test_a_secret_that_somebody_has_labelled_like_those_of_helm_is_watched_too(settings: Settings) -> None:
    async def play(history: History) -> None:
        labelled = secret("values", values__yaml="text: before\n")
        labelled["metadata"]["labels"] = {"owner": "helm"}
        history.cluster.create(labelled)
        source = [{"kind": "Secret", "name": "values"}]
        history.create(archive=store(history, archive()), valuesFrom=source)
        await wait_revision(history, 1)
        replace_secret(history, secret("values", values__yaml="text: changed\n"))
        await wait_revision(history, 2)
        assert live(history)["text"] == "changed"

    run_history(settings, play)


def test_a_missing_archive_is_named_and_waited_for(settings: Settings) -> None:
    async def play(history: History) -> None:
        stored = chart_archive_manifest(archive(), namespace=NAMESPACE)
        name = stored["metadata"]["name"]
        history.create(archive={"chartArchiveRef": {"name": name}, "digest": stored["spec"]["digest"]})
        await history.cluster.wait(60.0)
        assert f"ChartArchive {name} with the uploaded chart does not exist" in ready(history)[1]
        history.cluster.create(stored)
        await wait_revision(history, 1)

    run_history(settings, play)


def test_a_missing_values_file_is_named_and_waited_for(settings: Settings) -> None:
    async def play(history: History) -> None:
        missing = [{"kind": "Secret", "name": "later"}, {"kind": "Secret", "name": "never", "optional": True}]
        history.create(archive=store(history, archive()), valuesFrom=missing)
        await history.cluster.wait(60.0)
        assert "Secret later in valuesFrom does not exist" in ready(history)[1]
        assert history.cluster.revisions == {}
        create_values(history, "later", "text: later\n")
        await wait_revision(history, 1)
        assert live(history)["text"] == "later"

    run_history(settings, play)


def test_a_broken_values_file_is_read_again_only_when_it_changes(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_values(history, "broken", "text: [\n")
        history.create(archive=store(history, archive()), valuesFrom=[{"kind": "Secret", "name": "broken"}])
        await history.cluster.wait(20.0)
        assert (history.outcome, "key values.yaml of Secret broken" in ready(history)[1]) == (
            "Stalled ValuesInvalid",
            True,
        )
        read = count_reads(history, "broken")
        for _ in range(3):
            history.annotate("reconcile-at")
            await history.cluster.wait(10.0)
        assert count_reads(history, "broken") == read == 1
        assert history.outcome == "Stalled ValuesInvalid"
        replace_secret(history, secret("broken", values__yaml="text: mended\n"))
        await wait_revision(history, 1)
        assert live(history)["text"] == "mended"

    run_history(settings, play)


def test_the_service_account_of_the_spec_reads_and_deploys(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, users = record_runs(monkeypatch), dict[str, set[str | None]]()
    send = FakeTransport.send

    async def record(self: FakeTransport, request: ApiRequest, *, identity: RequestIdentity) -> ApiResponse:
        name = request.path.rpartition("/")[2]
        if request.method == "GET":
            users.setdefault(name, set()).add(identity.impersonated_user)
        return await send(self, request, identity=identity)

    monkeypatch.setattr(FakeTransport, "send", record)

    async def play(history: History) -> None:
        create_values(history, "file", "text: file\n")
        packed = archive("0.6.0")
        history.cluster.create(secret("chart", chart__tgz=packed))
        reference = {"secretRef": {"name": "chart", "key": ARCHIVE_KEY}, "chartArchiveRef": None, "digest": None}
        source = [{"kind": "Secret", "name": "file"}]
        history.create(archive=reference, valuesFrom=source, serviceAccountName="robot", test={"enabled": True})
        await wait_revision(history, 1)
        history.set_tag("two")
        await wait_revision(history, 2)
        history.delete()
        assert await history.cluster.wait_for(lambda: history.cluster.xapp() is None, seconds=60.0)

    run_history(settings, play)
    user = "system:serviceaccount:ns:robot"
    assert users["chart"] == users["file"] == {user}
    assert [command for command, _ in runs] == ["install", "upgrade", "uninstall"]
    assert {flags["kube-as-user"] for _, flags in runs} == {user}


def test_an_xapp_for_another_namespace_is_refused(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.create(tag="one", namespace="elsewhere")
        await history.cluster.wait(20.0)
        reason, message = ready(history)
        assert (reason, history.helm_steps) == ("ValuesInvalid", [])
        assert "spec.namespace is elsewhere" in message

    run_history(settings, play)


def test_a_configured_advertise_address_is_a_default_of_the_chart(settings: Settings) -> None:
    async def play(history: History) -> None:
        history.cluster.settings = settings.model_copy(update={"cluster_advertise_address": ADDRESS})
        history.cluster.restart()
        await history.cluster.wait(5.0)
        history.create(archive=store(history, archive()))
        await wait_revision(history, 1)
        assert live(history)["address"] == ADDRESS
        history.annotate("reconcile-at")
        await history.cluster.wait(20.0)
        history.cluster.restart()
        await history.cluster.wait(20.0)
        assert history.cluster.revisions == {1: "deployed"}
        history.cluster.settings = settings.model_copy(update={"cluster_advertise_address": OTHER_ADDRESS})
        history.cluster.restart()
        await wait_revision(history, 2)
        assert live(history)["address"] == OTHER_ADDRESS
        history.edit(values={"tag": "one", "global": {"kubeIp": "mine"}})
        await wait_revision(history, 3)
        assert live(history)["address"] == "mine"

    run_history(settings, play)


def test_a_found_advertise_address_that_changes_starts_no_upgrade(settings: Settings) -> None:
    def set_address(server: FakeApiServer, address: str) -> None:
        conditions = [{"type": "Ready", "status": "True"}]
        status = {"addresses": [{"type": "InternalIP", "address": address}], "conditions": conditions}
        if server.find("nodes", "node", namespace="") is None:
            server.create(Target("", "v1", "nodes"), {"metadata": {"name": "node"}})
        server.patch(Target("", "v1", "nodes", "", "node"), {"status": status})

    async def play(history: History) -> None:
        set_address(history.cluster.server, ADDRESS)
        history.create(archive=store(history, archive()))
        await wait_revision(history, 1)
        assert live(history)["address"] == ADDRESS
        set_address(history.cluster.server, OTHER_ADDRESS)
        history.cluster.restart()
        await history.cluster.wait(60.0)
        assert history.cluster.revisions == {1: "deployed"}
        history.set_tag("two")
        await wait_revision(history, 2)
        assert live(history)["address"] == OTHER_ADDRESS

    run_history(settings, play)


@pytest.mark.parametrize("schema", [EXTERNAL_SCHEMA, "{}"])
def test_a_schema_that_refers_to_other_documents_is_skipped_and_that_is_said(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, schema: str
) -> None:
    runs = record_runs(monkeypatch)

    async def play(history: History) -> None:
        history.create(archive=store(history, archive(**{"values__schema__json": schema})))
        await wait_revision(history, 1)

    history = run_history(settings, play)
    ((_, flags),) = runs
    said = [each["type"] for each in history.cluster.server.all("events") if each["reason"] == "SchemaSkipped"]
    skipped = schema == EXTERNAL_SCHEMA
    assert said == (["Warning"] if skipped else [])
    assert ("skip-schema-validation" in flags) is skipped


def test_only_an_install_that_failed_is_replaced(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = record_runs(monkeypatch)

    async def play(history: History) -> None:
        history.cluster.helm.faults = [Fault("Internal error occurred: etcdserver: request timed out", writes=1)]
        history.create(archive=store(history, archive()), maxHistory=3)
        await wait_revision(history, 2)
        history.set_tag("two")
        await wait_revision(history, 3)

    history = run_history(settings, play)
    assert history.cluster.revisions == {1: "failed", 2: "superseded", 3: "deployed"}
    assert [(command, "replace" in flags) for command, flags in runs] == [
        ("install", False),
        ("install", True),
        ("upgrade", False),
    ]
    assert [flags["timeout"] for _, flags in runs] == ["30s"] * 3
    assert [flags.get("history-max") for _, flags in runs] == [None, None, "0"]


def test_failed_installs_leave_no_more_records_than_the_history_may_have(settings: Settings) -> None:
    async def play(history: History) -> None:
        refusal = Fault('ConfigMap "hello" is invalid: data.tag: Invalid value: "one": must be two', writes=2)
        history.cluster.helm.refusals['{"tag": "one"}'] = refusal
        history.create(archive=store(history, archive()), maxHistory=2)
        for _ in range(4):
            await history.cluster.wait(20.0)
            refusal.writes = 1
            history.annotate("retry-at")
        await history.cluster.wait(20.0)
        assert len(history.cluster.revisions) == 2
        assert max(history.cluster.revisions) == len(history.helm_steps) > 3

    run_history(settings, play)


def test_large_values_are_deployed_as_small_ones_are(settings: Settings) -> None:
    """They are dropped from memory while helm runs."""
    large = "x" * 100_000

    async def play(history: History) -> None:
        history.create(archive=store(history, archive()), values={"tag": "one", "large": large})
        await wait_revision(history, 1)
        assert config(history) == {"tag": "one", "large": large}
        history.edit(values={"tag": "two"})
        await wait_revision(history, 2)
        assert config(history) == {"tag": "two", "large": large}

    run_history(settings, play)


def test_texts_from_a_secret_are_not_repeated(settings: Settings) -> None:
    private = "correct horse battery staple"

    async def play(history: History) -> None:
        create_values(history, "file", f"text: {private}\n")
        history.cluster.helm.refusals[f'{{"tag": "one", "text": "{private}"}}'] = Fault(f"cannot use {private}")
        history.create(archive=store(history, archive()), valuesFrom=[{"kind": "Secret", "name": "file"}])
        await history.cluster.wait(60.0)

    history = run_history(settings, play)
    messages = [each["message"] for each in history.cluster.server.all("events") if each["reason"] == "InstallFailed"]
    assert messages
    assert private not in str([*messages, history.cluster.xapp()])


def test_releases_that_may_not_be_read_stop_nothing_else_and_are_found_later(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden = [True]
    watch, handle = FakeApiServer.watch, FakeApiServer.handle

    def refuse(request: ApiRequest) -> None:
        if forbidden and request.path.endswith("/secrets"):
            raise Refused(403, "Forbidden", "secrets is forbidden")

    def check_watch(server: FakeApiServer, request: ApiRequest) -> Any:
        refuse(request)
        return watch(server, request)

    def check(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        refuse(request)
        return handle(server, request, manager=manager)

    monkeypatch.setattr(FakeApiServer, "watch", check_watch)
    monkeypatch.setattr(FakeApiServer, "handle", check)

    async def play(history: History) -> None:
        history.create(archive=store(history, archive()))
        await history.cluster.wait(60.0)
        assert history.outcome == "Stalled AccessDenied"
        assert history.helm_steps == []
        forbidden.clear()
        await wait_revision(history, 1)

    run_history(settings, play)


def test_a_values_file_that_the_api_server_cannot_give_now_is_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing: list[bool] = []
    handle = FakeApiServer.handle

    def check(server: FakeApiServer, request: ApiRequest, *, manager: str = "xapp-operator") -> Json:
        if failing and request.path.endswith("/secrets/file"):
            raise Refused(500, "InternalError", "etcdserver: request timed out")
        return handle(server, request, manager=manager)

    monkeypatch.setattr(FakeApiServer, "handle", check)

    async def play(history: History) -> None:
        create_values(history, "file", "text: file\n")
        history.create(archive=store(history, archive()))
        await wait_revision(history, 1)
        before = (history.cluster.xapp() or {})["status"]
        failing.append(True)
        history.edit(valuesFrom=[{"kind": "Secret", "name": "file"}])
        await history.cluster.wait(2.0)
        assert (history.cluster.xapp() or {})["status"] == before
        await history.cluster.wait(58.0)
        assert history.outcome == "NotReady Progressing"
        failing.clear()
        await wait_revision(history, 2)
        assert live(history)["text"] == "file"

    run_history(settings, play)
