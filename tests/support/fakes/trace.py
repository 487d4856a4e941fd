"""Writes down a history: each request, status, event and helm process, with its time, as text to be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import orjson

from tests.support.fakes.clock import START
from tests.support.fakes.helm_records import decode_record
from tests.support.fakes.histories import History
from tests.support.fakes.json_patch import Json
from xapp_operator.common.bounded_process import Command, ProcessLimits, ProcessResult
from xapp_operator.kube.transport import ApiRequest, ApiResponse, RequestIdentity

_READS = {"GET", "HEAD"}
_UNTOLD = {"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "name", "namespace"}
"""Metadata that the operator does not write."""
_OURS = {"XApp", "ChartArchive", "ChartRepository"}
"""Kinds of which the operator writes metadata and status only."""
_RELEASED_AT = "xapp-operator.io/released-at"
_LONG_HEX = re.compile(r"\b[0-9a-f]{16,}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_UID = re.compile(r"\buid-\d+\b")
_PATH = re.compile(r"^/.*")
_USUAL = {("limit", "500"), ("fieldValidation", "Strict")}
"""Parameters of every request of some kind."""
_NAMED_BY = ("type", "revision", "name")
"""Fields by which the entries of a list are told apart."""


class Trace:
    """The text of one history."""

    def __init__(self) -> None:
        self._history: History | None = None
        self._time = -1.0
        self._lines: list[str] = []
        self._reads: list[str] = []
        self._known: dict[str, dict[str, str]] = {}

    def watch(self, history: History) -> None:
        """Write down what happens from now on."""
        self._history = history
        history.on_note.append(lambda what: self._add(f"USER {what}"))
        history.cluster.on_response.append(self._add_request)
        history.cluster.start_helm = self._run_helm

    def text(self) -> str:
        """Return what has happened, and the state in the end."""
        self._flush()
        assert self._history is not None
        end = [f"END {self._history.outcome}, revisions {self._history.cluster.revisions}"]
        return "\n".join(map(_readable, (*self._lines, *end, *_metrics(self._history)))) + "\n"

    def _add(self, line: str, details: Iterator[str] | None = None) -> None:
        self._begin()
        self._flush()
        self._lines += [line, *(f"    {each}" for each in details or ())]

    def _begin(self) -> None:
        assert self._history is not None
        now = self._history.cluster.clock.monotonic()
        if now != self._time:
            self._flush()
            self._time = now
            self._lines.append(f"@ {now:.2f}")

    def _flush(self) -> None:
        """Add the reads of one moment: their order means nothing."""
        self._lines += sorted(self._reads)
        self._reads.clear()

    def _add_request(self, request: ApiRequest, response: ApiResponse, identity: RequestIdentity) -> None:
        path = request.path.split("/", 2)[-1]
        partial = " metadata" if "PartialObjectMetadata" in request.headers.get("Accept", "") else ""
        user = f" as {identity.impersonated_user}" if identity.impersonated_user else ""
        params = "".join(f" {key}={value}" for key, value in sorted(request.params.items() - _USUAL))
        failed = f" -> {response.status}" if response.status >= 400 else ""
        if request.method in _READS or path.endswith("accessreviews"):
            self._begin()
            self._reads.append(f"{request.method} {path}{params}{partial}{user}{failed}")
            return
        body = orjson.loads(response.body)
        if "/events" in path:
            path = re.sub(r"/events/.*", "/events", path)
            self._add(f"{request.method} {path}{failed}", _event(body))
            return
        line = f"{request.method} {path}{params}{user}{failed}"
        self._add(line, iter(()) if failed else self._changes(path, request, body))

    def _changes(self, path: str, request: ApiRequest, body: Json) -> Iterator[str]:
        if request.method == "DELETE":
            sent = {} if request.body is None else orjson.loads(request.body)
            yield from (f"{key}: {value}" for key, value in sorted(_flat(sent)))
            return
        now = dict(_flat(_told(body)))
        name = path.removesuffix("/status")
        before = self._known.get(name, {})
        self._known[name] = now
        for key in sorted({*before, *now}):
            if before.get(key) != now.get(key):
                yield f"{key}: {now[key]}" if key in now else f"- {key}"

    async def _run_helm(
        self, command: Command, *, limits: ProcessLimits, on_start: Callable[[int], None] | None = None
    ) -> ProcessResult:
        assert self._history is not None
        helm = self._history.cluster.helm
        run = helm._parse(command)
        shown = [_PATH.sub("CHART", each) for each in run.positional]
        told = " ".join(f"--{key}={_PATH.sub('FILE', value)}" for key, value in sorted(run.flags.items()))
        values = f"values {json.dumps(run.values, sort_keys=True)}"
        self._add(" ".join(["HELM", run.command, *shown]), iter([told, values]))
        ended = "killed"
        try:
            result = await helm(command, limits=limits, on_start=on_start)
            ended = f"exit code {result.exit_code} {result.stderr.strip()}".strip()
            return result
        finally:
            self._add(f"HELM {run.command}: {ended}")


def _event(body: Json) -> Iterator[str]:
    involved = body.get("involvedObject", {})
    yield f"{body.get('type')} {body.get('reason')} of {involved.get('kind')} {involved.get('name')}"
    yield f"{body.get('count')} times: {body.get('message')}"


def _told(body: Json) -> Json:
    """Return what of an object is written down."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in _UNTOLD}
    annotations = metadata.get("annotations")
    if annotations and _RELEASED_AT in annotations:
        metadata["annotations"] = {**annotations, _RELEASED_AT: "now"}
    if body.get("type") == "helm.sh/release.v1":
        record = decode_record(body)
        return {"metadata": metadata, "record": record and record["info"]}
    if body["kind"] in _OURS:
        return {"metadata": metadata, "status": body.get("status", {})}
    rest = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "status")}
    return {**rest, "metadata": metadata}


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the lines of a value: one for each part of a status, and one for each leaf of anything else."""
    whole = path.startswith("status.") and not isinstance(value, list)
    if isinstance(value, dict) and value and not whole:
        for key, each in value.items():
            yield from _flat(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            name = next((each[field] for field in _NAMED_BY if isinstance(each, dict) and field in each), number)
            yield from _flat(each, f"{path}[{name}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _metrics(history: History) -> Iterator[str]:
    runtime = history.cluster.runtime
    if runtime is None:
        return
    runtime.update_metrics()
    for metric in runtime._context.metrics.registry.collect():
        if metric.name.startswith("xapp_operator") and metric.name != "xapp_operator_helm_slots":  # by the machine
            for sample in metric.samples:
                labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
                if sample.value and not sample.name.endswith(("_bucket", "_created")):
                    yield f"METRIC {sample.name}{{{labels}}} {sample.value:.2f}"


def _readable(line: str) -> str:
    for pattern, shorten in _SHORTER:
        line = pattern.sub(shorten, line)
    return line


def _since_start(found: re.Match[str]) -> str:
    return f"T+{datetime.fromisoformat(found[0]).timestamp() - START:g}"


_SHORTER: list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = [
    (_TIME, _since_start),
    (_LONG_HEX, lambda found: found[0][:6]),
    (_UID, lambda _: "UID"),
]
