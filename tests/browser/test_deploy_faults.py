"""What goes wrong between the page /deploy and the gateway: nothing typed is lost, and nothing is sent twice."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from playwright.sync_api import Error, Page, Request, Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart, fill_identity, summary_text, values_text, write_values
from tests.browser.gateway import BrowserGateway
from tests.browser.short_tokens import shorten
from tests.localcluster import Cluster
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
MINE: Final = "# mine\ngreeting: mine\n"
DEPLOYMENT: Final = re.compile(r"/api/deployment/xapp$")


def _fill(dashboard: Dashboard, token: str, namespace: str) -> Page:
    dashboard.sign_in(token, f"/deploy?namespace={namespace}")
    page = dashboard.page
    choose_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    fill_identity(page)
    write_values(page, MINE)
    return page


def _expect_nothing_lost(page: Page) -> None:
    assert values_text(page) == MINE
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    expect(page.get_by_role("textbox", name="Organization")).to_have_value("acme")
    expect(page.get_by_role("textbox", name="Team")).to_have_value("ran")


def _deployments(page: Page) -> list[Request]:
    """Return the list to which each request that deploys is added."""
    sent: list[Request] = []
    page.on("request", lambda one: sent.append(one) if DEPLOYMENT.search(one.url) else None)
    return sent


def test_a_gateway_that_is_away_loses_nothing(
    dashboard: Dashboard, accounts: Accounts, gateway: BrowserGateway, xapps: XAppClient
) -> None:
    page = _fill(dashboard, accounts.with_role("admin"), xapps.namespace)
    sent = _deployments(page)
    gateway.stop()
    submit = page.get_by_role("button", name="Submit")
    submit.click()
    assert "The gateway does not answer." in summary_text(page)
    expect(page.get_by_text(re.compile(r"Not connected\. As of "))).to_be_visible()
    expect(submit).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Control+Enter")
    # The pauses grow: by then it was away for about ten seconds.
    expect(page.get_by_text(re.compile(r"Trying again in [5-8] s"))).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-not-connected")
    gateway.start()
    with suppress(Error):  # it has asked by itself meanwhile
        page.get_by_role("button", name="Now", exact=True).click(timeout=5000)

    expect(submit).not_to_have_attribute("aria-disabled", "true")
    _expect_nothing_lost(page)
    assert len(sent) == 1
    assert xapps.get("xapp", NAME) is None
    submit.click()
    dashboard.heading(NAME)
    assert (xapps.get("xapp", NAME) or {})["spec"]["values"] == {"greeting": "mine"}


def test_a_submission_whose_answer_is_lost_is_not_sent_again(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    page = _fill(dashboard, accounts.with_role("admin"), xapps.namespace)
    sent = _deployments(page)

    def lose_the_answer(route: Route) -> None:
        route.fetch()
        route.abort("connectionreset")

    page.route(DEPLOYMENT, lose_the_answer, times=1)
    page.get_by_role("button", name="Submit").click()

    assert "It may have accepted this before the connection broke" in summary_text(page)
    expect(page.get_by_role("link", name="open it")).to_be_visible()
    _expect_nothing_lost(page)
    assert len(sent) == 1
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text=NAME)).to_be_visible()
    _expect_nothing_lost(page)
    assert (xapps.get("xapp", NAME) or {})["metadata"]["generation"] == 1


def test_a_token_that_ends_in_a_filled_form_loses_nothing(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    token = accounts.with_role("admin")
    page = _fill(dashboard, token, xapps.namespace)
    sent = _deployments(page)
    accounts.revoke("jane", token)
    dialog = page.get_by_role("dialog", name="Your sign-in has ended")
    page.get_by_role("button", name="Submit").click()
    expect(dialog).to_be_visible()
    assert len(sent) == 1

    dialog.get_by_label("Bearer token").fill("no-token")
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog.get_by_text("The cluster does not accept this token.")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-session-ended")
    dialog.get_by_label("Bearer token").fill(accounts.restore("jane"))
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)

    _expect_nothing_lost(page)
    # A write is never repeated by itself.
    assert len(sent) == 1
    assert xapps.get("xapp", NAME) is None
    page.get_by_role("button", name="Submit").click()
    dashboard.heading(NAME)


def test_a_token_that_expires_in_a_filled_form_is_noticed_before_anything_is_sent(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, cluster: Cluster
) -> None:
    token = accounts.with_role("admin")
    page = _fill(dashboard, token, xapps.namespace)
    sent = _deployments(page)
    dialog = page.get_by_role("dialog", name="Your sign-in has ended")
    dashboard.context.clear_cookies()
    page.get_by_role("button", name="Preview").click()
    short = shorten(cluster, token, seconds=6)
    dialog.get_by_label("Bearer token").fill(short)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)

    # Nobody does anything: the page says so by itself.
    expect(dialog).to_be_visible()
    dialog.get_by_label("Bearer token").fill(short)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog.get_by_text("The cluster does not accept this token.")).to_be_visible()
    dialog.get_by_label("Bearer token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_have_count(0)

    _expect_nothing_lost(page)
    assert sent == []
    page.get_by_role("button", name="Submit").click()
    dashboard.heading(NAME)
    assert (xapps.get("xapp", NAME) or {})["spec"]["values"] == {"greeting": "mine"}


def test_a_chart_that_was_chosen_before_signing_in_again_is_read(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    token = accounts.with_role("admin")
    dashboard.sign_in(token, f"/deploy?namespace={namespace}")
    page = dashboard.page
    dashboard.context.clear_cookies()
    choose_chart(page, chart())
    dialog = page.get_by_role("dialog", name="Your sign-in has ended")
    dialog.get_by_label("Bearer token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()


def test_a_gateway_that_takes_less_than_before_refuses_at_the_field(
    dashboard: Dashboard, accounts: Accounts, gateway: BrowserGateway, namespace: str
) -> None:
    """The page knows the limits from when it was loaded: 413 comes from the gateway."""
    page = _fill(dashboard, accounts.with_role("admin"), namespace)
    gateway.stop()
    gateway.start(values_max_bytes=1024, chart_max_bytes=1024)
    large = f"greeting: {'x' * 1100}\n"
    write_values(page, large)
    submit = page.get_by_role("button", name="Submit")
    expect(submit).not_to_have_attribute("aria-disabled", "true")
    submit.click()
    text = summary_text(page)
    assert "1,024 bytes" in text
    assert "Values" in text
    assert values_text(page) == large
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-values-too-large")
    page.get_by_role("link", name="Values", exact=True).click()
    expect(page.get_by_role("textbox", name="Your values, YAML")).to_be_focused()

    noise = "\n".join(f"# {number * 7919 % 10007}" for number in range(2000))
    choose_chart(page, chart(**{"noise.txt": noise}), "large.tgz")
    expect(page.get_by_role("group", name="large.tgz").get_by_role("alert")).to_contain_text("1,024 bytes")
