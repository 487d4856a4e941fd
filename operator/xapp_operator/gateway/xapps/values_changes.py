"""Changes of the values of an xApp: upgrades that touch `spec.values` and the text that is kept of it only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from xapp_operator.api.json import JsonObject, encode_json, obj
from xapp_operator.domain.control_characters import require_plain_values
from xapp_operator.domain.redaction import secret_texts, unmask
from xapp_operator.domain.values import equal_values, merge_values
from xapp_operator.errors import AccessDenied, Conflict, ContentTooLarge
from xapp_operator.gateway.deploy.deployer import Deployer
from xapp_operator.gateway.deploy.preconditions import ExpectedGeneration
from xapp_operator.gateway.deploy.values_input import SentValues, kept_text_of
from xapp_operator.gateway.xapps.context import XAppContext
from xapp_operator.gateway.xapps.manifest_diff import manifest_diff
from xapp_operator.gateway.xapps.release_records import get_deployed_release
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes

CHANGE_ATTEMPTS: Final = 5
NO_DIFF_WARNING: Final = "there is no diff, because you may not read the deployed release (get secrets)"

ValuesChange = Callable[[JsonObject], SentValues]
"""Returns the new values for the current ones; masks in values without a text stand for the values that they hide."""


async def change_values(
    context: XAppContext,
    change: ValuesChange,
    *,
    deployer: Deployer,
    max_bytes: int,
    expected: ExpectedGeneration,
) -> JsonObject:
    """Write the changed values of an XApp; return it as stored, also when the values stay the same.

    When another client changes the XApp at the same time, `change` is applied again to the new version.

    Raises:
        ValuesInvalid: when the chart's schema refuses the values, or a mask hides no value.
        ContentTooLarge: when the values have more than `max_bytes`.
        PreconditionFailed: when the XApp has not the generation `expected`.
        Conflict: when the XApp is being deleted, or changes again and again.
        XAppError: as `Deployer.replace_values`.
    """
    for _ in range(CHANGE_ATTEMPTS):
        current = await _get_changeable_xapp(context, expected)
        values = await _changed_values(current, change, max_bytes=max_bytes)
        if values is None:
            return current
        try:
            return await deployer.replace_values(context.caller, current, values)
        except Conflict:
            continue
    raise Conflict(f"other clients keep changing the xApp {context.entry.name}: send the request again")


async def preview_values_change(
    context: XAppContext,
    change: ValuesChange,
    *,
    deployer: Deployer,
    max_bytes: int,
    expected: ExpectedGeneration,
) -> JsonObject:
    """Return what `change_values` would do to the objects of the release. Raises as `change_values`."""
    current = await _get_changeable_xapp(context, expected)
    current_values = obj(obj(current, "spec"), "values")
    new_values = await _changed_values(current, change, max_bytes=max_bytes)
    sent = SentValues(current_values, kept_text=kept_text_of(current)) if new_values is None else new_values
    values = sent.values
    rendered = await deployer.preview_values(context.caller, current, sent)
    release, readable = None, True
    try:
        release = await get_deployed_release(context.caller.client, context.entry)
    except AccessDenied:
        readable = False

    def compare() -> JsonObject:
        known = [
            values,
            current_values,
            rendered.values,
            *((release.chart.values, release.config) if release is not None else ()),
        ]
        secrets = frozenset[str]().union(*map(secret_texts, known))
        deployed_manifest = "" if release is None else release.manifest
        return {
            "diff": manifest_diff(deployed_manifest, rendered.manifest, secrets=secrets) if readable else None,
            "manifest": mask_manifest(rendered.manifest, secrets=secrets),
            "warnings": [
                *(mask_notes(warning, secrets=secrets) for warning in rendered.warnings),
                *(() if readable else (NO_DIFF_WARNING,)),
            ],
        }

    return await asyncio.to_thread(compare)


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


async def _get_changeable_xapp(context: XAppContext, expected: ExpectedGeneration) -> JsonObject:
    current = await context.get_xapp()
    expected.require(current)
    if "deletionTimestamp" in obj(current, "metadata"):
        raise Conflict(f"the xApp {context.entry.name} is being deleted: deploy it again when it is gone")
    return current
