"""Write the pages of `docs/reference/` from the sources into the folder given as the argument (`make reference`)."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import yaml
from markdown_lines import cell, head, one_line, table
from prometheus_client.metrics import MetricWrapperBase
from pydantic.fields import FieldInfo
from rest_reference import rest_pages

from xapp_operator.api import conditions
from xapp_operator.config.command_line import VARIABLES
from xapp_operator.config.settings import Settings
from xapp_operator.label_sets import LabelSet
from xapp_operator.telemetry.metrics import Metrics

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "operator" / "xapp_operator"
MACHINE_DEPENDENT_SETTINGS = {"cache_dir"}
"""Their default depends on the machine, so their text describes it."""
BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def main() -> None:
    """Write every page."""
    (folder,) = sys.argv[1:]
    for name, lines in pages().items():
        (Path(folder) / name).write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def pages() -> dict[str, list[str]]:
    """Return the lines of each page, by the name of its file."""
    return {
        "conditions.md": _conditions_page(),
        "metrics.md": _metrics_page(),
        "resources.md": _resources_page(),
        "settings.md": _settings_page(),
        **rest_pages(),
    }


# Texts below names


def _documented_names(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, int]]:
    """Yield the name, the text below it, and the line of each assignment of a module or class."""
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign):
            target: ast.expr = statement.target
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
        else:
            continue
        text = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = str(following.value.value)
        if isinstance(target, ast.Name):
            yield target.id, _from_reference(text), statement.lineno


def _from_reference(text: str) -> str:
    return re.sub(r"\]\((?=[\w-]+\.md)", "](../", " ".join(text.split()))


def _class_body(module: ast.Module, name: str) -> list[ast.stmt]:
    return next(node.body for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)


# Conditions


def _conditions_page() -> list[str]:
    module = ast.parse((SOURCES / "api" / "conditions.py").read_text(encoding="utf-8"))
    types = [(name, text) for name, text, _ in _documented_names(module.body) if text]
    lines = head(
        "Conditions and reasons",
        source="operator/xapp_operator/api/conditions.py",
        text="The operator reports the state of an XApp as conditions, as kstatus describes them. Scripts should use "
        "conditions, not the phase. [Check the status](../user-guide.md#check-the-status) explains phases and steps.",
    )
    lines += ["## Conditions", ""]
    lines += table(("condition", "meaning"), [(f"`{getattr(conditions, name)}`", text) for name, text in types])
    lines += ["## Reasons", "", "The `reason` of a condition says what happened, and its `message` the details.", ""]
    lines += _reasons_table(module, conditions.Reason)
    lines += ["## Reasons of a ChartRepository", ""]
    lines += [
        "A ChartRepository has `Ready`: whether the repository could be read the last time. If not, it also has "
        "`Reconciling`, or `Stalled` if somebody must change something. If it is Reconciling, the operator looks again "
        "with increasing pauses, of at most 5 minutes and at most `spec.interval`. Otherwise it looks again after each "
        "`spec.interval`.",
        "",
    ]
    return lines + _reasons_table(module, conditions.RepositoryReason)


def _reasons_table(module: ast.Module, reasons: type[StrEnum]) -> list[str]:
    texts = {name: text for name, text, _ in _documented_names(_class_body(module, reasons.__name__))}
    rows = [(f"`{each.value}`", texts[each.name]) for each in reasons]
    return table(("reason", "what it means, and what to do"), rows)


# Settings


def _settings_page() -> list[str]:
    source = (SOURCES / "config" / "settings.py").read_text(encoding="utf-8")
    module = ast.parse(source)
    of_commands = ast.parse((SOURCES / "config" / "command_line.py").read_text(encoding="utf-8"))
    lines = head(
        "Settings",
        source="operator/xapp_operator/config",
        text="Operator and gateway read these environment variables. Durations are in seconds, sizes in bytes. Lists "
        "are comma-separated. If a value is invalid, the process prints the name of the variable and the rule, and "
        "does not start. The [operations guide](../operations.md#settings) explains how they work together.",
    )
    headings = {number: line[6:] for number, line in enumerate(source.splitlines(), 1) if line.startswith("    # ")}
    group: list[tuple[str, str, str, str]] = []
    for name, text, line in _documented_names(_class_body(module, "Settings")):
        if name not in Settings.model_fields:
            continue
        if line - 1 in headings:
            lines += [*_settings_table(group), f"## {headings[line - 1]}", ""]
            group = []
        group.append(_setting(name, Settings.model_fields[name], text))
    lines += [*_settings_table(group), "## Command line", "", "The command line `xapp` reads these variables.", ""]
    texts = {name: text for name, text, _ in _documented_names(_class_body(of_commands, "CommandLineSettings"))}
    return lines + table(
        ("variable", "meaning"), [(f"`{names[-1]}`", texts[name]) for name, names in VARIABLES.items()]
    )


def _settings_table(group: Sequence[tuple[str, str, str, str]]) -> list[str]:
    return table(("variable", "default", "allowed", "meaning"), group) if group else []


def _setting(name: str, field: FieldInfo, text: str) -> tuple[str, str, str, str]:
    if not text:
        raise SystemExit(f"config/settings.py: {name} has no text")
    default = "" if name in MACHINE_DEPENDENT_SETTINGS else _default(field.default)
    return f"`{_variable(name, field)}`", f"`{default}`" if default else "", _allowed(field), text


def _variable(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    if alias is None:
        return f"XAPP_{name.upper()}"
    return alias if isinstance(alias, str) else str(alias.choices[-1])  # type: ignore[union-attr]


def _default(value: object) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        listed = ",".join(map(str, value))
        return f"[{listed}]" if isinstance(value[0], LabelSet) else listed
    return str(value)


def _allowed(field: FieldInfo) -> str:
    if field.annotation is bool:
        return "`true`, `false`"
    choices = [choice for choice in get_args(field.annotation) if isinstance(choice, str)]
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    bounds = [
        (sign, getattr(each, name)) for each in field.metadata for name, sign in BOUNDS.items() if hasattr(each, name)
    ]
    return ", ".join(f"{sign} {value}" for sign, value in bounds)


# Metrics


def _metrics_page() -> list[str]:
    metrics = [each for each in vars(Metrics()).values() if isinstance(each, MetricWrapperBase)]
    rows = [
        (
            f"`{family.name}{'_total' if family.type == 'counter' else ''}`",
            family.type,
            _labels(each),
            family.documentation,
        )
        for each in metrics
        for family in each.describe()
    ]
    lines = head(
        "Metrics",
        source="operator/xapp_operator/telemetry/metrics.py",
        text="Operator and gateway serve these Prometheus metrics at `/metrics`. "
        "[Monitor](../operations.md#monitor) says where, and which alerts are useful.",
    )
    lines += table(("metric", "type", "labels", "meaning"), sorted(rows))
    return [*lines, "Each process also serves the usual metrics of a process, such as `process_resident_memory_bytes`."]


def _labels(metric: MetricWrapperBase) -> str:
    return ", ".join(f"`{name}`" for name in metric._labelnames)


# Custom resources


def _resources_page() -> list[str]:
    lines = head(
        "Custom resources",
        source="crds/",
        text="The API group is `xapp-operator.io`, the version `v1alpha1`. The API server checks all of these rules. "
        "`kubectl explain` shows the same texts, for example `kubectl explain xapp.spec.archive`.",
    )
    for path in sorted((ROOT / "crds").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document["kind"] == "CustomResourceDefinition":
                lines += _resource(document["spec"])
    return lines


def _resource(spec: Mapping[str, Any]) -> list[str]:
    names, schema = spec["names"], spec["versions"][0]["schema"]["openAPIV3Schema"]
    lines = [f"## {names['kind']}", "", one_line(schema.get("description", "")), ""]
    lines += [f"Plural: `{names['plural']}`, short: {', '.join(f'`{name}`' for name in names['shortNames'])}.", ""]
    for part in ("spec", "status"):
        field = schema["properties"].get(part)
        if field:
            lines += [f"### {part} of {names['kind']}", "", one_line(field.get("description", "")), ""]
            lines += table(("field", "type", "default", "meaning and rules"), _fields(field, prefix=""))
    rules = [f"- {cell(rule)}" for rule in [*_messages(schema), *_messages(schema["properties"].get("spec", {}))]]
    return [*lines, f"### Rules of {names['kind']}", "", *rules, ""] if rules else lines


def _fields(schema: Mapping[str, Any], *, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        default = f"`{json.dumps(field['default'])}`" if "default" in field else ""
        text = one_line(field.get("description", ""))
        rules = [*_bounds(field), *(_sentence(message) for message in _messages(field))]
        kind = _kind(field) + (", required" if name in required else "")
        yield f"`{path}`", kind, default, " ".join([text, *rules])
        yield from _fields(field, prefix=f"{path}.")
        if isinstance(field.get("items"), dict):
            yield from _fields(field["items"], prefix=f"{path}[].")


def _kind(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_kind(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def _bounds(schema: Mapping[str, Any]) -> list[str]:
    words = {"maxLength": "At most {} characters.", "maxItems": "At most {} items.", "pattern": "Pattern: `{}`."}
    words |= {"minimum": "At least {}.", "maximum": "At most {}."}
    found = [text.format(schema[key]) for key, text in words.items() if key in schema]
    choices = ", ".join(f"`{choice}`" for choice in schema.get("enum", ()))
    return [*found, f"One of {choices}."] if choices else found


def _messages(schema: Mapping[str, Any]) -> list[str]:
    return [one_line(rule["message"]) for rule in schema.get("x-kubernetes-validations", ()) if "message" in rule]


# REST


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


if __name__ == "__main__":
    main()
