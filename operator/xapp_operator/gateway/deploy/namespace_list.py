"""The namespaces that a caller can choose for an action, such as a deployment.

Their names come from the lists in memory, as far as the caller may list xApps there, and from the cluster, if the
caller may list namespaces: with their own token, kept for some seconds. Whether any other namespace exists is told only
to callers who may get the namespace, or deploy into it: they would find out by deploying.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from sys import intern
from typing import Final, NamedTuple

import orjson
from cachetools import LRUCache, TTLCache

from xapp_operator.api.json import obj, text
from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.config.settings import Settings
from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.errors import AccessDenied
from xapp_operator.gateway.auth.actions import NEEDED_RIGHTS, Action, Permission, Right, needed_permissions
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.auth.identities import token_digest
from xapp_operator.gateway.auth.permission_report import PermissionReporter
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.catalog.records import XAppEntry
from xapp_operator.gateway.deploy.namespaces import XAppNamespaces
from xapp_operator.gateway.http.requests.validation import is_dns_label
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NAMESPACES

NAMES_MAX: Final = 10_000
"""Namespaces of one cluster that are listed; others are found by their whole name."""
NAMES_SECONDS: Final = 10.0
NAMES_CACHE_SIZE: Final = 64
LISTS_AT_A_TIME: Final = 4
"""Lists of all namespaces that are read at a time, shared fairly by caller."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamespaceChoice:
    """One namespace. `exists` is None if the caller may not know, `xapps` if they may not list xApps there."""

    name: str
    exists: bool | None
    allowed: bool
    xapps: int | None

    def to_json(self) -> bytes:
        return orjson.dumps(self)


@dataclass(frozen=True, slots=True)
class NamespaceMatches:
    """The names that a search finds, sorted. The first may be `unlisted`: a name that the caller may not know of."""

    names: Sequence[str]
    unlisted: str | None


class _KnownNames(NamedTuple):
    """The names that one caller may know, and the sets that they were made of."""

    in_memory: frozenset[str]
    within: frozenset[str] | None
    own: Names
    names: Names


class NamespaceList:
    def __init__(self, settings: Settings, *, namespaces: XAppNamespaces, permissions: PermissionReporter) -> None:
        self._served = frozenset(settings.namespaces)
        self._namespaces = namespaces
        self._permissions = permissions
        self._own: TTLCache[bytes, Names] = TTLCache(NAMES_CACHE_SIZE, NAMES_SECONDS)
        self._reads: SingleFlight[bytes, Names] = SingleFlight()
        self._slots = FairSlots(LISTS_AT_A_TIME)
        self._known: LRUCache[bytes, _KnownNames] = LRUCache(NAMES_CACHE_SIZE)

    async def search(self, caller: Caller, store: ObjectStore[XAppEntry], search: str) -> NamespaceMatches:
        """Return the namespaces that the caller may know and whose names contain `search`.

        If `search` is the whole name of another namespace, it comes first, whether or not that exists.

        Raises:
            Unauthenticated: when the API server does not accept the token.
            ApiUnavailable: when it does not respond.
        """
        known, wanted = await self._known_names(caller, store), search.lower()
        if not wanted:
            return NamespaceMatches(known, None)
        found = [name for name in known if wanted in name]
        is_served = not self._served or wanted in self._served
        if wanted in found or not is_served or not is_dns_label(wanted):
            return NamespaceMatches(found, None)
        return NamespaceMatches([wanted, *found], wanted)

    async def describe(
        self,
        caller: Caller,
        store: ObjectStore[XAppEntry],
        names: Sequence[str],
        *,
        action: Action,
        unlisted: str | None,
    ) -> list[NamespaceChoice]:
        """Return what the caller may do in the namespaces `names` of a page. Raises as `search`."""
        needed = (*NEEDED_RIGHTS[action], Right("list"))
        # A right in all namespaces needs no review of each.
        rights = [right for right in needed if not await caller.allows(right.at(None))]
        denied = await self._permissions.denied_of(
            caller, *dict.fromkeys(right.at(name) for right in rights for name in names)
        )
        choices = [
            NamespaceChoice(
                name,
                exists=True,
                allowed=not any(right.at(name) in denied for right in NEEDED_RIGHTS[action]),
                xapps=None if Right("list").at(name) in denied else store.count(name),
            )
            for name in names
        ]
        return [await self._look_up(caller, each) if each.name == unlisted else each for each in choices]

    async def _look_up(self, caller: Caller, choice: NamespaceChoice) -> NamespaceChoice:
        """Return the choice of a namespace that is not listed; it may not exist."""
        knowing = (
            *needed_permissions(Action.DEPLOY, namespace=choice.name),
            Permission("get", choice.name, NAMESPACES),
        )
        if len(await caller.missing(*knowing)) == len(knowing):
            return replace(choice, exists=None)
        if await self._namespaces.exists(choice.name):
            return choice
        creation = needed_permissions(Action.CREATE_NAMESPACE, namespace=choice.name)
        return replace(choice, exists=False, allowed=choice.allowed and not await caller.missing(*creation))

    async def _known_names(self, caller: Caller, store: ObjectStore[XAppEntry]) -> Names:
        """Return all names that the caller may know, sorted again only if one of the sets has changed."""
        in_memory = store.namespaces
        within, own = await caller.allowed_namespaces("list", among=in_memory), await self._own_names(caller)
        digest = token_digest(caller.token)
        last = self._known.get(digest)
        if last is not None and last.in_memory is in_memory and last.within is within and last.own is own:
            return last.names
        names = (in_memory if within is None else in_memory & within) | frozenset(own)
        known = _KnownNames(in_memory, within, own, tuple(sorted(names & self._served if self._served else names)))
        self._known[digest] = known
        return known.names

    async def _own_names(self, caller: Caller) -> Names:
        """Return the namespaces of the cluster, or nothing if the caller may not list them."""
        if not await caller.allows(Permission("list", None, NAMESPACES)):
            return ()
        digest = token_digest(caller.token)
        known = self._own.get(digest)
        if known is not None:
            return known
        share = group_of_user(caller.user)

        async def read() -> Names:
            async with self._slots.slot(share):
                names = self._own[digest] = await _read_names(caller.client)
                return names

        return await self._reads.run(digest, read)


async def _read_names(client: KubeClient) -> Names:
    names: list[str] = []
    try:
        async with aclosing(client.list_pages(NAMESPACES, metadata_only=True)) as pages:
            async for page in pages:
                names += (intern(text(obj(each, "metadata"), "name")) for each in page.items)
                if len(names) >= NAMES_MAX:
                    break
    except AccessDenied:
        return ()  # with XAPP_AUTH=none no right was reviewed
    return tuple(names[:NAMES_MAX])
