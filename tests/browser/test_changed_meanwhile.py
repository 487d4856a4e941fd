"""Another client changes or replaces an xApp while a page is open, or before the gateway writes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, Response, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, values_text, write_values
from tests.browser.gateway import BrowserGateway
from tests.browser.shell import copied_command
from tests.support.apiserver import XAPPS, ApiServer
from tests.support.xapps import XAppClient
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import XAPPS as XAPP_RESOURCE

NAME = "acme-ran-hello"
HELD_SECONDS = 20


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
    page.get_by_role("dialog", name="Compare").get_by_role("button", name="Keep mine").click()
    expect(bar).to_have_count(0)
    assert values_text(page).strip() == "greeting: mine"
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
    expect(page.get_by_text(re.compile("Somebody else changed this xApp")).first).to_be_visible()
    expect(bar).to_be_visible()
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["timeout"], spec["values"]) == ("4m", {"greeting": "hello"})

    page.get_by_role("dialog", name="Compare").get_by_role("button", name="Keep mine").click()
    assert values_text(page).strip() == "greeting: mine"
    region.get_by_role("button", name="Preview").click()
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    upgrade.click()
    expect(page.get_by_text(f"Accepted: {NAME}")).to_be_visible()
    spec = (xapps.get("xapp", NAME) or {})["spec"]
    assert (spec["timeout"], spec["values"]) == ("4m", {"greeting": "mine"})


def test_a_refused_change_of_values_opens_the_comparison(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, api: ApiServer
) -> None:
    deploy(xapps, values={"greeting": "base"})
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/values")
    page = dashboard.page
    page.set_viewport_size({"width": 360, "height": 780})
    write_values(page, "greeting: mine\n")
    region = page.get_by_role("region", name="Values")
    region.get_by_role("button", name="Preview").click()
    upgrade = region.get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    with changed_before_the_write(api, xapps.namespace, values={"greeting": "theirs"}):
        upgrade.click()
        dialog = page.get_by_role("dialog", name="Compare")
        expect(dialog).to_be_visible()

    # In a narrow window the two texts are one column, which says what its marks mean.
    shown = (
        ("Theirs and mine", "- Theirs", "+ Mine", "theirs", "mine"),
        ("Their changes", "- Before", "+ Theirs", "base", "theirs"),
        ("My changes", "- Before", "+ Mine", "base", "mine"),
    )
    for tab, removed, added, before, after in shown:
        dialog.get_by_role("tab", name=tab).click()
        expect(dialog.get_by_role("tab", name=tab)).to_be_in_viewport(ratio=0.9)
        expect(dialog.get_by_text(removed, exact=True)).to_be_visible()
        expect(dialog.get_by_text(added, exact=True)).to_be_visible()
        expect(dialog.get_by_role("textbox")).to_contain_text(f"greeting: {before}")
        expect(dialog.get_by_role("textbox")).to_contain_text(f"greeting: {after}")
    dashboard.check_accessibility()
    dashboard.screenshots("values-conflict-compared")
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_text("Somebody else has edited since this preview.")).to_be_visible()
    assert values_text(page).strip() == "greeting: mine"
    expect(upgrade).to_have_attribute("aria-disabled", "true")


def deploy(xapps: XAppClient, **spec: Any) -> str:
    """Deploy the xApp, and return its uid."""
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), **spec))
    xapps.wait_ready(NAME)
    uid: str = (xapps.get("xapp", NAME) or {})["metadata"]["uid"]
    return uid


def replace_xapp(xapps: XAppClient) -> str:
    """Uninstall the xApp and deploy another one of its name, as somebody else would; return the uid of the new one."""
    xapps.kubectl("delete", "xapp", NAME)
    return deploy(xapps, owner="mary", values={"greeting": "theirs"})


@contextmanager
def held_requests(page: Page, url: str) -> Iterator[None]:
    """The requests to that address are on their way for as long as this lasts: one at least."""
    held: list[Route] = []
    is_over = False

    def hold(route: Route) -> None:
        if is_over:
            route.continue_()
        else:
            held.append(route)

    # Not undone at the end: that would let other held requests go.
    page.route(url, hold)
    yield
    # The page is told of a request before the route is.
    deadline = time.monotonic() + HELD_SECONDS
    while not held:
        assert time.monotonic() < deadline, f"no request to {url}"
        page.wait_for_timeout(20)
    is_over = True
    for route in held:
        route.continue_()


def test_an_xapp_of_the_same_name_is_not_upgraded_unseen(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    old = deploy(xapps, values={"greeting": "hello"})
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/upgrade")
    page = dashboard.page
    owner = page.get_by_role("textbox", name="Owner")
    owner.fill("paul")
    region = page.get_by_role("region", name="Upgrade", exact=True)
    assert f'If-Match: "{old}/1"' in copied_command(page, region.get_by_role("button", name="Copy as"), "curl")
    region.get_by_role("button", name="Preview").click()
    upgrade = region.get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    bar = page.get_by_text("Somebody else replaced this xApp at")
    keep = page.get_by_role("button", name="Keep mine")
    with held_requests(page, f"**/api/xapps/{xapps.namespace}/{NAME}/config"):
        # Both have generation 1.
        with (
            page.expect_response(is_upgrade) as sent,
            held_requests(page, f"**/api/deployment/xapp/{xapps.namespace}/{NAME}"),
        ):
            with page.expect_request(f"**/api/deployment/xapp/{xapps.namespace}/{NAME}"):
                upgrade.click()
            new = replace_xapp(xapps)
        assert sent.value.status == 412
        expect(bar).to_be_visible()
        page.get_by_role("dialog", name="Compare").get_by_role("button", name="Close").click()
        # Their values are not known yet.
        expect(keep).to_have_attribute("aria-disabled", "true")
    summary = page.get_by_role("alert").filter(has=page.get_by_role("button", name="Copy report"))
    expect(summary).to_contain_text("Somebody else replaced this xApp")
    expect(summary).not_to_contain_text("If-Match")
    expect(owner).to_have_value("paul")
    assert (xapps.get("xapp", NAME) or {})["spec"]["owner"] == "mary"
    expect(region.get_by_role("button", name="Preview")).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dashboard.screenshots("upgrade-replaced")

    keep.click()
    expect(bar).to_have_count(0)
    expect(page.get_by_text("Somebody else replaced this xApp")).to_have_count(0)
    assert values_text(page).strip() == "greeting: theirs"
    region.get_by_role("button", name="Preview").click()
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    upgrade.click()
    expect(page.get_by_text(f"Accepted: {NAME}")).to_be_visible()
    found = xapps.get("xapp", NAME) or {}
    assert (found["metadata"]["uid"], found["spec"]["owner"]) == (new, "paul")


def test_the_values_of_an_xapp_of_the_same_name_are_not_replaced_unseen(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    deploy(xapps, values={"greeting": "theirs"})
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/values")
    page = dashboard.page
    write_values(page, "greeting: mine\n")
    # Its values are those that were edited: only the uid tells.
    new = replace_xapp(xapps)
    expect(page.get_by_text("Somebody else replaced this xApp at")).to_be_visible()
    assert values_text(page).strip() == "greeting: mine"
    preview = page.get_by_role("region", name="Values").get_by_role("button", name="Preview")
    expect(preview).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Keep mine").click()
    preview.click()
    upgrade = page.get_by_role("region", name="Values").get_by_role("button", name="Upgrade", exact=True)
    expect(upgrade).not_to_have_attribute("aria-disabled", "true")
    upgrade.click()
    expect(page.get_by_text(f"Accepted: {NAME}")).to_be_visible()
    found = xapps.get("xapp", NAME) or {}
    assert (found["metadata"]["uid"], found["spec"]["values"]) == (new, {"greeting": "mine"})


def test_an_xapp_of_the_same_name_is_neither_suspended_nor_uninstalled_unseen(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    deploy(xapps)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}")
    page = dashboard.page
    more = page.get_by_role("button", name="More")
    more.click()
    with held_requests(page, "**/actions"):
        with page.expect_request("**/actions"):
            page.get_by_role("menuitem", name="Suspend").click()
        second = replace_xapp(xapps)
    expect(page.get_by_role("alert").get_by_text("Somebody else replaced this xApp")).to_be_visible()

    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog")
    confirm = dialog.get_by_role("button", name=f"Uninstall {NAME}")
    expect(confirm).not_to_have_attribute("aria-disabled", "true")
    third = replace_xapp(xapps)
    expect(dialog.get_by_text("Somebody else replaced this xApp")).to_be_visible()
    expect(confirm).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dialog.get_by_role("button", name="Keep").click()
    found = xapps.get("xapp", NAME) or {}
    assert found["metadata"]["uid"] == third != second
    assert "suspend" not in found["spec"]


def test_a_roll_back_dialog_keeps_its_revision_and_says_when_that_is_gone(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    deploy(xapps, maxHistory=3, values={"greeting": "first"})

    def upgrade(greeting: str, revision: int) -> None:
        xapps.kubectl(
            "patch", "xapp", NAME, "--type=merge", "-p", f'{{"spec": {{"values": {{"greeting": "{greeting}"}}}}}}'
        )
        xapps.wait_until(lambda: xapps.wait_ready(NAME)["release"]["revision"] == revision, what=f"revision {revision}")

    upgrade("second", 2)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}")
    page = dashboard.page
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Roll back to revision 1...").click()
    dialog = page.get_by_role("alertdialog")
    confirm = dialog.get_by_role("button", name="Roll back to revision 1")
    diff = dialog.get_by_role("region", name="What rolling back changes")
    expect(diff).to_contain_text("second")

    # A revision that is newer, and was in force before: the one that a new dialog would be about.
    upgrade("third", 3)
    expect(diff).to_contain_text("third")
    expect(dialog.get_by_role("heading", name=f"Roll back {NAME} to revision 1?")).to_be_visible()
    expect(confirm).not_to_have_attribute("aria-disabled", "true")

    upgrade("fourth", 4)
    expect(dialog.get_by_text("Revision 1 is no longer in the history")).to_be_visible()
    expect(confirm).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dashboard.screenshots("roll-back-gone")


def test_nothing_is_confirmed_while_the_gateway_is_away_or_once_the_xapp_is_gone(
    dashboard: Dashboard, gateway: BrowserGateway, accounts: Accounts, xapps: XAppClient
) -> None:
    deploy(xapps)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), "/xapps")
    page.get_by_role("checkbox", name=NAME).check()
    dialog = page.get_by_role("alertdialog")
    confirm = dialog.get_by_role("button", name=f"Uninstall {NAME}")

    def goes_off_and_on() -> None:
        page.get_by_role("button", name="Uninstall...").click()
        expect(confirm).not_to_have_attribute("aria-disabled", "true")
        gateway.stop()
        expect(confirm).to_have_attribute("aria-disabled", "true")
        confirm.hover()
        expect(page.get_by_role("tooltip")).to_have_text(re.compile("^Not connected"))
        gateway.start()
        expect(confirm).not_to_have_attribute("aria-disabled", "true")

    goes_off_and_on()
    dialog.get_by_role("button", name="Keep").click()
    page.get_by_role("link", name=NAME).click()
    expect(page.get_by_role("heading", name=NAME, level=1)).to_be_visible()  # the list has such a button too
    goes_off_and_on()
    xapps.kubectl("delete", "xapp", NAME)
    expect(dialog.get_by_text(re.compile("^It was uninstalled at"))).to_be_visible()
    expect(confirm).to_have_attribute("aria-disabled", "true")


def test_the_list_confirms_nothing_once_the_selected_xapps_are_gone(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    names = ["acme-ran-a", "acme-ran-b"]
    manifest = xapps.uploaded_manifest(names[0], chart())
    for name in names:
        xapps.apply({**manifest, "metadata": {**manifest["metadata"], "name": name}})
        xapps.wait_ready(name)
    page = dashboard.page
    # One that is being uninstalled leaves this list before it is gone.
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}&phase=Deployed")
    for name in names:
        page.get_by_role("checkbox", name=f"Select {name}").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name="Uninstall 2 xApps?")
    confirm = dialog.get_by_role("button", name="Uninstall 2 xApps")
    xapps.kubectl("delete", "xapp", names[0])
    expect(dialog.get_by_text(f"{xapps.namespace}/{names[0]} was uninstalled meanwhile")).to_be_visible()
    expect(confirm).not_to_have_attribute("aria-disabled", "true")
    # It only does not match the filter any more.
    xapps.kubectl("patch", "xapp", names[1], "--type=merge", '--patch={"spec": {"suspend": true}}')
    expect(page.get_by_role("link", name=names[1])).to_have_count(0)
    expect(confirm).not_to_have_attribute("aria-disabled", "true")
    xapps.kubectl("delete", "xapp", names[1])
    expect(dialog.get_by_text("All of them were uninstalled meanwhile")).to_be_visible()
    expect(confirm).to_have_attribute("aria-disabled", "true")
    dashboard.check_accessibility()
    dialog.get_by_role("button", name="Keep").click()

    xapps.apply(xapps.uploaded_manifest(names[0], chart()))  # the chart went with the last xApp that used it
    page.get_by_role("checkbox", name=f"Select {names[0]}").press("Space")
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name=f"Uninstall {names[0]}?")
    xapps.kubectl("delete", "xapp", names[0])
    expect(dialog.get_by_text("It was uninstalled meanwhile")).to_be_visible()
    expect(dialog.get_by_role("button", name=f"Uninstall {names[0]}")).to_have_attribute("aria-disabled", "true")
