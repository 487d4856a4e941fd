"""Helm's records are read within a limit, and unlocked in payload and label together."""

import base64
import gzip
import json
import tracemalloc

import pytest

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.config.settings import MIB
from xapp_operator.errors import HelmError, ReleaseRecordDamaged
from xapp_operator.helm.releases.release_storage import (
    HOOK_MANIFESTS_MAX,
    RELEASE_BYTES_MAX,
    correct_status_label,
    decode_release,
    parse_release_secret_name,
    public_description,
    release_secret_name,
    restore_release,
    serve_kinds,
    unlock_release,
)

MANIFEST = """\
---
# Source: hello/templates/configmap.yaml
apiVersion: v1
kind: ConfigMap
metadata:
  name: hello
data:
  text: |
    --- not a separator
---
# Source: hello/templates/widget.yaml
apiVersion: h.example.com/v1
kind: Widget
metadata:
  name: w
"""


def payload(**changes: object) -> JsonObject:
    release = {
        "name": "hello",
        "info": {
            "first_deployed": "2026-11-21T00:55:04.846057134Z",
            "last_deployed": "2026-11-21T00:56:04.846057134Z",
            "description": "Install complete",
            "status": "deployed",
            "notes": "thanks",
        },
        "chart": {
            "metadata": {"name": "hello-chart", "version": "0.1.0", "appVersion": "1.0", "apiVersion": "v2"},
            "templates": [{"name": "templates/configmap.yaml", "data": "eA=="}],
            "values": {"a": 1},
            "schema": base64.b64encode(b'{"type":"object"}').decode(),
        },
        "config": {"a": 2, "big": 12345678901234567890123, "text": "größer <&>"},
        "manifest": MANIFEST,
        "version": 3,
        "namespace": "ric",
        "apply_method": "ssa",
        **changes,
    }
    return json.loads(json.dumps(release))  # type: ignore[no-any-return]


def secret(release: bytes, *, status: str = "deployed") -> JsonObject:
    packed = base64.b64encode(gzip.compress(release))
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {
            "name": "sh.helm.release.v1.hello.v3",
            "namespace": "ric",
            "resourceVersion": "77",
            "managedFields": [{"manager": "helm"}],
            "labels": {
                "owner": "helm",
                "name": "hello",
                "version": "3",
                "status": status,
                "modifiedAt": "1795222586",
                "xapp-operator.io/xapp": "hello",
            },
        },
        "data": {"release": base64.b64encode(packed).decode()},
    }


def recorded(status: str = "deployed", **changes: object) -> JsonObject:
    release = payload(**changes)
    obj(release, "info")["status"] = status
    return secret(json.dumps(release).encode(), status=status)


def raw_payload(of: JsonObject) -> JsonObject:
    packed = base64.b64decode(base64.b64decode(text(obj(of, "data"), "release")))
    return json.loads(gzip.decompress(packed))  # type: ignore[no-any-return]


def test_a_record_is_read_completely() -> None:
    release = decode_release(recorded())
    assert (release.revision, release.status) == (3, "deployed")
    assert (release.chart.name, release.chart.version, release.chart.app_version) == ("hello-chart", "0.1.0", "1.0")
    assert release.chart.values == {"a": 1}
    assert release.chart.schema == '{"type":"object"}'
    assert release.config["a"] == 2
    assert release.manifest == MANIFEST
    assert release.notes == "thanks"
    assert release.description == "Install complete"
    assert release.first_deployed == "2026-11-21T00:55:04.846057134Z"


