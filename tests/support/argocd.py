"""Runs the scripts of manifests/argocd as Argo CD does: in Lua 5.1, with few libraries and the object in `obj`."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import yaml
from lupa.lua51 import LuaRuntime, lua_type  # type: ignore[import-untyped]

MANIFEST: Final = Path(__file__).parents[2] / "manifests" / "argocd" / "argocd-cm.yaml"
_MISSING_LIBRARIES: Final = ("coroutine", "debug", "io", "math", "string")

Body = dict[str, Any]


def run_health_check(kind: str, body: Body) -> dict[str, str]:
    """Return status and message of an object."""
    return cast("dict[str, str]", _run(_setting("health", kind), body))


def list_actions(body: Body) -> dict[str, dict[str, Any]]:
    """Return the actions on an XApp by name, each with `disabled` and `displayName`."""
    return cast("dict[str, dict[str, Any]]", _run(_actions()["discovery.lua"], body))


def run_action(name: str, body: Body) -> Body:
    """Return the XApp as an action changes it. Argo CD sends the difference as a merge patch.

    Raises lupa.LuaError when the script refuses.
    """
    (script,) = (each["action.lua"] for each in _actions()["definitions"] if each["name"] == name)
    return cast("Body", _like(_run(script, body), body))


def defined_actions() -> list[str]:
    """Return the names of the actions that have a script."""
    return [each["name"] for each in _actions()["definitions"]]


def _setting(what: str, kind: str) -> str:
    settings: dict[str, str] = yaml.safe_load(MANIFEST.read_text())["data"]
    return settings[f"resource.customizations.{what}.xapp-operator.io_{kind}"]


def _actions() -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load(_setting("actions", "XApp")))


def _run(script: str, body: Body) -> Any:
    lua = LuaRuntime()
    lua.execute("getmetatable('').__index = nil")
    variables = lua.globals()
    for library in _MISSING_LIBRARIES:
        variables[library] = None
    variables.os = lua.table_from({"date": _date})
    variables.obj = lua.table_from(copy.deepcopy(body), recursive=True)
    return _to_python(lua.execute(script))


def _date(form: str) -> str:
    assert form.startswith("!"), "local time differs between the replicas of Argo CD"
    return datetime.now(UTC).strftime(form[1:])


def _to_python(value: Any) -> Any:
    if lua_type(value) != "table":
        return value
    keys = list(value)
    if keys == list(range(1, len(keys) + 1)):
        return [_to_python(value[key]) for key in keys]
    return {key: _to_python(value[key]) for key in keys}


def _like(value: Any, before: Any) -> Any:
    """Return an empty list as the object that it was before: Lua knows no difference."""
    if isinstance(value, dict) and isinstance(before, dict):
        return {key: _like(each, before.get(key)) for key, each in value.items()}
    if isinstance(value, list) and isinstance(before, list):
        return [_like(*pair) for pair in zip(value, before, strict=True)]
    return before if value == [] and before == {} else value
