"""Deploy, change a value and upgrade with the keyboard alone, and what the keys of the forms promise."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, editor, packed, values_text
from tests.browser.keyboard import tab_to
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"


def test_a_chart_file_is_deployed_with_the_keyboard(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    dashboard.sign_in(accounts.with_role("admin"), "/xapps")
    page = dashboard.page
    # From now on the browser reports file choosers. Begun together with a key press, that could come too late.
    page.on("filechooser", lambda _: None)
    dashboard.heading("xApps Management")
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", level=1, name="Deploy an xApp")).to_be_focused()
    tab_to(page, page.get_by_role("button", name="Choose a file").first)
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(packed(chart()))
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    # The button is gone; the next Tab goes on from its place.
    chart_file = page.get_by_role("group", name="Chart file")
    expect(chart_file).to_be_focused()
    page.keyboard.press("Tab")
    expect(chart_file.locator(":focus")).to_have_count(1)

    # The window ends just below this field, where the bar with the buttons is.
    organization = page.get_by_role("textbox", name="Organization")
    box = organization.bounding_box()
    assert box is not None
    page.set_viewport_size({"width": 1280, "height": int(box["y"] + box["height"]) + 10})
    tab_to(page, organization)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.keyboard.type("acme")
    tab_to(page, page.get_by_role("textbox", name="Team"))
    page.keyboard.type("ran")
    tab_to(page, page.get_by_role("combobox", name="Namespace"))
    page.keyboard.type(xapps.namespace)
    expect(page.get_by_role("option", name=re.compile(xapps.namespace))).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/deploy$"))
    tab_to(page, editor(page))
    expect(page).to_have_url(re.compile(f"namespace={xapps.namespace}$"))
    page.keyboard.type("image:")
    page.keyboard.press("Enter")
    page.keyboard.type('tag: "2"')
    # In the editor Tab indents; Escape, then Tab leaves.
    before = values_text(page)
    page.keyboard.press("Tab")
    expect(editor(page)).to_be_focused()
    assert values_text(page).replace(" ", "") == before.replace(" ", "")
    assert values_text(page) != before
    page.keyboard.press("Escape")
    tab_to(page, page.get_by_role("button", name="Submit"))
    page.keyboard.press("Enter")

    dashboard.heading(NAME)
    assert (xapps.get("xapp", NAME) or {})["spec"]["values"] == {"image": {"tag": "2"}}
    xapps.wait_ready(NAME)

    # Change a value: e, the text, Ctrl+Enter for the preview and again for the upgrade.
    expect(page.get_by_role("link", name="Edit values")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_text("Based on revision 1")).to_be_visible()
    tab_to(page, editor(page))
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("greeting: keys\n")
    expect(editor(page)).to_contain_text("greeting: keys")
    # A key that is held down is one press: nobody has looked at the preview yet.
    upgrades: list[str] = []
    page.on(
        "request", lambda sent: upgrades.append(sent.url) if sent.method == "PUT" and "dryRun" not in sent.url else None
    )
    page.keyboard.down("Control")
    page.keyboard.down("Enter")
    expect(page.get_by_text("1 object changes.")).to_be_visible()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    page.keyboard.up("Control")
    expect(page.get_by_text('greeting: "keys"')).to_be_visible()
    assert upgrades == []
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(re.compile(f"/{NAME}$"))
    xapps.wait_until(lambda: xapps.status(NAME).get("release", {}).get("revision") == 2, what="the second revision")
    xapps.wait_ready(NAME)

    # Upgrade: u, another file, Ctrl+Enter twice.
    page.keyboard.press("u")
    expect(page.get_by_role("heading", name="Upgrade")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Choose a file").first)
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(packed(chart("0.2.0"), "hello-0.2.0.tgz"))
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(re.compile(f"/{NAME}$"))
    xapps.wait_until(lambda: xapps.status(NAME).get("release", {}).get("chartVersion") == "0.2.0", what="the upgrade")


def test_a_link_comes_before_what_was_typed_on_an_earlier_visit(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    dashboard.sign_in(accounts.with_role("admin"), "/deploy")
    page = dashboard.page
    page.get_by_role("textbox", name="Team").fill("ran")
    page.get_by_role("combobox", name="Namespace").fill("elsewhere")
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Team").focus()
    expect(page).to_have_url(re.compile("namespace=elsewhere$"))
    page.get_by_role("link", name="Services").click()
    page.get_by_role("button", name="Leave").click()
    dashboard.heading("Services")
    # As the button "Adopt..." of another xApp does.
    page.evaluate(
        """path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')) }""",
        f"/deploy?namespace={namespace}&releaseName=by-hand&adopt=true",
    )
    dashboard.heading("Deploy an xApp")
    expect(page.get_by_role("combobox", name="Namespace")).to_have_value(namespace)
    expect(page.get_by_role("textbox", name="Release name")).to_have_value("by-hand")
    expect(page.get_by_role("textbox", name="Team")).to_have_value("ran")
    # More options stay open while one of them is emptied.
    page.get_by_role("checkbox", name="Adopt a release").uncheck(force=True)
    page.get_by_role("textbox", name="Release name").fill("")
    expect(page.get_by_role("textbox", name="Release name")).to_be_focused()
    page.get_by_role("textbox", name="Team").focus()
    expect(page).to_have_url(re.compile(f"namespace={namespace}$"))
