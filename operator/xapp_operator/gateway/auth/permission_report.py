"""Which actions a caller may do, and which rights they lack for the others."""

from __future__ import annotations

from typing import Final

from xapp_operator.common.fair_slots import FairSlots
from xapp_operator.common.parallel import run_parallel
from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.errors import MissingRight
from xapp_operator.gateway.auth.actions import Action, Permission, needed_permissions
from xapp_operator.gateway.auth.callers import Caller

REPORTED_REVIEWS_MAX: Final = 16
"""Reviews of reports at a time in one gateway, shared fairly by caller: one request asks for some dozens."""
REVIEWS_PER_REQUEST: Final = 8
"""Of them, for one request."""


class PermissionReporter:
    """Reports rights from the reviews that routes use too, so that both always agree."""

    def __init__(self) -> None:
        self._slots = FairSlots(REPORTED_REVIEWS_MAX)

    async def missing_by_action(
        self, caller: Caller, *, namespace: str | None, name: str | None
    ) -> dict[Action, tuple[MissingRight, ...]]:
        """Return the rights that the caller lacks for each action, none if they may do it.

        Args:
            caller: who asks.
            namespace: where; None means in all namespaces.
            name: the xApp that the actions are about; None means any.

        Raises:
            Unauthenticated: when the API server does not accept the token.
            ApiUnavailable: when it does not respond.
        """
        needed = {action: needed_permissions(action, namespace=namespace, name=name) for action in Action}
        unique = dict.fromkeys(permission for permissions in needed.values() for permission in permissions)
        denied = await self.denied_of(caller, *unique)
        return {
            action: tuple(permission.as_missing() for permission in permissions if permission in denied)
            for action, permissions in needed.items()
        }

    async def denied_of(self, caller: Caller, *permissions: Permission) -> frozenset[Permission]:
        """Return those of many permissions that the caller does not have. Raises as `missing_by_action`."""
        share = group_of_user(caller.user)

        async def review(permission: Permission) -> bool:
            async with self._slots.slot(share):
                return await caller.allows(permission)

        allowed = await run_parallel(review, permissions, at_once=REVIEWS_PER_REQUEST)
        return frozenset(each for each, is_allowed in zip(permissions, allowed, strict=True) if not is_allowed)