@pytest.mark.parametrize(
    ("manifest", "namespace"),
    [
        ("kind: Pod\nmetadata: {name: a, namespace: elsewhere}\nspec: {namespace: no}", "elsewhere"),
        ("# Source: a.yaml\n---\nkind: Pod\nmetadata:\n  namespace: 22\n", "22"),
        ("kind: Pod\nmetadata: {name: a}\nspec: {namespace: no}", ""),
        ("kind: Pod\nmetadata: {namespace: [elsewhere]}", ""),
        ("kind: Pod\nmetadata: namespace", ""),
        ("- namespace", ""),
        ("namespace: [", ""),
        ("namespace: \ud800", ""),
        ("", ""),
        ("metadata: {namespace: elsewhere}\n#" + HOOK_MANIFESTS_MAX * "x", ""),
    ],
)
def test_a_hook_has_the_namespace_that_its_manifest_names(manifest: str, namespace: str) -> None:
    short = {"name": "b", "manifest": "metadata: {namespace: elsewhere}"}
    hooks = decode_release(recorded(hooks=[short, {"name": "a", "manifest": manifest}])).hooks
    assert [each.namespace for each in hooks] == ["elsewhere", namespace]


def test_manifests_of_hooks_are_read_within_a_limit() -> None:
    hooks = [{"name": "a", "manifest": f"metadata: {{namespace: elsewhere}}\n#{'x' * (HOOK_MANIFESTS_MAX // 4)}"}] * 9
    found = [each.namespace for each in decode_release(recorded(hooks=hooks)).hooks]
    assert found == ["elsewhere"] * 3 + [""] * 6


@pytest.mark.parametrize(("data", "expected"), [("cmVhZG1l", "readme"), ("/w==", "\ufffd"), ("", None), ("%", None)])
def test_a_file_of_a_chart_is_read_unless_it_is_empty_or_damaged(data: str, expected: str | None) -> None:
    files = [{"name": "README.md", "data": data}, {"name": "LICENSE", "data": "eA=="}]
    chart = decode_release(recorded(chart={"metadata": {"name": "x", "version": "1.0.0"}, "files": files})).chart
    assert (chart.read_text("README.md"), chart.read_text("NEWS")) == (expected, None)


def test_the_large_parts_of_a_record_are_not_in_its_repr() -> None:
    files = [{"name": "README.md", "data": "cmVhZG1l"}]
    chart = {"metadata": {"name": "x", "version": "1.0.0"}, "values": {"port": "of-chart"}, "files": files}
    shown = repr(decode_release(recorded(chart=chart, config={"port": "of-user"})))
    assert "README.md" not in shown
    assert "of-chart" not in shown
    assert "of-user" not in shown
    assert "Widget" not in shown


def test_a_chart_without_schema_and_values_is_read() -> None:
    release = decode_release(recorded(chart={"metadata": {"name": "x", "version": "1.0.0"}, "schema": None}))
    assert (release.chart.schema, release.chart.values, release.chart.app_version) == ("", {}, "")


def test_a_schema_that_is_no_base64_is_left_out() -> None:
    schema = "%" + base64.b64encode(b'{"type":"object"}').decode()
    release = decode_release(recorded(chart={"metadata": {"name": "x", "version": "1.0.0"}, "schema": schema}))
    assert release.chart.schema == ""


def test_an_uncompressed_record_is_read() -> None:
    plain = secret(b"")
    encoded = base64.b64encode(base64.b64encode(json.dumps(payload()).encode())).decode()
    plain["data"] = {"release": encoded}
    assert decode_release(plain).revision == 3


