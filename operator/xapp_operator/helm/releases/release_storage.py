"""Helm's release records: Secrets of type `helm.sh/release.v1`. Pure.

A record is base64 (the Secret's) of base64 (Helm's) of gzip of JSON; see `pkg/storage/driver/util.go` of Helm 4. Its
labels repeat name, revision and status, but Helm decides by the payload.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from xapp_operator.api.json import Json, JsonObject, decode_json, integer, items, obj, text
from xapp_operator.api.names import HELM_SECRET_PREFIX
from xapp_operator.config.settings import MIB
from xapp_operator.domain.planning.plan_input import FAILED, PENDING, SUPERSEDED, UNINSTALLING
from xapp_operator.errors import HelmError, ReleaseRecordDamaged, ReleaseRecordTooLarge
from xapp_operator.helm.manifest import load_documents
from xapp_operator.helm.served_manifest import ServedVersions, with_served_kinds

RELEASE_SECRET_TYPE: Final = "helm.sh/release.v1"  # noqa: S105
RELEASE_BYTES_MAX: Final = 32 * MIB
JSON_VALUES_MAX: Final = 500_000
"""56 KB in a Secret can hold ten million values, which take a gigabyte once decoded and stop all requests."""

HOOK_MANIFESTS_MAX: Final = 256 * 1024
"""Characters of all hooks of a record that are read for their namespaces; hooks beyond are as those without one."""

TEST_EVENT: Final = "test"
BEFORE_HOOK_CREATION: Final = "before-hook-creation"
"""The policy by which helm deletes the object of a hook before it runs the hook again."""

_SECRET_NAME: Final = re.compile(rf"{re.escape(HELM_SECRET_PREFIX)}(?P<name>.+)\.v(?P<revision>[1-9][0-9]*)")
_OWN_DESCRIPTION: Final = re.compile(r"(?:Install|Upgrade) complete|Rollback to [0-9]{1,10}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_WINDOW: Final = 31  # zlib's number for a gzip header and the largest window
_JSON_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)  # linear time for any bytes
_QUOTES_MAX: Final = 4 * JSON_VALUES_MAX  # a key and a value each


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartMetadata:
    """The chart of a revision: its default values, and its schema as JSON text, empty if it has none.

    `dependencies` are names. Helm keeps files such as the README, but not the text of values.yaml.
    """

    name: str
    version: str
    app_version: str
    values: JsonObject = field(repr=False)
    schema: str
    description: str = ""
    dependencies: tuple[str, ...] = ()
    files: JsonObject = field(default_factory=dict, repr=False)
    """Texts in base64, by path."""

    def read_text(self, path: str) -> str | None:
        """Return a file of the chart, or None without it."""
        try:
            return base64.b64decode(text(self.files, path), validate=True).decode("utf-8", "replace") or None
        except binascii.Error:
            return None


class HookPhase(StrEnum):
    """Phases of the last run of a hook that this package looks for; there are others."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


