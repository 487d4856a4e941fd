"""Deploy a chart file: from the open page to Ready, with values as YAML, as a form and from a file."""

from __future__ import annotations

import re
from base64 import b64encode
from random import Random
from typing import Final

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import (
    BIG_INTEGER,
    chart,
    choose_chart,
    drop_chart,
    drop_file,
    editor,
    fill_identity,
    values_text,
    write_values,
)
from tests.localcluster.waiting import wait_until
from tests.support.xapps import XAppClient

SLOW_BYTES_A_SECOND: Final = 20_000
AT_BOTTOM: Final = "scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 1"
DROP_BESIDE: Final = """
kind => {
  const data = new DataTransfer()
  if (kind === 'Files') data.items.add(new File(['a'], 'beside.tgz'))
  else data.setData(kind, 'text')
  const isPrevented = (type) => !document.body.dispatchEvent(
    new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }))
  return { dragover: isPrevented('dragover'), drop: isPrevented('drop'), effect: data.dropEffect }
}
"""
"""Returns whether the page keeps the browser from what it does with something that is dropped."""


def test_a_dropped_chart_becomes_ready_in_five_actions(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?namespace={xapps.namespace}")
    dashboard.heading("Deploy an xApp")
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-empty")
    clear = page.get_by_role("button", name="Clear the form")
    expect(clear).to_have_attribute("data-reason", "You have not changed anything")
    expect(clear.locator("..").get_by_role("button")).to_have_text(["Copy as", "Clear the form", "Preview", "Submit"])

    drop_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    expect(page.get_by_role("textbox", name="xApp name")).to_have_value("hello")
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.1.0")
    expect(page.get_by_role("textbox", name="Owner")).to_have_value("jane")
    fill_identity(page)
    expect(page.get_by_text("acme-ran-hello")).to_be_visible()
    expect(page.get_by_text("free", exact=True)).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-filled")
    page.get_by_role("button", name="Submit").click()

    dashboard.heading("acme-ran-hello")
    xapps.wait_ready("acme-ran-hello")
    # The next deployment begins with the organization, team and namespace of this one.
    dashboard.open("/deploy")
    expect(page.get_by_role("textbox", name="Organization")).to_have_value("acme")
    expect(page.get_by_role("textbox", name="Team")).to_have_value("ran")
    expect(page.get_by_role("combobox", name="Namespace")).to_have_value(xapps.namespace)
    expect(page.get_by_role("textbox", name="xApp name")).to_have_value("")


def test_a_file_dropped_beside_the_box_does_not_open_in_place_of_the_page(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    address = f"/deploy?namespace={xapps.namespace}"
    dashboard.sign_in(accounts.with_role("admin"), address)
    expect(page.get_by_role("group", name="Drop a packed chart")).to_be_visible()
    organization = page.get_by_role("textbox", name="Organization")
    organization.fill("acme")
    assert page.evaluate(DROP_BESIDE, "Files") == {"dragover": True, "drop": True, "effect": "none"}
    # A text that is dragged is none of our business.
    assert page.evaluate(DROP_BESIDE, "text/plain") == {"dragover": False, "drop": False, "effect": "none"}
    expect(page).to_have_url(f"{dashboard.url}{address}")
    expect(organization).to_have_value("acme")
    # The box itself still takes it.
    drop_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()


def test_one_press_submits_below_a_field_that_it_ends(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    page.set_viewport_size({"width": 1280, "height": 800})
    dashboard.sign_in(accounts.with_role("admin"), "/deploy")
    drop_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    fill_identity(page, namespace=xapps.namespace)
    expect(page.get_by_role("combobox", name="Namespace")).to_be_focused()
    page.mouse.move(640, 400)
    page.mouse.wheel(0, 5_000)
    wait_until(lambda: bool(page.evaluate(AT_BOTTOM)), timeout=5, what="the bottom of the page")
    box = page.get_by_role("button", name="Submit").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    # Leaving the field writes the namespace to the address.
    page.wait_for_url(f"**/deploy?namespace={xapps.namespace}")
    page.mouse.up()
    dashboard.heading("acme-ran-hello")


def test_form_and_yaml_agree_and_every_digit_survives(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?namespace={xapps.namespace}")
    choose_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    fill_identity(page)
    write_values(page, '# mine\nimage:\n  tag: "1.1" # tested\n')

    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_role("textbox", name="tag")).to_have_value("1.1")
    cell = page.get_by_role("textbox", name="cellId")
    expect(cell).to_have_attribute("placeholder", f"{BIG_INTEGER} (default)")
    cell.fill("9223372036854775807")
    page.get_by_role("textbox", name="greeting").fill("hi there")
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-form")
    page.get_by_role("tab", name="YAML").click()
    assert values_text(page) == (
        '# mine\nimage:\n  tag: "1.1" # tested\ncellId: 9223372036854775807\ngreeting: hi there\n'
    )

    page.get_by_role("tab", name="Result").click()
    result = page.get_by_role("textbox", name=re.compile("^Result"))
    expect(result).to_contain_text("repository: registry.example/hello")
    expect(result).to_contain_text("cellId: 9223372036854775808")
    expect(page.get_by_text("yours, helm rounds 9223372036854775807", exact=True)).to_have_count(1)
    expect(page.get_by_text("yours", exact=True)).to_have_count(2)
    dashboard.screenshots("deploy-result")

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    expect(page.get_by_role("tab", name=re.compile("^Objects 1"))).to_be_visible()
    page.get_by_role("tab", name="Values", exact=True).click()
    expect(page.get_by_role("textbox", name="Values of the result")).to_contain_text("9223372036854775808")
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-preview")
    page.keyboard.press("Control+Enter")

    dashboard.heading("acme-ran-hello")
    spec = (xapps.get("xapp", "acme-ran-hello") or {})["spec"]
    assert spec["values"] == {"image": {"tag": "1.1"}, "cellId": 9223372036854775807, "greeting": "hi there"}
    stored = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    assert "acme" in stored
    assert [value for value in ("hi there", "9223372036854775807", "tested", "hello-0.1.0") if value in stored] == []
    xapps.wait_ready("acme-ran-hello")


def test_values_from_a_file_and_a_cleared_form_are_taken_back(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?namespace={xapps.namespace}")
    choose_chart(page, chart())
    write_values(page, "greeting: typed\n")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Load file").click()
    chooser.value.set_files({"name": "site.yaml", "mimeType": "text/yaml", "buffer": b"# site\ngreeting: loaded\n"})
    expect(page.get_by_text("Loaded site.yaml.")).to_be_visible()
    assert values_text(page) == "# site\ngreeting: loaded\n"
    page.get_by_role("button", name="Undo").click()
    assert values_text(page) == "greeting: typed\n"

    # Bytes that are no UTF-8 would be other letters: the file is refused, also when it is dropped on the text.
    latin = "greeting: J\u00fcrgen\n".encode("latin-1")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Load file").click()
    chooser.value.set_files({"name": "latin.yaml", "mimeType": "text/yaml", "buffer": latin})
    expect(page.get_by_role("alert")).to_contain_text("latin.yaml is not UTF-8 text, so nothing was changed.")
    drop_file(page, editor(page), latin, "dropped.yaml")
    expect(page.get_by_role("alert")).to_contain_text("dropped.yaml is not UTF-8 text")
    assert values_text(page) == "greeting: typed\n"
    drop_file(page, editor(page), "greeting: J\u00fcrgen\n".encode(), "utf-8.yaml")
    expect(page.get_by_text("Loaded utf-8.yaml.")).to_be_visible()
    assert values_text(page) == "greeting: J\u00fcrgen\n"
    page.get_by_role("button", name="Undo").click()

    # A form that was cleared comes back as it was: chart file, fields and values.
    fill_identity(page)
    file = page.get_by_role("group", name="Chart file")
    team = page.get_by_role("textbox", name="Team")
    page.get_by_role("button", name="Clear the form").click()
    expect(page.get_by_role("status").filter(has_text="Discarded.")).to_be_visible()
    expect(file).not_to_contain_text("hello 0.1.0")
    expect(team).to_have_value("")
    assert values_text(page) == ""
    discarded = page.get_by_role("group", name="What was discarded")
    discarded.get_by_role("button", name="Undo").press("Enter")
    expect(file).to_contain_text("hello 0.1.0")
    expect(team).to_have_value("ran")
    assert values_text(page) == "greeting: typed\n"
    expect(discarded).to_be_focused()
    expect(discarded).to_have_text("")


def test_an_adoption_comes_filled_in(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    page = dashboard.page
    path = f"/deploy?namespace={namespace}&releaseName=by-hand&adopt=true"
    dashboard.sign_in(accounts.with_role("admin"), path)
    expect(page.get_by_text("The release by-hand is taken over as it runs.")).to_be_visible()
    expect(page.get_by_role("textbox", name="Release name")).to_have_value("by-hand")
    expect(page.get_by_role("checkbox", name="Adopt a release of that name that is there already")).to_be_checked()
    expect(page.get_by_role("combobox", name="Namespace")).to_have_value(namespace)


def test_the_draft_of_an_adoption_still_adopts_after_a_visit_elsewhere(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    page = dashboard.page
    asked = f"namespace={namespace}&releaseName=by-hand&adopt=true"
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?{asked}")
    choose_chart(page, chart())
    write_values(page, "greeting: typed\n")

    def check_form() -> None:
        expect(page).to_have_url(f"{dashboard.url}/deploy?{asked}")
        expect(page.get_by_role("combobox", name="Namespace")).to_have_value(namespace)
        expect(page.get_by_role("textbox", name="Release name")).to_have_value("by-hand")
        expect(page.get_by_role("checkbox", name="Adopt a release")).to_be_checked()
        expect(page.get_by_role("group", name="Chart file")).to_contain_text("hello 0.1.0")
        assert values_text(page) == "greeting: typed\n"

    check_form()
    for back in ("link", "keys", "here"):
        if back != "here":
            page.get_by_role("link", name="Services").click()
            page.get_by_role("button", name="Leave").click()
            dashboard.heading("Services")
        if back == "keys":
            page.keyboard.press("g")
            page.keyboard.press("d")
        else:
            page.get_by_role("link", name="Deploy", exact=True).click()
        check_form()

    # What is changed is kept as well.
    page.get_by_role("checkbox", name="Adopt a release").uncheck(force=True)
    page.get_by_text("Remote Chart Repository").click()
    page.get_by_role("link", name="Services").click()
    page.get_by_role("button", name="Leave").click()
    dashboard.heading("Services")
    page.get_by_role("link", name="Deploy", exact=True).click()
    expect(page.get_by_role("radio", name="Remote Chart Repository")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Adopt a release")).not_to_be_checked()
    expect(page).to_have_url(
        f"{dashboard.url}/deploy?method=repository&namespace={namespace}&releaseName=by-hand",
    )


def test_the_dialogs_of_the_page_can_be_used_by_everybody(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?namespace={namespace}")
    choose_chart(page, chart())
    page.get_by_role("button", name="README").click()
    expect(page.get_by_role("textbox", name="README of the chart")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-readme")
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Copy as").click()
    page.get_by_role("menuitem", name="Show both").click()
    dialog = page.get_by_role("dialog", name="Copy as")
    expect(dialog).to_contain_text("The chart is a file: kubectl cannot send it. Use curl.")
    expect(dialog).to_contain_text("-F file=@hello-0.1.0.tgz")
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-copy-as")
    page.keyboard.press("Escape")

    page.get_by_text("More options").click()
    expect(page.get_by_role("textbox", name="Timeout")).to_be_visible()
    page.get_by_role("checkbox", name="Suspend").scroll_into_view_if_needed()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-more-options")
    page.get_by_role("link", name="Services").click()
    expect(page.get_by_role("alertdialog", name="Leave this page?")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-leave")


def test_a_slow_upload_says_how_far_it_is_and_how_long_it_may_take(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), "/deploy")
    large = chart(**{"files/noise.txt": b64encode(Random(1).randbytes(300_000)).decode()})
    network = dashboard.context.new_cdp_session(page)
    network.send("Network.enable")
    conditions = {"offline": False, "latency": 0, "downloadThroughput": -1}
    network.send("Network.emulateNetworkConditions", {**conditions, "uploadThroughput": SLOW_BYTES_A_SECOND})
    choose_chart(page, large)
    sending = page.get_by_role("status").filter(has_text="Sending to the gateway")
    expect(sending).to_have_text(re.compile(r"^Sending to the gateway, \d+ % of \d{3} KiB: \d+ s of at most 600 s$"))
    dashboard.check_accessibility()
    dashboard.screenshots("slow-upload")

    network.send("Network.emulateNetworkConditions", {**conditions, "uploadThroughput": -1})
    expect(page.get_by_text("hello 0.1.0", exact=True)).to_be_visible()
    expect(sending).to_have_count(0)