def test_a_bomb_is_refused_without_unpacking_it() -> None:
    bomb = secret(b"[" + b" " * (5 * RELEASE_BYTES_MAX))
    tracemalloc.start()
    try:
        with pytest.raises(HelmError, match="32 MiB"):
            decode_release(bomb)
        assert tracemalloc.get_traced_memory()[1] < 3 * RELEASE_BYTES_MAX
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"1,", b'"",', b'{"a":[]},', b'"\\\\",'])
def test_a_record_of_millions_of_values_is_refused_without_decoding_it(piece: bytes) -> None:
    packed = secret(b'{"config": {"a": [' + piece * (24 * MIB // len(piece)) + b"1]}}")
    assert len(str(packed)) < 256 * 1024
    tracemalloc.start()
    try:
        with pytest.raises(HelmError, match="500,000 values"):
            decode_release(packed)
        assert tracemalloc.get_traced_memory()[1] < 3 * RELEASE_BYTES_MAX
    finally:
        tracemalloc.stop()


def test_a_schema_of_millions_of_values_is_left_out() -> None:
    schema = base64.b64encode(b"[" + b"[]," * 1_000_000 + b"1]").decode()
    release = decode_release(recorded(chart={"metadata": {"name": "x", "version": "1.0.0"}, "schema": schema}))
    assert release.chart.schema == ""


def test_commas_and_brackets_in_strings_are_not_counted() -> None:
    manifest = MANIFEST + '# [{"a\\\\": 1}],,,\n' * 400_000
    assert decode_release(recorded(manifest=manifest)).manifest == manifest


@pytest.mark.parametrize("text", [b'\\"' * 4_000_000, b"\\" * 8_000_001, b',"' * 900_000])
def test_an_unterminated_string_is_damaged(text: bytes) -> None:
    with pytest.raises(HelmError):
        decode_release(secret(b"[" + b"," * 600_000 + b'"' + text))


def test_half_a_surrogate_pair_is_read_as_helm_reads_it() -> None:
    low, high = "\udfff", "\ud800"
    written = recorded("pending-install", manifest=f"{MANIFEST}# {low}\n", config={high: [low, 2**70]})
    for record in (written, unlock_release(written)):
        release = decode_release(record)
        assert release.manifest == f"{MANIFEST}# \ufffd\n"
        assert release.config == {"\ufffd": ["\ufffd", 2**70]}


@pytest.mark.parametrize(
    "time",
    ["2020-W01-1T00:00:00+00:00", "20200101T000000+00:00", "2020-01-01T00+00:00", "0000-01-01T00:00:00Z", "\ud800"],
)
def test_only_times_that_the_status_can_have_are_read(time: str) -> None:
    release = decode_release(recorded(info={"status": "deployed", "first_deployed": time, "last_deployed": time}))
    assert (release.first_deployed, release.last_deployed) == ("", "")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"release": ""},
        {"release": "%%%"},
        {"release": base64.b64encode(b"not base64!").decode()},
        {"release": base64.b64encode(base64.b64encode(b"\x1f\x8b\x08 no gzip")).decode()},
        {"release": base64.b64encode(base64.b64encode(gzip.compress(b'{"a": 1}')[:-9])).decode()},
        {"release": base64.b64encode(base64.b64encode(gzip.compress(b"[1]"))).decode()},
        {"release": base64.b64encode(base64.b64encode(gzip.compress(b"{"))).decode()},
    ],
)
def test_a_damaged_record_is_reported(data: dict[str, str]) -> None:
    with pytest.raises(HelmError):
        decode_release({"metadata": {"name": "x"}, "data": dict(data)})


def test_a_secret_that_is_no_release_record_is_reported_as_that() -> None:
    with pytest.raises(ReleaseRecordDamaged, match="not a Helm release record"):
        decode_release({"metadata": {"name": "sh.helm.release.v1.hello.v3"}, "data": {"password": "eA=="}})


@pytest.mark.parametrize(
    "changes",
    [{"name": "other"}, {"version": 4}, {"version": "3"}, {"info": {}}, {"info": {"status": ""}}, {"info": [1]}],
    ids=["name", "revision", "type", "no-status", "empty-status", "no-info"],
)
def test_a_record_of_something_else_is_damaged(changes: dict[str, object]) -> None:
    with pytest.raises(ReleaseRecordDamaged, match="does not record the revision in its name"):
        decode_release(secret(json.dumps(payload(**changes)).encode()))


@pytest.mark.parametrize("status", ["pending-install", "pending-upgrade", "pending-rollback"])
def test_unlocking_marks_payload_and_label_failed_and_changes_nothing_else(status: str) -> None:
    before = recorded(status)
    after = unlock_release(before)
    assert decode_release(after).status == "failed"
    assert status in decode_release(after).description
    metadata = obj(after, "metadata")
    assert obj(metadata, "labels") == {**obj(obj(before, "metadata"), "labels"), "status": "failed"}
    assert metadata["resourceVersion"] == "77"
    assert "managedFields" not in metadata
    expected, found = raw_payload(before), raw_payload(after)
    obj(expected, "info").update(obj(found, "info"))
    assert found == expected


