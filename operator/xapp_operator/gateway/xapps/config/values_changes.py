"""Changes of the values of an xApp: upgrades that touch `spec.values` and the text that is kept of it only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, encode_json, obj
from xapp_operator.domain.chart_values.values import equal_values, merge_values
from xapp_operator.domain.control_characters import require_plain_values
from xapp_operator.domain.masking.redaction import unmask
from xapp_operator.errors import Conflict, ContentTooLarge
from xapp_operator.gateway.deploy.deployer import Deployer
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp
from xapp_operator.gateway.deploy.values_input import SentValues, kept_text_of
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.release.dry_runs import describe_upgrade

CHANGE_ATTEMPTS: Final = 5

ValuesChange = Callable[[JsonObject], SentValues]
"""Returns the new values for the current ones; masks in values without a text stand for the values that they hide."""


@dataclass(frozen=True, slots=True)
class ChangeArguments:
    """What a change of values needs: who writes it, the limit of values in bytes, and what the client expects."""

    deployer: Deployer
    max_bytes: int
    expected: ExpectedXApp


async def change_values(context: XAppContext, change: ValuesChange, arguments: ChangeArguments) -> JsonObject:
    """Write the changed values of an XApp; return it as stored, also when the values stay the same.

    When another client changes the XApp at the same time, `change` is applied again to the new version.

    Raises:
        ValuesInvalid: when the chart's schema refuses the values, or a mask hides no value.
        ContentTooLarge: when the values have more than `max_bytes`.
        PreconditionFailed: when the XApp is not the `expected` one.
        Conflict: when the XApp is being deleted, or changes again and again.
        XAppError: as `Deployer.replace_values`.
    """
    for _ in range(CHANGE_ATTEMPTS):
        current = await _get_changeable_xapp(context, arguments.expected)
        values = await _changed_values(current, change, max_bytes=arguments.max_bytes)
        if values is None:
            return current
        try:
            return await arguments.deployer.replace_values(context.caller, current, values)
        except Conflict:
            continue
    raise Conflict(f"other clients keep changing the xApp {context.entry.name}: send the request again")


async def preview_values_change(context: XAppContext, change: ValuesChange, arguments: ChangeArguments) -> bytes:
    """Return as JSON what `change_values` would do to the objects of the release. Raises as `change_values`."""
    current = await _get_changeable_xapp(context, arguments.expected)
    current_values = obj(obj(current, "spec"), "values")
    new_values = await _changed_values(current, change, max_bytes=arguments.max_bytes)
    sent = SentValues(current_values, kept_text=kept_text_of(current)) if new_values is None else new_values
    rendered = await arguments.deployer.preview_values(context.caller, current, sent)
    return await describe_upgrade(context.caller.client, context.entry, rendered, known=(sent.values, current_values))


async def _changed_values(current: JsonObject, change: ValuesChange, *, max_bytes: int) -> SentValues | None:
    """Return the new values, or None when neither they nor their text are different from the current ones."""
    current_values = obj(obj(current, "spec"), "values")

    def apply() -> SentValues | None:
        # The merge refuses values that are nested too deeply for the steps below; kubectl may have written such values.
        known = merge_values(current_values)
        sent = change(known)
        if sent.text is None:
            sent = SentValues(merge_values(unmask(sent.values, known)))
            require_plain_values(sent.values)
        if len(encode_json(sent.values)) > max_bytes:
            message = f"would have more than {max_bytes:,} bytes, the limit for values: remove some of them"
            raise ContentTooLarge.for_field("values", message, subject="the values")
        same_text = sent.text is None or sent.kept_text == kept_text_of(current)
        return None if same_text and equal_values(sent.values, current_values) else sent

    return await asyncio.to_thread(apply)


async def _get_changeable_xapp(context: XAppContext, expected: ExpectedXApp) -> JsonObject:
    current = await context.get_xapp()
    expected.require(current)
    if "deletionTimestamp" in obj(current, "metadata"):
        raise Conflict(f"the xApp {context.entry.name} is being deleted: deploy it again when it is gone")
    return current
