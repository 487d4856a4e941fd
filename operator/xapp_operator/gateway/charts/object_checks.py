"""Asks the API server what it would say to the objects of a chart: schema, admission and quota, without a change.

helm's own dry run renders and compares only. Each object is applied as helm would apply it, as a dry run of the caller.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from xapp_operator.api.json import obj, text
from xapp_operator.common.parallel import run_parallel
from xapp_operator.common.text import escape_input, shorten_line
from xapp_operator.errors import AccessDenied, ApiUnavailable, HelmError, KubeError, NotFound
from xapp_operator.helm.manifest import load_documents, split_documents
from xapp_operator.kube.api_errors import MESSAGE_MAX_CHARACTERS
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import Resource
from xapp_operator.kube.transport import ApiResponse

OBJECTS_CHECKED_MAX: Final = 100
CHECKED_AT_ONCE: Final = 4
CHECK_SECONDS: Final = 15.0
OBJECT_BYTES_MAX: Final = 1536 * 1024
"""etcd stores no larger object; helm says so itself."""

_APPLY_HEADERS: Final = {"Content-Type": "application/apply-patch+yaml"}
_APPLY_PARAMS: Final = {"fieldManager": "helm", "force": "true", "dryRun": "All"}
_WARNING_CODE: Final = "299"
"""Of all warnings of the API server."""
_NO_DRY_RUN: Final = "does not support dry run"
"""Of an admission webhook with side effects: the API server refuses every dry run of that kind."""


@dataclass(frozen=True, slots=True)
class _Object:
    api_version: str
    kind: str
    namespace: str
    name: str
    source: bytes = field(repr=False)

    @property
    def title(self) -> str:
        return f"{escape_input(self.kind)} {escape_input(self.name)}"


class _Asked:
    """What the API server has said so far."""

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}
        self.warned: dict[str, tuple[str, ...]] = {}
        self.unknown: Counter[str] = Counter()


async def check_objects(client: KubeClient, manifest: str, *, namespace: str) -> tuple[str, ...]:
    """Return what the API server would refuse or warns of, object by object, and for what it was not asked.

    Args:
        client: the caller's client.
        manifest: rendered objects, without hooks.
        namespace: of objects that name none.
    """
    objects = await asyncio.to_thread(_read_objects, manifest, namespace=namespace)
    asked = _Asked()

    async def check(one: _Object) -> None:
        await _check_object(client, one, asked=asked)

    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await run_parallel(check, objects[:OBJECTS_CHECKED_MAX], at_once=CHECKED_AT_ONCE)
    except (TimeoutError, ApiUnavailable):
        asked.unknown["the API server did not answer in time"] += 1
    skipped = len(objects) - OBJECTS_CHECKED_MAX
    if skipped > 0:
        asked.unknown[f"only the first {OBJECTS_CHECKED_MAX} are checked"] += skipped
    names = dict.fromkeys(one.title for one in objects)
    return (
        *(f"the cluster would refuse {name}: {asked.refused[name]}" for name in names if name in asked.refused),
        *(f"the cluster warns of {name}: {each}" for name in names for each in asked.warned.get(name, ())),
        *(
            f"the cluster was not asked about {count} object{'' if count == 1 else 's'}: {reason}"
            for reason, count in sorted(asked.unknown.items())
        ),
    )


def _read_objects(manifest: str, *, namespace: str) -> list[_Object]:
    """Return the objects of a manifest, without lists, which are rare, and objects that helm would refuse."""
    found: list[_Object] = []
    for source in split_documents(manifest):
        try:
            document = next(load_documents(source), {}) if len(source) <= OBJECT_BYTES_MAX else {}
        except HelmError:
            continue
        metadata = obj(document, "metadata")
        one = _Object(
            api_version=text(document, "apiVersion"),
            kind=text(document, "kind"),
            namespace=text(metadata, "namespace") or namespace,
            name=text(metadata, "name"),
            source=source.encode("utf-8", "replace"),
        )
        if one.kind and one.name:
            found.append(one)
    return found


async def _check_object(client: KubeClient, one: _Object, *, asked: _Asked) -> None:
    try:
        resource = await client.discovery.resource_for(api_version=one.api_version, kind=one.kind)
        path = resource.path(namespace=one.namespace, name=one.name)
        answer = await client.request_bytes(
            "PATCH", path, params=_APPLY_PARAMS, headers=_APPLY_HEADERS, body=one.source
        )
        asked.warned[one.title] = tuple(dict.fromkeys(_warnings_of(answer)))
    except AccessDenied as error:
        if error.missing:
            asked.unknown[_missing_right(resource, one)] += 1
        else:
            asked.refused[one.title] = error.message
    except NotFound:
        return  # the namespace is created with the deployment, or the kind by the chart
    except ApiUnavailable:
        raise
    except KubeError as error:
        if _NO_DRY_RUN not in error.message:
            asked.refused[one.title] = error.message


def _warnings_of(answer: ApiResponse) -> Iterator[str]:
    """Yield what the API server warns of: `299 - "text"` (RFC 7234, 5.5)."""
    for name, value in answer.headers.items():
        code, _, rest = value.partition(" ")
        _, _, quoted = rest.partition(" ")
        if name.lower() == "warning" and code == _WARNING_CODE:
            yield shorten_line(quoted[1:-1].replace('\\"', '"'), MESSAGE_MAX_CHARACTERS)


def _missing_right(resource: Resource, one: _Object) -> str:
    place = f"in the namespace {escape_input(one.namespace)}" if resource.namespaced else "in the cluster"
    return f"you may not patch or create {resource.group_resource} {place}"
