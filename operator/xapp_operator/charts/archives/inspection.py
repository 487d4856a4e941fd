"""Checks whether Helm may have a chart archive, and describes the chart; everything happens in memory.

The rules are those of Helm 4's loader, so that what passes here loads there, plus the operator's own: an application
chart that contains its dependencies. The result depends on the bytes only, so it is cached by digest.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import Json, JsonObject, decode_json, items
from xapp_operator.charts.archives.archive_reader import (
    CHART_YAML,
    REQUIREMENTS,
    VALUES_SCHEMA,
    VALUES_YAML,
    ArchiveBudget,
    ArchiveLimits,
    archive_refused,
    read_chart_files,
)
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.versions import parse_version
from xapp_operator.common.text import format_bytes, format_list, quote_input
from xapp_operator.domain.chart_values.yaml_values import load_values
from xapp_operator.domain.control_characters import has_control_characters
from xapp_operator.errors import ChartInvalid, ValuesInvalid

MAX_SUBCHART_DEPTH: Final = 10
"""How deep subcharts may be nested."""

_ALIAS_PATTERN: Final = re.compile("[a-zA-Z0-9_-]+")
_REFERENCE_KEYS: Final = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_KNOWN_DRAFT: Final = re.compile(
    r"https?://json-schema\.org/(?:schema|draft-0[467]/schema|draft/(?:2019-09|2020-12)/schema)#?"
)

ChartFiles = dict[str, bytes | None]


@dataclass(frozen=True, slots=True)
class _InspectedChart:
    metadata: JsonObject
    schema: JsonObject | None
    external_refs: bool
    subchart_names: tuple[str, ...]


def inspect_archive(archive: bytes, *, limits: ArchiveLimits) -> ChartInfo:
    """Return the description of a packed chart that passes every check. Uses CPU time: call it in a thread.

    Raises ChartInvalid, which names the problem, the limit and the fix.
    """
    if len(archive) > limits.packed_bytes:
        raise archive_too_large(limits)
    budget = ArchiveBudget(limits)
    files = read_chart_files(archive, budget=budget, read_values=True)
    chart = _inspect_chart(files, budget=budget, prefix="", depth=0)
    _check_installable(chart.metadata)
    values = files.get(VALUES_YAML)
    return ChartInfo(
        name=_metadata_text(chart.metadata, "name", ""),
        version=_metadata_text(chart.metadata, "version", ""),
        app_version=_metadata_text(chart.metadata, "appVersion", ""),
        api_version=_metadata_text(chart.metadata, "apiVersion", "") or "v1",
        description=_metadata_text(chart.metadata, "description", ""),
        digest=hashlib.sha256(archive).hexdigest(),
        size=len(archive),
        unpacked=budget.unpacked,
        files=budget.files,
        values=_load_yaml(values, path=VALUES_YAML, limits=limits) if values else {},
        schema=chart.schema,
        external_refs=chart.external_refs,
        dependencies=_check_vendored(chart),
    )


def archive_too_large(limits: ArchiveLimits) -> ChartInvalid:
    return archive_refused(
        f"it has more than {format_bytes(limits.packed_bytes)}. Remove what is not needed to install the chart."
    )


def _inspect_chart(files: ChartFiles, *, budget: ArchiveBudget, prefix: str, depth: int) -> _InspectedChart:
    if depth > MAX_SUBCHART_DEPTH:
        raise archive_refused(f"its subcharts are nested more than {MAX_SUBCHART_DEPTH} levels deep. Flatten them.")
    metadata = _read_metadata(files, prefix=prefix, limits=budget.limits)
    schema, external_refs = _read_values_schema(files.get(VALUES_SCHEMA), prefix=prefix)
    names: list[str] = []
    for folder, content in _split_subcharts(files, prefix=prefix, budget=budget).items():
        subchart = _inspect_chart(content, budget=budget, prefix=f"{prefix}charts/{folder}/", depth=depth + 1)
        names.append(_metadata_text(subchart.metadata, "name", prefix))
        external_refs = external_refs or subchart.external_refs
    return _InspectedChart(metadata=metadata, schema=schema, external_refs=external_refs, subchart_names=tuple(names))


def _split_subcharts(files: ChartFiles, *, prefix: str, budget: ArchiveBudget) -> dict[str, ChartFiles]:
    """Return the files under charts/ by subchart, split as in Helm."""
    found: dict[str, ChartFiles] = {}
    for path, content in files.items():
        if not path.startswith("charts/") or path.endswith(".prov"):
            continue
        name, slash, inside = path.removeprefix("charts/").partition("/")
        if name[0] in "._":
            continue
        if name.endswith(".tgz"):
            if slash:
                raise archive_refused(
                    f"{quote_input(f'{prefix}charts/{name}')} is a folder with the name of an archive. Rename it."
                )
            found[name] = _read_subchart_archive(content or b"", path=f"{prefix}charts/{name}", budget=budget)
        else:
            subchart = found.setdefault(name, {})
            if slash:
                subchart[inside] = content
    return found


def _read_subchart_archive(archive: bytes, *, path: str, budget: ArchiveBudget) -> ChartFiles:
    try:
        return read_chart_files(archive, budget=budget, read_values=False)
    except ChartInvalid as error:
        raise ChartInvalid(f"subchart {quote_input(path)}: {error.message}") from None


def _read_metadata(files: ChartFiles, *, prefix: str, limits: ArchiveLimits) -> JsonObject:
    content = files.get(CHART_YAML)
    if content is None:
        location = f"in {quote_input(prefix)}" if prefix else "in its first folder"
        raise archive_refused(f"there is no {CHART_YAML} {location}. Pack the chart with 'helm package'.")
    chart_yaml_path = f"{prefix}{CHART_YAML}"
    metadata = _load_yaml(content, path=chart_yaml_path, limits=limits)
    if requirements := files.get(REQUIREMENTS):
        metadata |= _load_yaml(requirements, path=f"{prefix}{REQUIREMENTS}", limits=limits)
    name, version = (_metadata_text(metadata, key, chart_yaml_path) for key in ("name", "version"))
    if not name or name in (".", "..") or "/" in name or has_control_characters(name):
        raise archive_refused(f"{quote_input(chart_yaml_path)} has no usable name. Add 'name: <name of the chart>'.")
    if not version or parse_version(version) is None:
        raise archive_refused(
            f"the version {quote_input(version)} in {quote_input(chart_yaml_path)} is not a SemVer version. "
            "Use a version like 1.2.3."
        )
    if _metadata_text(metadata, "type", chart_yaml_path) not in ("", "application", "library"):
        raise archive_refused(
            f"the type in {quote_input(chart_yaml_path)} is neither application nor library. Correct it."
        )
    _check_dependencies(metadata, path=chart_yaml_path)
    return metadata


def _check_installable(metadata: JsonObject) -> None:
    if _metadata_text(metadata, "apiVersion", CHART_YAML) not in ("", "v1", "v2"):
        raise archive_refused(f"the apiVersion in {CHART_YAML} is neither v1 nor v2. Use 'apiVersion: v2'.")
    if _metadata_text(metadata, "type", CHART_YAML) == "library":
        raise archive_refused("it is a library chart, which cannot be installed. Deploy a chart of type application.")


def _check_dependencies(metadata: JsonObject, *, path: str) -> None:
    declared = metadata.get("dependencies") or []
    if not isinstance(declared, list) or not all(isinstance(item, dict) for item in declared):
        raise archive_refused(f"the dependencies in {quote_input(path)} are not a list of objects. Correct them.")
    keys: set[str] = set()
    for dependency in items(metadata, "dependencies"):
        name, alias = (_metadata_text(dependency, key, path) for key in ("name", "alias"))
        if alias and not _ALIAS_PATTERN.fullmatch(alias):
            raise archive_refused(
                f"the alias of {quote_input(name)} in {quote_input(path)} has characters other than a-z A-Z 0-9 _ -."
            )
        if (alias or name) in keys:
            raise archive_refused(
                f"{quote_input(path)} has the dependency {quote_input(alias or name)} twice. Give one of them an alias."
            )
        keys.add(alias or name)


def _check_vendored(chart: _InspectedChart) -> tuple[str, ...]:
    """Return the names of the dependencies. Raises ChartInvalid unless charts/ contains all of them."""
    declared = [_metadata_text(dependency, "name", CHART_YAML) for dependency in items(chart.metadata, "dependencies")]
    missing = [name for name in declared if name not in chart.subchart_names]
    if missing:
        raise archive_refused(
            f"its dependencies {format_list(missing, total=len(missing))} are not in its charts/ folder. "
            "Run 'helm dependency update' and pack the chart again."
        )
    return tuple(declared)


def _read_values_schema(content: bytes | None, *, prefix: str) -> tuple[JsonObject | None, bool]:
    if not content:
        return None, False
    try:
        schema, external_refs = _decode_schema(content)
    except (ValueError, RecursionError):
        raise archive_refused(f"{quote_input(prefix + VALUES_SCHEMA)} is not JSON. Correct it.") from None
    return (schema if isinstance(schema, dict) else None), external_refs


def _decode_schema(data: bytes) -> tuple[Json, bool]:
    """Return the decoded schema, and whether anything in it refers to another document.

    Helm fetches what a `$ref` in values.schema.json names, over HTTP or from its own disk, and also a `$schema` that is
    not a published draft. A chart from a third party must not trigger this, so Helm then runs without the schemas.
    Every member of an object counts, even one that a duplicate key hides: parsers differ in which one they keep.
    Raises ValueError when the data is not JSON, RecursionError when it is nested too deeply.
    """
    has_external_refs = False

    def pairs(members: list[tuple[str, Json]]) -> JsonObject:
        nonlocal has_external_refs
        has_external_refs = has_external_refs or any(_is_external(key, value) for key, value in members)
        return dict(members)

    schema = decode_json(data, encoding="utf-8-sig", pairs=pairs)
    return schema, has_external_refs


def _is_external(key: str, value: Json) -> bool:
    if not isinstance(value, str):
        return False
    if key in _REFERENCE_KEYS:
        return not value.startswith("#")
    return key == "$schema" and not _KNOWN_DRAFT.fullmatch(value)


def _load_yaml(content: bytes, *, path: str, limits: ArchiveLimits) -> JsonObject:
    try:
        return load_values(content, source=quote_input(path)[1:-1], max_bytes=limits.document_bytes, repeated_keys=True)
    except ValuesInvalid as error:
        raise archive_refused(error.message) from None


def _metadata_text(metadata: JsonObject, key: str, path: str) -> str:
    """Return a string of Chart.yaml; a number or a boolean is converted as in Helm."""
    value: Json = metadata.get(key)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        raise archive_refused(f"{quote_input(key)} in {quote_input(path)} is not a string. Correct it.")
    return value
