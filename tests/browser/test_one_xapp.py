"""The pages of one xApp: its history, what happens to it meanwhile, and links into its pages."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.shell import in_shell
from tests.localcluster import Cluster
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"


@pytest.fixture
def hello(xapps: XAppClient) -> XAppClient:
    """The xApp `acme-ran-hello`, Ready."""
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"greeting": "good morning"}))
    xapps.wait_ready(NAME)
    return xapps


def path(xapps: XAppClient, rest: str = "") -> str:
    return f"/xapps/{xapps.namespace}/{NAME}{rest}"


def tab(dashboard: Dashboard, name: str) -> Locator:
    return dashboard.page.get_by_role("navigation", name="Pages of this xApp").get_by_role("link", name=name)


def test_two_revisions_are_compared_and_the_first_comes_back(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient
) -> None:
    hello.kubectl("patch", "xapp", NAME, "--type=merge", "-p", '{"spec": {"values": {"greeting": "good night"}}}')
    hello.wait_until(lambda: hello.wait_ready(NAME)["release"]["revision"] == 2, what="revision 2")
    page = dashboard.page

    dashboard.sign_in(accounts.with_role("edit"), path(hello, "/history"))
    # It comes below the table, and into view.
    page.set_viewport_size({"width": 360, "height": 480})
    page.get_by_role("link", name="Compare revision 1 with 2").click()
    title = page.get_by_role("heading", name="From revision 1 to 2")
    expect(title.locator("[tabindex]")).to_be_focused()
    expect(title).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1280, "height": 800})
    diff = page.get_by_role("region", name="Values: from revision 1 to 2")
    expect(diff.get_by_text("greeting: good morning")).to_be_visible()
    expect(diff.get_by_text("greeting: good night")).to_be_visible()
    page.get_by_role("tab", name="Manifest").click()
    expect(page.get_by_role("region", name="Manifest: from revision 1 to 2")).to_contain_text("good night")
    expect(page).to_have_url(re.compile(r"/history\?revision=1&with=2&of=manifest$"))
    dashboard.check_accessibility()
    dashboard.screenshots("history")

    # Three clicks from the page of the xApp: More, Roll back, confirm.
    tab(dashboard, "Overview").click()
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Roll back to revision 1...").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_role("button", name="Keep")).to_be_focused()
    expect(dialog.get_by_role("region", name="What rolling back changes")).to_contain_text("good morning")
    expect(dialog.get_by_role("button", name="Copy as")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("roll-back")
    dialog.get_by_role("button", name="Roll back to revision 1").click()
    expect(page.get_by_text("Accepted: it is rolled back to revision 1")).to_be_visible()
    expect(page.get_by_text("revision 3", exact=True)).to_be_visible()
    expect(page.get_by_text("Helm rollback")).to_be_visible()

    # Revision 3 is revision 1 again, and 2 was given up: nothing is left to go back to.
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("menuitem", name="Roll back...")).to_have_attribute("aria-disabled", "true")


def test_rolling_back_to_a_revision_that_never_was_healthy_is_warned_of(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient
) -> None:
    values = {"greeting": "bad", "fail": "CrashLoopBackOff"}
    spec = {"timeout": "3s", "upgrade": {"onFailure": "none"}, "values": values}
    hello.kubectl("patch", "xapp", NAME, "--type=merge", "-p", json.dumps({"spec": spec}))
    hello.wait_stalled(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello, "/history"))
    first, second = (page.get_by_role("row", name=re.compile(f"^{number} ")) for number in (1, 2))
    expect(second.get_by_text("Never healthy")).to_be_visible()

    hello.kubectl("patch", "xapp", NAME, "--type=json", "-p", '[{"op": "remove", "path": "/spec/values/fail"}]')
    hello.wait_until(lambda: hello.wait_ready(NAME)["release"]["revision"] == 3, what="revision 3")
    expect(second.get_by_text("Never healthy")).to_be_visible()
    expect(first).not_to_contain_text("healthy", ignore_case=True)
    dashboard.check_accessibility()
    dashboard.screenshots("history-never-healthy")

    warning = "It never worked: it was not healthy at any time, or failed soon after it was."
    second.get_by_role("button", name="Roll back to revision 2...").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_text(warning)).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("roll-back-never-healthy")
    dialog.get_by_role("button", name="Keep").click()
    first.get_by_role("button", name="Roll back to revision 1...").click()
    expect(dialog.get_by_role("region", name="What rolling back changes")).to_be_visible()
    expect(dialog.get_by_text(warning)).to_have_count(0)
    dialog.get_by_role("button", name="Keep").click()

    # What is offered outside the history is one that worked.
    tab(dashboard, "Overview").click()
    page.get_by_role("button", name="More").click()
    expect(page.get_by_role("menuitem", name="Roll back to revision 1...")).to_be_visible()


def test_an_edit_of_somebody_else_is_not_rolled_back_unseen(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient
) -> None:
    hello.kubectl("patch", "xapp", NAME, "--type=merge", "-p", '{"spec": {"values": {"greeting": "second"}}}')
    hello.wait_until(lambda: hello.wait_ready(NAME)["release"]["revision"] == 2, what="revision 2")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello, "/history"))
    page.get_by_role("button", name="Roll back to revision 1...").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog.get_by_role("region", name="What rolling back changes")).to_be_visible()

    hello.kubectl("patch", "xapp", NAME, "--type=merge", "-p", '{"spec": {"values": {"greeting": "third"}}}')
    hello.wait_until(lambda: hello.wait_ready(NAME)["release"]["revision"] == 3, what="revision 3")
    dialog.get_by_role("button", name="Roll back to revision 1").click()

    expect(dialog.get_by_role("alert")).to_contain_text("Somebody else changed this xApp")
    assert hello.status(NAME)["release"]["revision"] == 3


def test_to_suspend_and_resume_ends_a_rollback(dashboard: Dashboard, accounts: Accounts, hello: XAppClient) -> None:
    hello.kubectl("patch", "xapp", NAME, "--type=merge", "-p", '{"spec": {"values": {"greeting": "second"}}}')
    hello.wait_until(lambda: hello.wait_ready(NAME)["release"]["revision"] == 2, what="revision 2")
    hello.kubectl("annotate", "xapp", NAME, "xapp-operator.io/rollback-to=1")
    hello.wait_until(lambda: hello.status(NAME).get("heldRevision") == 1, what="the rollback")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello))
    page.get_by_role("button", name="More").click()
    suspend = page.get_by_role("menuitem", name="Suspend")
    expect(suspend).to_contain_text("which ends the rollback to revision 1")
    suspend.click()
    expect(page.get_by_text("To resume the xApp ends the rollback")).to_be_visible()
    page.get_by_role("button", name="More").click()
    resume = page.get_by_role("menuitem", name=re.compile("^Resume"))
    expect(resume).to_contain_text("Ends the rollback to revision 1")
    resume.click()
    hello.wait_until(lambda: "heldRevision" not in hello.status(NAME), what="the end of the rollback")
    expect(page.get_by_text("is in force by a rollback")).to_have_count(0)


def test_suspending_and_resuming(dashboard: Dashboard, accounts: Accounts, hello: XAppClient, cluster: Cluster) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello))
    page.get_by_role("button", name="More").click()
    dashboard.check_accessibility()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/actions", hold, times=1)
    page.get_by_role("menuitem", name="Suspend").click()
    waiting = page.get_by_text(re.compile("^Waiting for the gateway"))
    expect(waiting).to_be_visible()
    dashboard.screenshots("waiting-for-an-answer")
    held.pop().continue_()
    expect(page.get_by_text("The operator leaves it as it is until it is resumed.")).to_be_visible()
    expect(waiting).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("suspended")
    page.route("**/actions", hold, times=1)
    resume = page.get_by_role("button", name="Resume")
    with page.expect_request("**/actions"):
        resume.click()
    # Nothing is shown as done before the answer: the button says that it is on its way, and the page for how long.
    expect(resume.get_by_label("In progress")).to_be_visible()
    expect(waiting).to_be_visible()
    expect(page.get_by_text("The operator leaves it as it is until it is resumed.")).to_be_visible()
    held.pop().continue_()
    expect(page.get_by_text("The operator leaves it as it is until it is resumed.")).to_have_count(0)
    hello.wait_ready(NAME)

    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Copy as...").click()
    dialog = page.get_by_role("dialog", name="Copy as")
    dialog.get_by_role("button", name=re.compile("Action")).click()
    actions = ["Show the xApp", "Show its health", "Uninstall", "Retry", "Look again", "Run tests", "Suspend", "Resume"]
    expect(page.get_by_role("option")).to_have_text(actions)
    page.get_by_role("option", name="Retry").click()
    command = dialog.get_by_role("region", name="the kubectl command").inner_text()
    in_shell(command, cluster)
    hello.wait_until(lambda: "retryAt" in hello.status(NAME).get("handled", {}), what="the retry")
    uid = (hello.get("xapp", NAME) or {})["metadata"]["uid"]
    with pytest.raises(AssertionError, match="uid"):  # as if the name belonged to another xApp by now
        in_shell(command.replace(uid, f"x{uid[1:]}"), cluster)

    dialog.get_by_role("button", name=re.compile("Action")).click()
    page.get_by_role("option", name="Uninstall").click()
    expect(dialog.get_by_text(f"kubectl delete xapp {NAME} -n {hello.namespace}")).to_be_visible()
    expect(dialog.get_by_text('-H "Authorization: Bearer $TOKEN"')).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("copy-as")


def test_who_uninstalls_is_told_what_goes(dashboard: Dashboard, accounts: Accounts, hello: XAppClient) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello))
    page.get_by_role("button", name="Uninstall...").click()
    dialog = page.get_by_role("alertdialog", name=f"Uninstall {NAME}?")
    sentence = f"This removes its Helm release from {hello.namespace}: 3 objects, 1 pod."
    expect(dialog.get_by_text(sentence)).to_be_visible()
    dialog.get_by_text("Objects that go: 3").click()
    expect(dialog.get_by_text(f"Deployment {NAME}")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("uninstall")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert hello.get("xapp", NAME) is not None


def test_an_xapp_that_others_uninstall_keeps_its_last_state_and_what_was_typed(
    dashboard: Dashboard, accounts: Accounts, hello: XAppClient
) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello))
    expect(page.get_by_role("heading", name="Reach")).to_be_visible()
    expect(page.get_by_text("100 %").or_(page.get_by_text("Objects 3 of 3"))).to_be_visible()
    # The page keeps only what it has read.
    expect(page.get_by_text(f"Deployment{NAME}")).to_be_visible()
    page.keyboard.press("e")
    editor = page.get_by_role("textbox", name=re.compile("values", re.IGNORECASE)).first
    editor.press("Control+End")
    page.keyboard.insert_text("\nextra: {note: typed before}")
    hello.kubectl("delete", "xapp", NAME)

    expect(page.get_by_text(re.compile("^Uninstalled at .* This is its last state"))).to_be_visible()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("Uninstalled")
    expect(heading).not_to_contain_text("Uninstalling")
    expect(page.get_by_role("status").get_by_text("Uninstalled", exact=True)).to_have_count(1)
    expect(editor).to_contain_text("typed before")
    gone = re.compile("^It was uninstalled at ")
    for name in ("Preview", "Upgrade", "Edit values", "Uninstall..."):
        for button in page.get_by_role("button", name=name, exact=True).all():
            expect(button).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Preview", exact=True).focus()
    expect(page.get_by_role("tooltip")).to_have_text(gone)
    dashboard.check_accessibility()
    dashboard.screenshots("gone-values")

    page.get_by_role("button", name="Deploy again with these values").click()
    dashboard.heading(re.compile("Deploy"))
    assert f"namespace={hello.namespace}" in page.url
    expect(page.locator(".cm-content").first).to_contain_text("typed before")
    page.go_back()
    expect(editor).to_contain_text("typed before")
    tab(dashboard, "Overview").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Leave").click()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    expect(page.get_by_text(f"Deployment{NAME}")).to_be_visible()
    expect(page.get_by_text("Not found")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("gone-xapp")
    tab(dashboard, "Events").click()
    expect(page.get_by_text("This was not read before the xApp was uninstalled")).to_be_visible()
    dashboard.screenshots("gone-events")


def test_each_page_opens_by_its_address(dashboard: Dashboard, accounts: Accounts, hello: XAppClient) -> None:
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), path(hello, "/events"))
    expect(page.get_by_role("table", name="Events of the xApp")).to_contain_text("ScalingReplicaSet")
    dashboard.check_accessibility()
    dashboard.screenshots("events")

    dashboard.open(path(hello, f"/manifest?object=Service/{NAME}"))
    expect(page.get_by_role("link", name=f"Service {NAME}")).to_have_attribute("aria-current", "page")
    expect(page.locator(".cm-content")).to_contain_text("targetPort: 9090")
    dashboard.check_accessibility()
    dashboard.screenshots("manifest")

    dashboard.open(path(hello, "/history?revision=77&with=3"))
    unknown = "Not in the history: revision 77, revision 3. Only the newest revisions are kept."
    expect(page.get_by_text(unknown)).to_be_visible()
    expect(page).to_have_url(re.compile("/history$"))
    page.get_by_role("link", name="Show revision 1").click()
    expect(page.get_by_role("heading", name="Revision 1", exact=True)).to_be_visible()
    expect(page.get_by_text(unknown)).to_have_count(0)

    dashboard.open(path(hello, "/notes"))
    expect(page.get_by_text("The chart has no notes")).to_be_visible()
    dashboard.screenshots("notes-none")
    dashboard.open(path(hello, "/own-api"))
    expect(page.get_by_role("region", name="Its API")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("own-api")
    dashboard.open(path(hello))
    expect(page.get_by_role("heading", name="Conditions")).to_be_visible()
    facts = page.get_by_role("region", name="Facts")
    for name in ("Organization", "Team", "Owner", "Namespace", "Release", "Chart in force", "UID"):
        expect(facts.get_by_role("button", name=f"Copy {name}", exact=True)).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("overview")

    keys = {"1": NAME, "2": "logs", "3": "events", "4": "values", "5": "history", "6": "manifest", "7": "notes"}
    for key, last in {**keys, "8": "own-api", "e": "values", "u": "upgrade", "3": "events", "l": "logs"}.items():
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(f"/{last}$"))
        if last == "values":
            expect(page.get_by_role("textbox", name="Your values, YAML")).to_be_visible()
    # From inside of the log too, which is no field.
    page.get_by_role("textbox", name=re.compile("^Log of container main")).or_(
        page.locator(".cm-content")
    ).first.focus()
    page.keyboard.press("3")
    expect(page).to_have_url(re.compile("/events$"))
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("/logs$"))
    page.go_back()
    expect(page.get_by_role("table", name="Events of the xApp")).to_be_visible()

    dashboard.open(f"/xapps/{hello.namespace}/nobody")
    expect(page.get_by_text(f"There is no xApp of this name in {hello.namespace}")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("no-such-xapp")