_CURRENT_PHASES: Final = frozenset({HookPhase.RUNNING, HookPhase.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A hook of a chart, and its last run: without one, phase and times are empty.

    It runs at `events`, such as `pre-install`. Without `delete_policies`, helm deletes the old object before it runs
    the hook again. Without a `namespace` in its manifest, which is empty then, helm creates it in that of the release.
    Whoever may write Secrets can name any namespace here.
    """

    name: str
    kind: str
    events: tuple[str, ...]
    phase: str
    started_at: str
    completed_at: str
    delete_policies: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRecord:
    """One revision of a release. Times are RFC 3339. `config` has the values that the user gave."""

    revision: int
    status: str
    description: str
    chart: ChartMetadata
    manifest: str = field(repr=False)
    config: JsonObject = field(repr=False)
    notes: str
    first_deployed: str
    last_deployed: str
    hooks: tuple[Hook, ...] = ()
    status_label: str = ""
    """The status that the label says; Helm goes by the other one."""

    @property
    def tests(self) -> tuple[Hook, ...]:
        return tuple(each for each in self.hooks if TEST_EVENT in each.events)

    @property
    def current_hook(self) -> Hook | None:
        """Return the hook that a step of helm waits for, or failed at; None if there is none, and for tests."""
        hooks = (each for each in self.hooks if TEST_EVENT not in each.events)
        begun = [each for each in hooks if each.phase in _CURRENT_PHASES and each.started_at]
        return max(begun, key=lambda each: datetime.fromisoformat(each.started_at), default=None)


def public_description(description: str) -> str | None:
    """Return helm's description of a revision if it is one of its own sentences, else None.

    With `--description`, and after a failure, it may be any text, which only those should see who may read Secrets.
    """
    return description if _OWN_DESCRIPTION.fullmatch(description) else None


def release_secret_name(release: str, revision: int) -> str:
    return f"{HELM_SECRET_PREFIX}{release}.v{revision}"


def parse_release_secret_name(name: str) -> tuple[str, int] | None:
    """Return release name and revision of the Secret `name`, or None if it is not a release record."""
    matched = _SECRET_NAME.fullmatch(name)
    return (matched["name"], int(matched["revision"])) if matched else None


def decode_release(secret: JsonObject) -> ReleaseRecord:
    """Return the release that a Secret records.

    Raises:
        ReleaseRecordDamaged: when it records none.
        ReleaseRecordTooLarge: when it records one of more than RELEASE_BYTES_MAX or JSON_VALUES_MAX.
    """
    payload = _decode_payload(secret)
    info, chart = obj(payload, "info"), obj(payload, "chart")
    metadata = obj(chart, "metadata")
    return ReleaseRecord(
        revision=integer(payload, "version"),
        status=text(info, "status"),
        description=text(info, "description"),
        chart=ChartMetadata(
            name=text(metadata, "name"),
            version=text(metadata, "version"),
            app_version=text(metadata, "appVersion"),
            values=obj(chart, "values"),
            schema=_decode_schema(text(chart, "schema")),
            description=text(metadata, "description"),
            dependencies=tuple(text(each, "name") for each in items(metadata, "dependencies")),
            files={text(each, "name"): text(each, "data") for each in items(chart, "files")},
        ),
        manifest=text(payload, "manifest"),
        config=obj(payload, "config"),
        notes=text(info, "notes"),
        first_deployed=_time_text(text(info, "first_deployed")),
        last_deployed=_time_text(text(info, "last_deployed")),
        hooks=_hooks(items(payload, "hooks")),
        status_label=_status_label(secret),
    )


def _texts(hook: JsonObject, key: str) -> tuple[str, ...]:
    found = hook.get(key)
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def _hooks(hooks: list[JsonObject]) -> tuple[Hook, ...]:
    remaining = HOOK_MANIFESTS_MAX
    found: list[Hook] = []
    for hook in hooks:
        manifest = text(hook, "manifest")
        namespace = ""
        if "namespace" in manifest and (remaining := remaining - len(manifest)) >= 0:
            namespace = _manifest_namespace(manifest)
        found.append(_hook(hook, namespace))
    return tuple(found)


def _manifest_namespace(manifest: str) -> str:
    """Return the namespace that the manifest of a hook names, or nothing."""
    try:
        document = next(load_documents(manifest), {})
    except HelmError:  # helm cannot read it either
        return ""
    return text(obj(document, "metadata"), "namespace")


def _hook(hook: JsonObject, namespace: str) -> Hook:
    last_run = obj(hook, "last_run")
    if not text(last_run, "phase"):
        last_run = {}  # Helm 3 writes the zero time of Go before the first run
    return Hook(
        name=text(hook, "name"),
        kind=text(hook, "kind"),
        events=_texts(hook, "events"),
        phase=text(last_run, "phase"),
        started_at=_time_text(text(last_run, "started_at")),
        completed_at=_time_text(text(last_run, "completed_at")),
        delete_policies=_texts(hook, "delete_policies"),
        namespace=namespace,
    )


def _time_text(value: str) -> str:
    """Return `value` if it is an RFC 3339 time, else nothing: whoever may write Secrets can write a release record."""
    try:
        datetime.fromisoformat(value)  # which also reads other forms of ISO 8601
    except ValueError:
        return ""
    return value if _TIME.fullmatch(value) else ""


def unlock_release(secret: JsonObject) -> JsonObject:
    """Return the Secret that replaces one whose release is pending; it marks the release as failed.

    Both the payload and the label get the status, because Helm reads the one and lists by the other. The resource
    version stays, so that a concurrent write is a conflict.

    Raises:
        HelmError: when the release is not pending, or as `decode_release`.
    """
    payload = _decode_payload(secret)
    info = obj(payload, "info")
    status = text(info, "status")
    if status not in PENDING:
        raise HelmError(f"the release is {status or 'in an unknown state'}, not pending: there is nothing to unlock")
    info["status"] = FAILED
    info["description"] = f"Unlocked: {status} was interrupted, and no helm process is working on it"
    return _with_payload(secret, payload, status=FAILED)


def restore_release(secret: JsonObject, *, status: str) -> JsonObject:
    """Return the Secret that replaces one whose release is `uninstalling`; it has the status from before again.

    Where only the label says so, the label gets the status of the record.

    Raises:
        HelmError: as `decode_release`.
    """
    payload = _decode_payload(secret)
    info = obj(payload, "info")
    if text(info, "status") != UNINSTALLING:
        return _with_status_label(secret, text(info, "status"))
    info["status"] = status
    info["description"] = "Restored: the uninstall was ended before it deleted anything"
    info.pop("deleted", None)
    return _with_payload(secret, payload, status=status)


def correct_status_label(secret: JsonObject) -> JsonObject | None:
    """Return the Secret with the status that helm reads as its label, or None if it has that.

    Raises:
        ReleaseRecordDamaged: as `decode_release`.
    """
    status = text(obj(_decode_payload(secret), "info"), "status")
    return None if _status_label(secret) == status else _with_status_label(secret, status)


def unlock_damaged_release(secret: JsonObject) -> JsonObject:
    """Return the Secret that replaces one that is pending by its label, but whose record helm cannot decode."""
    return _with_status_label(secret, FAILED)


def supersede_release(secret: JsonObject) -> JsonObject:
    """Return the Secret that replaces one whose release is called deployed, although a newer revision is.

    Of a record that cannot be decoded only the label changes: helm does not see it.
    """
    try:
        payload = _decode_payload(secret)
    except ReleaseRecordDamaged:
        return _with_status_label(secret, SUPERSEDED)
    payload["info"] = {**obj(payload, "info"), "status": SUPERSEDED}
    return _with_payload(secret, payload, status=SUPERSEDED)


def serve_kinds(
    secret: JsonObject, served: ServedVersions, *, unknown_groups: Collection[str] = ()
) -> tuple[JsonObject, tuple[str, ...]] | None:
    """Return the Secret with a manifest as `with_served_kinds` makes it, and what has changed; None if nothing has.

    Helm can neither upgrade nor uninstall a release with a kind or version that the cluster no longer serves.

    Raises:
        HelmError: as `decode_release`.
    """
    payload = _decode_payload(secret)
    found = with_served_kinds(text(payload, "manifest"), served, unknown_groups=unknown_groups)
    if found is None:
        return None
    payload["manifest"] = found.manifest
    return _with_payload(secret, payload, status=text(obj(payload, "info"), "status")), found.changes


def _with_payload(secret: JsonObject, payload: JsonObject, *, status: str) -> JsonObject:
    data = {**obj(secret, "data"), "release": _encode_payload(payload)}
    return {**_with_status_label(secret, status), "data": data}


def _status_label(secret: JsonObject) -> str:
    return text(obj(obj(secret, "metadata"), "labels"), "status")


def _with_status_label(secret: JsonObject, status: str) -> JsonObject:
    metadata = {key: value for key, value in obj(secret, "metadata").items() if key != "managedFields"}
    metadata["labels"] = {**obj(metadata, "labels"), "status": status}
    return {**secret, "metadata": metadata}


def _decode_payload(secret: JsonObject) -> JsonObject:
    recorded = text(obj(secret, "data"), "release")
    if not recorded:
        raise ReleaseRecordDamaged("this Secret is not a Helm release record")
    try:
        packed = base64.b64decode(base64.b64decode(recorded, validate=True), validate=True)
        data = _gunzip(packed) if packed.startswith(_GZIP_MAGIC) else packed
        if not _is_within_value_limit(data):
            raise ReleaseRecordTooLarge(
                f"this release record has more than {JSON_VALUES_MAX:,} values, so it is not read"
            )
        payload: Json = decode_json(data)  # it may be written back
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise ReleaseRecordDamaged("this release record is damaged: remove it, or restore it from a backup") from error
    if not isinstance(payload, dict):
        raise ReleaseRecordDamaged("this release record is damaged: it is not an object")
    recorded_revision = text(payload, "name"), integer(payload, "version")
    secret_name = text(obj(secret, "metadata"), "name")
    if parse_release_secret_name(secret_name) != recorded_revision or not text(obj(payload, "info"), "status"):
        raise ReleaseRecordDamaged(
            "this release record is damaged: it does not record the revision in its name. Remove it, or restore it "
            "from a backup"
        )
    return payload


def _gunzip(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW)
    data = unpacker.decompress(packed, RELEASE_BYTES_MAX)
    if unpacker.unconsumed_tail:
        raise ReleaseRecordTooLarge(
            f"this release record is larger than {RELEASE_BYTES_MAX // MIB} MiB unpacked: it is not read"
        )
    if not unpacker.eof:
        raise ValueError("the gzip stream ends early")
    return data


def _is_within_value_limit(data: bytes) -> bool:
    """Return whether JSON has at most JSON_VALUES_MAX values, without decoding it."""
    if _count_separators(data) <= JSON_VALUES_MAX:
        return True
    # Commas and brackets inside texts, such as the manifest, do not count.
    if data.count(b'"') - data.count(b'\\"') > _QUOTES_MAX:
        return False
    return _count_separators(_JSON_STRING.sub(b"", data)) <= JSON_VALUES_MAX


def _count_separators(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _encode_payload(payload: JsonObject) -> str:
    packed = gzip.compress(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)
    return base64.b64encode(base64.b64encode(packed)).decode()


def _decode_schema(recorded: str) -> str:
    try:
        schema = base64.b64decode(recorded, validate=True)
    except binascii.Error:
        return ""
    return schema.decode("utf-8", "replace") if _is_within_value_limit(schema) else ""
