"""What `If-Match` of requests that change an XApp expects, and patches of the version of an XApp that it expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.errors import Conflict
from xapp_operator.gateway.http.requests.preconditions import WRITE_ATTEMPTS, ExpectedUid, ExpectedVersion, ObjectTerms
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS

_TERMS: Final = ObjectTerms("xApp", deleted="uninstalled", created="deployed")


@dataclass(frozen=True, slots=True)
class ExpectedXApp(ExpectedVersion):
    """The XApp that a change is meant for."""

    TERMS: ClassVar[ObjectTerms] = _TERMS


@dataclass(frozen=True, slots=True)
class ExpectedXAppUid(ExpectedUid):
    """The uid that an XApp must have to be deleted."""

    TERMS: ClassVar[ObjectTerms] = _TERMS


ANY_XAPP: Final = ExpectedXApp()


async def patch_xapp(
    client: KubeClient,
    *,
    namespace: str,
    name: str,
    expected: ExpectedXApp,
    change: Callable[[JsonObject], JsonObject],
) -> JsonObject:
    """Apply a merge patch to the version of an XApp that it was made for, and return the XApp as stored.

    Args:
        client: the caller's.
        namespace: of the XApp.
        name: of the XApp.
        expected: what it must be.
        change: returns the patch for the current XApp, or raises.

    Raises:
        NotFound: when there is no such XApp.
        PreconditionFailed: when it is not the expected one.
        Conflict: when other clients change it again and again.
    """
    for _ in range(WRITE_ATTEMPTS):
        current = await client.get(XAPPS, name, namespace=namespace)
        expected.require(current)
        patch = change(current)
        version = text(obj(current, "metadata"), "resourceVersion")
        patch = {**patch, "metadata": {**obj(patch, "metadata"), "resourceVersion": version}}
        try:
            return await client.patch(XAPPS, name, patch, namespace=namespace)
        except Conflict:
            continue
    raise Conflict(f"other clients keep changing the xApp {name}: send the request again")
