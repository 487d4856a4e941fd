"""Whether a chart archive may go to helm, and what is in it: every check, in memory.

The rules are those of Helm 4's loader, so that what passes here loads there, and the operator's own: an application
chart, with its dependencies inside. An archive is a pure input: the same bytes always give the same answer, which is
kept by digest and never found out twice.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, JsonObject, items
from xapp_operator.charts.archive import (
    CHART_YAML,
    REQUIREMENTS,
    VALUES_SCHEMA,
    VALUES_YAML,
    Budget,
    read_files,
    refused,
)
from xapp_operator.charts.info import ArchiveLimits, ChartInfo
from xapp_operator.charts.schemarefs import read_schema
from xapp_operator.charts.versions import parse_version
from xapp_operator.charts.wording import byte_count, quoted, some_of
from xapp_operator.domain.yamlvalues import load_values
from xapp_operator.errors import ChartInvalid, ValuesInvalid

MAX_NESTING: Final = 10
"""Subcharts may lie this deep in each other."""

_ALIAS: Final = re.compile("[a-zA-Z0-9_-]+")

Files = dict[str, bytes | None]


@dataclass(frozen=True, slots=True)
class _Chart:
    metadata: JsonObject
    schema: JsonObject | None
    external_refs: bool
    subchart_names: tuple[str, ...]


def inspect_archive(archive: bytes, *, limits: ArchiveLimits) -> ChartInfo:
    """Return what is in a packed chart that passes every check. Takes CPU time: call it in a thread.

    Raises ChartInvalid with what was refused, the bound and the mend.
    """
    if len(archive) > limits.packed:
        raise too_large(limits)
    budget = Budget(limits)
    files = read_files(archive, budget=budget, with_values=True)
    chart = _chart(files, budget=budget, where="", depth=0)
    _check_application(chart.metadata)
    values = files.get(VALUES_YAML)
    return ChartInfo(
        name=_text(chart.metadata, "name", ""),
        version=_text(chart.metadata, "version", ""),
        app_version=_text(chart.metadata, "appVersion", ""),
        api_version=_text(chart.metadata, "apiVersion", "") or "v1",
        description=_text(chart.metadata, "description", ""),
        digest=hashlib.sha256(archive).hexdigest(),
        size=len(archive),
        unpacked=budget.unpacked,
        files=budget.files,
        values=_yaml(values, where=VALUES_YAML, limits=limits) if values else {},
        schema=chart.schema,
        external_refs=chart.external_refs,
        dependencies=_vendored(chart),
    )


def too_large(limits: ArchiveLimits) -> ChartInvalid:
    """Return the refusal of an archive that is larger than its bound."""
    return refused(f"it has more than {byte_count(limits.packed)}. Leave out what is not needed to install the chart.")


def _chart(files: Files, *, budget: Budget, where: str, depth: int) -> _Chart:
    if depth > MAX_NESTING:
        raise refused(f"its subcharts lie more than {MAX_NESTING} levels deep in each other. Flatten them.")
    metadata = _metadata(files, where=where, limits=budget.limits)
    schema, external_refs = _schema(files.get(VALUES_SCHEMA), where=where)
    names: list[str] = []
    for folder, content in _subcharts(files, where=where, budget=budget).items():
        subchart = _chart(content, budget=budget, where=f"{where}charts/{folder}/", depth=depth + 1)
        names.append(_text(subchart.metadata, "name", where))
        external_refs = external_refs or subchart.external_refs
    return _Chart(metadata=metadata, schema=schema, external_refs=external_refs, subchart_names=tuple(names))


def _subcharts(files: Files, *, where: str, budget: Budget) -> dict[str, Files]:
    """Return what lies under charts/, by its first name, as Helm takes it apart."""
    found: dict[str, Files] = {}
    for path, content in files.items():
        if not path.startswith("charts/") or path.endswith(".prov"):
            continue
        name, slash, inside = path.removeprefix("charts/").partition("/")
        if name[0] in "._":
            continue
        if name.endswith(".tgz"):
            if slash:
                raise refused(f"{quoted(f'{where}charts/{name}')} is a folder named like an archive. Rename it.")
            found[name] = _nested(content or b"", where=f"{where}charts/{name}", budget=budget)
        else:
            subchart = found.setdefault(name, {})
            if slash:
                subchart[inside] = content
    return found


def _nested(archive: bytes, *, where: str, budget: Budget) -> Files:
    try:
        return read_files(archive, budget=budget, with_values=False)
    except ChartInvalid as error:
        raise ChartInvalid(f"subchart {quoted(where)}: {error.message}") from None


def _metadata(files: Files, *, where: str, limits: ArchiveLimits) -> JsonObject:
    content = files.get(CHART_YAML)
    if content is None:
        place = f"in {quoted(where)}" if where else "in its first folder"
        raise refused(f"there is no {CHART_YAML} {place}. Pack the chart with 'helm package'.")
    where_chart_yaml = f"{where}{CHART_YAML}"
    metadata = _yaml(content, where=where_chart_yaml, limits=limits)
    if requirements := files.get(REQUIREMENTS):
        metadata |= _yaml(requirements, where=f"{where}{REQUIREMENTS}", limits=limits)
    name, version = (_text(metadata, key, where_chart_yaml) for key in ("name", "version"))
    if not name or name in (".", "..") or "/" in name:
        raise refused(f"{quoted(where_chart_yaml)} gives no usable name. Add 'name: <name of the chart>'.")
    if not version or parse_version(version) is None:
        raise refused(
            f"{quoted(where_chart_yaml)} gives {quoted(version)} as version, which is no SemVer version. "
            "Write it like 1.2.3."
        )
    if _text(metadata, "type", where_chart_yaml) not in ("", "application", "library"):
        raise refused(f"the type in {quoted(where_chart_yaml)} is neither application nor library. Correct it.")
    _check_dependencies(metadata, where=where_chart_yaml)
    return metadata


def _check_application(metadata: JsonObject) -> None:
    if _text(metadata, "apiVersion", CHART_YAML) not in ("", "v1", "v2"):
        raise refused(f"the apiVersion in {CHART_YAML} is neither v1 nor v2. Use 'apiVersion: v2'.")
    if _text(metadata, "type", CHART_YAML) == "library":
        raise refused("it is a library chart, which cannot be installed. Deploy a chart of type application.")


def _check_dependencies(metadata: JsonObject, *, where: str) -> None:
    declared = metadata.get("dependencies") or []
    if not isinstance(declared, list) or not all(isinstance(item, dict) for item in declared):
        raise refused(f"the dependencies in {quoted(where)} are not a list of objects. Correct them.")
    keys: set[str] = set()
    for dependency in items(metadata, "dependencies"):
        name, alias = (_text(dependency, key, where) for key in ("name", "alias"))
        if alias and not _ALIAS.fullmatch(alias):
            raise refused(f"{quoted(where)} gives {quoted(name)} an alias with characters other than a-z A-Z 0-9 _ -.")
        if (alias or name) in keys:
            raise refused(f"{quoted(where)} has the dependency {quoted(alias or name)} twice. Give one an alias.")
        keys.add(alias or name)


def _vendored(chart: _Chart) -> tuple[str, ...]:
    """Return the names of the dependencies, all of which lie in charts/ under the name in their own Chart.yaml."""
    wanted = [_text(dependency, "name", CHART_YAML) for dependency in items(chart.metadata, "dependencies")]
    missing = [name for name in wanted if name not in chart.subchart_names]
    if missing:
        raise refused(
            f"its dependencies {some_of(missing, total=len(missing))} are not in its charts/ folder. "
            "Run 'helm dependency update' and pack the chart again."
        )
    return tuple(wanted)


def _schema(content: bytes | None, *, where: str) -> tuple[JsonObject | None, bool]:
    if not content:
        return None, False
    try:
        schema, external_refs = read_schema(content)
    except (ValueError, RecursionError):
        raise refused(f"{quoted(where + VALUES_SCHEMA)} is not JSON. Correct it.") from None
    return (schema if isinstance(schema, dict) else None), external_refs


def _yaml(content: bytes, *, where: str, limits: ArchiveLimits) -> JsonObject:
    try:
        return load_values(content, what=quoted(where)[1:-1], max_bytes=limits.document, repeated_keys=True)
    except ValuesInvalid as error:
        raise refused(error.message) from None


def _text(metadata: JsonObject, key: str, where: str) -> str:
    """Return a text of Chart.yaml; a number or a boolean is spelled out as Helm does it."""
    value: Json = metadata.get(key)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        raise refused(f"{quoted(key)} in {quoted(where)} is not a text. Correct it.")
    return value