def test_unlocking_does_not_modify_the_given_secret() -> None:
    before = recorded("pending-install")
    copy = json.loads(json.dumps(before))
    unlock_release(before)
    assert before == copy


@pytest.mark.parametrize("status", ["deployed", "failed", "superseded", "uninstalling"])
def test_a_release_that_is_not_pending_cannot_be_unlocked(status: str) -> None:
    with pytest.raises(HelmError, match=status):
        unlock_release(recorded(status))


def test_a_release_that_is_uninstalling_gets_its_status_again() -> None:
    info = {**obj(payload(), "info"), "status": "uninstalling", "deleted": "2026-11-20T08:00:00Z"}
    before = secret(json.dumps(payload(info=info)).encode(), status="uninstalling")
    after = restore_release(before, status="deployed")
    assert (decode_release(after).status, decode_release(after).status_label) == ("deployed", "deployed")
    expected, found = raw_payload(before), raw_payload(after)
    assert obj(expected, "info").pop("deleted")
    obj(expected, "info").update(status="deployed", description=decode_release(after).description)
    assert found == expected


def test_where_only_the_label_says_uninstalling_the_label_is_corrected() -> None:
    after = restore_release(secret(json.dumps(payload()).encode(), status="uninstalling"), status="failed")
    assert (decode_release(after).status, decode_release(after).status_label) == ("deployed", "deployed")


def test_a_changed_label_gets_the_status_of_the_record_again() -> None:
    changed = secret(json.dumps(payload()).encode(), status="failed")
    assert decode_release(changed).status_label == "failed"
    corrected = correct_status_label(changed)
    assert corrected is not None
    assert obj(obj(corrected, "metadata"), "labels") == obj(obj(recorded(), "metadata"), "labels")
    assert corrected["data"] == changed["data"]
    assert correct_status_label(recorded()) is None


def test_a_record_gets_a_manifest_with_only_served_kinds() -> None:
    found = serve_kinds(recorded(), {("", "ConfigMap"): ("v1",)})
    assert found is not None
    after, changes = found
    manifest = decode_release(after).manifest
    assert "Widget" not in manifest
    assert "    --- not a separator" in manifest
    assert manifest.startswith("---\n# Source: hello/templates/configmap.yaml")
    assert decode_release(after).status == "deployed"
    assert changes == ("Widget w was removed",)


def test_nothing_is_written_when_every_kind_is_served() -> None:
    served = {("", "ConfigMap"): ("v1",), ("h.example.com", "Widget"): ("h.example.com/v2", "h.example.com/v1")}
    assert serve_kinds(recorded(), served) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sh.helm.release.v1.hello.v3", ("hello", 3)),
        ("sh.helm.release.v1.a.v1.v12", ("a.v1", 12)),
        ("sh.helm.release.v1.hello.v0", None),
        ("sh.helm.release.v1.hello", None),
        ("sh.helm.release.v1..v1", None),
        ("hello", None),
    ],
)
def test_secret_names_contain_release_and_revision(name: str, expected: tuple[str, int] | None) -> None:
    assert parse_release_secret_name(name) == expected
    if expected is not None:
        assert release_secret_name(*expected) == name


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Install complete", True),
        ("Upgrade complete", True),
        ("Rollback to 12", True),
        ("Upgrade complete with password hunter2", False),
        ('Release "x" failed: secret hunter2', False),
        ("", False),
    ],
)
def test_only_helms_own_descriptions_are_public(description: str, shown: bool) -> None:
    assert public_description(description) == (description if shown else None)


@pytest.mark.parametrize("time", ["", "yesterday", "2026-11-21T00:55:04", "9" * 5000, "2026-13-45T00:00:00Z"])
def test_a_time_that_is_none_is_left_out(time: str) -> None:
    release = payload()
    obj(release, "info")["first_deployed"] = time
    assert decode_release(secret(json.dumps(release).encode())).first_deployed == ""
