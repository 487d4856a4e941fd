"""Another client changes an xApp after the gateway has read it, and before it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Response, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, values_text, write_values
from tests.support.apiserver import XAPPS, ApiServer
from tests.support.xapps import XAppClient
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS as XAPP_RESOURCE

NAME = "acme-ran-hello"


@contextmanager
def changed_before_the_write(api: ApiServer, namespace: str, **spec: object) -> Iterator[None]:
    """The spec changes between the gateway's next read and its write. The API server refuses the write."""
    left = [spec]
    original = KubeClient.replace

    async def replace(self: KubeClient, resource: object, *args: object, **options: object) -> object:
        if resource == XAPP_RESOURCE and left:
            api.patch(f"{XAPPS.format(namespace)}/{NAME}", {"spec": left.pop()})
        return await original(self, resource, *args, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KubeClient, "replace", replace)
        yield
    assert not left, "nothing was written"


def is_upgrade(response: Response) -> bool:
    return response.request.method == "PUT"


def test_a_change_at_the_very_moment_of_a_write_loses_nothing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, api: ApiServer
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), values={"greeting": "hello"}))
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    write_values(page, "greeting: mine\n")
    region = page.get_by_role("region", name="Upgrade", exact=True)
    bar = page.get_by_text("Changed by somebody else")

    # A dry run has no precondition of the API server: 409.
    with (
        changed_before_the_write(api, xapps.namespace, timeout="3m"),
        page.expect_response(is_upgrade) as previewed,
    ):
        region.get_by_role("button", name="Preview").click()
    assert previewed.value.status == 409
    expect(page.get_by_text("was changed at the same time by another client")).to_be_visible()
    expect(bar).to_be_visible()
    assert values_text(page).strip() == "greeting: mine"
    page.get_by_role("button", name="Keep mine").click()
    expect(bar).to_have_count(0)
    region.get_by_role("button", name="Preview").click()
    upgrade = region.get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")

    # The change itself names the generation that was edited: 412.
    with (
        changed_before_the_write(api, xapps.namespace, timeout="4m"),
        page.expect_response(is_upgrade) as sent,
    ):
        upgrade.click()
    assert sent.value.status == 412
    expect(page.get_by_text(re.compile("somebody changed it meanwhile")).first).to_be_visible()
    expect(bar).to_be_visible()
    assert values_text(page).strip() == "greeting: mine"
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["timeout"], spec["values"]) == ("4m", {"greeting": "hello"})

    page.get_by_role("button", name="Keep mine").click()
    region.get_by_role("button", name="Preview").click()
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    upgrade.click()
    expect(page.get_by_text(f"Accepted: {NAME}")).to_be_visible()
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["timeout"], spec["values"]) == ("4m", {"greeting": "mine"})
