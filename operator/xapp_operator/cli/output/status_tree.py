"""One xApp as a tree: its state, the step it is at, its objects, pods and containers, and what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.text import Text

from xapp_operator.api.json import JsonObject, integer, items, obj, text
from xapp_operator.cli.output.styles import MARK_OF_HEALTH, STYLE_OF_HEALTH, STYLE_OF_PHASE
from xapp_operator.cli.output.visible_text import on_one_line

STEPS: Final = {
    "queued": "waiting to begin",
    "chart": "getting the chart",
    "render": "rendering the chart",
    "helm": "running helm",
    "objects": "waiting for its objects",
    "ready": "done",
}
HEALTHY_SHOWN_MAX: Final = 30
"""Healthy objects that are shown one by one."""
_BRANCH, _LAST = "├─ ", "└─ "
_THROUGH, _BLANK = "│  ", "   "

Node = tuple[Text, list["Node"]]


def status_tree(record: JsonObject, health: JsonObject | None) -> list[Text]:
    """Return the lines of the tree.

    Args:
        record: the xApp as the gateway shows it.
        health: its health report, if that is known.
    """
    lines = [_heading(record)]
    children = _steps(record)
    if message := text(record, "message"):
        children.append((Text(on_one_line(message), style="" if record.get("ready") is True else "bold"), []))
    children += _side_notes(record)
    if health is not None:
        children += _objects(health)
    return [*lines, *_lines(children, "")]


def culprit(record: JsonObject, health: JsonObject | None) -> str:
    """Return what is wrong with an xApp, in one sentence."""
    reasons = [text(record, "message")]
    for pod in items(health, "pods"):
        for container in items(pod, "containers"):
            if container.get("ready") is not True and text(container, "reason"):
                detail = text(container, "message")
                what = f"pod {text(pod, 'name')}, container {text(container, 'name')}: {text(container, 'reason')}"
                reasons.append(f"{what}{f': {detail}' if detail else ''}")
    return next((reason for reason in reasons if reason), "no reason is known yet")


def _heading(record: JsonObject) -> Text:
    phase, health = text(record, "phase"), text(record, "health")
    line = Text().append(on_one_line(f"{text(record, 'namespace')}/{text(record, 'name')}"), style="bold")
    line.append("  ").append(on_one_line(phase), style=STYLE_OF_PHASE.get(phase, ""))
    line.append("  ").append(on_one_line(health), style=STYLE_OF_HEALTH.get(health, ""))
    release = obj(record, "release")
    if release.get("revision") is not None:
        chart = f"{text(release, 'chart')} {text(release, 'chartVersion')}".strip()
        line.append(
            on_one_line(f"  revision {integer(release, 'revision')}{f' of {chart}' if chart else ''}"), style="dim"
        )
    return line


def _steps(record: JsonObject) -> list[Node]:
    step = text(obj(record, "progress"), "step")
    label = "stopped while " if record.get("stalled") is True else "step: "
    return [] if step in {"", "ready"} else [_node(label, STEPS.get(step, step))]


def _side_notes(record: JsonObject) -> Iterator[Node]:
    """Return what Ready does not depend on, but a person wants to know: drift, and tests that failed."""
    for condition in items(record, "conditions"):
        kind, status, message = (text(condition, key) for key in ("type", "status", "message"))
        if kind == "Drifted" and status in {"True", "Unknown"}:
            yield _node("drifted: " if status == "True" else "drift is not known: ", message)
        elif kind == "TestSuccess" and status == "False":
            yield _node("tests failed: ", message)


def _objects(health: JsonObject) -> list[Node]:
    resources = items(health, "resources")
    pods = items(health, "pods")
    unhealthy = [each for each in resources if text(each, "status") != "Healthy"]
    healthy = [each for each in resources if text(each, "status") == "Healthy"]
    nodes = [_resource(each, pods) for each in [*unhealthy, *healthy[:HEALTHY_SHOWN_MAX]]]
    if len(healthy) > HEALTHY_SHOWN_MAX:
        nodes.append(_node("", f"{len(healthy) - HEALTHY_SHOWN_MAX} more are healthy"))
    shown = {(text(each, "kind"), text(each, "name")) for each in resources}
    orphans = [pod for pod in pods if _owner(pod) not in shown and ("Pod", text(pod, "name")) not in shown]
    return [*nodes, *(_pod(pod) for pod in orphans)]


def _resource(resource: JsonObject, pods: list[JsonObject]) -> Node:
    kind, name, status = text(resource, "kind"), text(resource, "name"), text(resource, "status")
    message = "" if status == "Healthy" else text(resource, "message")
    own = [pod for pod in pods if _owner(pod) == (kind, name) or (kind, name) == ("Pod", text(pod, "name"))]
    return _marked(f"{kind} {name}", status, message), [_pod(pod) for pod in own]


def _pod(pod: JsonObject) -> Node:
    ready = pod.get("ready") is True
    restarts = integer(pod, "restarts")
    facts = [text(pod, "phase"), f"{restarts} restart{'' if restarts == 1 else 's'}" if restarts else ""]
    label = f"pod {text(pod, 'name')}"
    line = _marked(label, "Healthy" if ready else "Progressing", ", ".join(fact for fact in facts if fact))
    bad = [each for each in items(pod, "containers") if each.get("ready") is not True and text(each, "reason")]
    return line, [_container(each) for each in bad if text(each, "reason") != "Completed"]


def _container(container: JsonObject) -> Node:
    code = container.get("exitCode")
    reason = text(container, "reason")
    facts = [f"{reason}{f' (exit code {code})' if code is not None else ''}", text(container, "message")]
    return _marked(f"container {text(container, 'name')}", "Degraded", ": ".join(fact for fact in facts if fact)), []


def _owner(pod: JsonObject) -> tuple[str, str]:
    owner = obj(pod, "owner")
    return text(owner, "kind"), text(owner, "name")


def _marked(label: str, status: str, message: str) -> Text:
    style = STYLE_OF_HEALTH.get(status, "")
    line = Text().append(f"{MARK_OF_HEALTH.get(status, '?')} ", style=style).append(on_one_line(label))
    if message:
        line.append(on_one_line(f"  {message}"), style=style)
    return line


def _node(label: str, value: str) -> Node:
    return Text(on_one_line(f"{label}{value}")), []


def _lines(nodes: list[Node], indent: str) -> Iterator[Text]:
    for index, (line, children) in enumerate(nodes):
        is_last = index == len(nodes) - 1
        yield Text().append(indent + (_LAST if is_last else _BRANCH), style="dim").append_text(line)
        yield from _lines(children, indent + (_BLANK if is_last else _THROUGH))
