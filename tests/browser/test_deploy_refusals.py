"""What the page /deploy shows when a deployment is refused: the message at its field, and nothing typed is lost."""

from __future__ import annotations

import re
from typing import Final

from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart, fill_identity, summary_text, values_text, write_values
from tests.support.charts import chart_archive, tar_gz
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"


def _open(dashboard: Dashboard, token: str, namespace: str) -> Page:
    dashboard.sign_in(token, f"/deploy?namespace={namespace}")
    dashboard.heading("Deploy an xApp")
    return dashboard.page


def test_a_broken_archive_is_refused_at_the_file(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    page = _open(dashboard, accounts.with_role("admin"), namespace)
    fill_identity(page)
    choose_chart(page, b"this is no archive", "broken.tgz")
    group = page.get_by_role("group", name="broken.tgz")
    expect(group.get_by_role("alert")).to_contain_text("gzip")
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-broken-archive")

    choose_chart(page, tar_gz({"hello/values.yaml": "a: 1\n"}), "no-chart.tgz")
    expect(page.get_by_role("group", name="no-chart.tgz").get_by_role("alert")).to_contain_text("Chart.yaml")
    choose_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    expect(page.get_by_role("textbox", name="Organization")).to_have_value("acme")


def test_a_file_that_is_too_large_is_not_even_sent(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    page = _open(dashboard, accounts.with_role("admin"), namespace)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    choose_chart(page, bytes(1_500_000), "large.tgz")
    expect(page.get_by_role("group", name="large.tgz").get_by_role("alert")).to_contain_text("at most 1.0 MiB")
    assert sent == []


def test_fields_are_checked_when_they_are_left_and_before_anything_is_sent(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    page = _open(dashboard, accounts.with_role("admin"), namespace)
    choose_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    version = page.get_by_role("textbox", name="Version", exact=True)
    version.fill("v1")
    page.get_by_role("textbox", name="Team").fill("ran")
    expect(page.get_by_text("Must be dotted numeric, such as 0.2.1 (no letters, no v).")).to_be_visible()

    page.get_by_role("button", name="Submit").click()
    text = summary_text(page)
    assert "Organization" in text
    assert "is missing" in text
    assert "Version" in text
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-refused-fields")
    page.get_by_role("link", name="Organization").click()
    expect(page.get_by_role("textbox", name="Organization")).to_be_focused()


def test_the_schema_refuses_at_the_line_of_the_value(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    page = _open(dashboard, accounts.with_role("admin"), namespace)
    choose_chart(page, chart())
    fill_identity(page)
    values = '# mine\nreplicas: -1\nimage:\n  tagg: "2"\n  tag: latest\n'
    write_values(page, values)
    # Found in the page, before anything is sent.
    expect(page.get_by_role("button", name=re.compile("line 2.*replicas"))).to_be_visible()
    expect(
        page.get_by_role("button", name=re.compile("line 4.*image.tagg is no value of this chart: image.tag"))
    ).to_be_visible()
    expect(
        page.get_by_role("button", name=re.compile(r"line 5.*image\.tag must match \^\[0-9\.\]\+\$"))
    ).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-schema")

    page.get_by_role("button", name="Preview").click()
    assert "Values, replicas: must be at least 0" in summary_text(page)
    assert "Values, image.tag: must match ^[0-9.]+$" in summary_text(page)
    # What page and gateway both find wrong is listed once.
    expect(page.get_by_role("button", name=re.compile("line 2.*replicas"))).to_have_count(1)
    assert values_text(page) == values
    page.get_by_role("link", name=re.compile("image.tag")).click()
    expect(page.get_by_role("textbox", name="Your values, YAML")).to_be_focused()
    assert page.locator(".cm-activeLine").inner_text().strip() == "tag: latest"


def test_a_pattern_or_a_text_without_end_does_not_stop_the_page(
    dashboard: Dashboard, accounts: Accounts, namespace: str
) -> None:
    page = _open(dashboard, accounts.with_role("admin"), namespace)
    schema = '{"properties": {"greeting": {"type": "string", "pattern": "^(a+)+$"}}}'
    choose_chart(page, chart(**{"values.schema.json": schema}))
    fill_identity(page)
    write_values(page, f"greeting: {'a' * 40}!\n")
    expect(page.get_by_text("takes longer than half a second")).to_be_visible()
    write_values(page, "greeting: &a\n  <<: *a\n")
    expect(page.get_by_role("button", name=re.compile("line 2.*stands inside of what it names"))).to_be_visible()
    write_values(page, "greeting: aaa\nimag: 1\n")
    expect(page.get_by_text("imag is no value of this chart: image?")).to_be_visible()


def test_a_name_that_is_taken_is_shown_before_and_after(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart(), organization="acme", xAppName="hello"))
    page = _open(dashboard, accounts.with_role("admin"), xapps.namespace)
    choose_chart(page, chart("0.2.0"))
    fill_identity(page)
    expect(page.get_by_role("link", name="upgrade it")).to_be_visible()
    write_values(page, "greeting: mine\n")
    page.get_by_role("button", name="Submit").click()
    assert "acme-ran-hello" in summary_text(page)
    assert values_text(page) == "greeting: mine\n"
    upgrade = page.get_by_role("alert").get_by_role("link", name="Upgrade")
    dashboard.check_accessibility()
    # The page that upgrades it takes the file and the values.
    upgrade.click()
    expect(page).to_have_url(re.compile(rf"/xapps/{xapps.namespace}/acme-ran-hello/upgrade$"))
    expect(page.get_by_text("hello 0.2.0", exact=True)).to_be_visible()
    assert values_text(page) == "greeting: mine\n"
    expect(page.get_by_role("textbox", name="Version", exact=True)).to_have_value("0.2.0")
    dashboard.screenshots("upgrade-from-deploy")
    page.go_back()
    page.get_by_role("button", name="Leave").click()
    dashboard.heading("Deploy an xApp")
    assert values_text(page) == "greeting: mine\n"
    page.get_by_role("link", name="upgrade it").click()
    expect(page.get_by_role("button", name="Preview")).to_be_enabled()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object changes.")).to_be_visible()


def test_the_preview_offers_to_adopt_objects_that_exist_already(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.kubectl("create", "configmap", NAME)
    page = _open(dashboard, accounts.with_role("admin"), xapps.namespace)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    choose_chart(page, chart())
    fill_identity(page)
    write_values(page, "greeting: mine\n")
    page.get_by_role("button", name="Preview").click()
    refusal = page.get_by_text(f'ConfigMap "{NAME}" in namespace "{xapps.namespace}" exists')
    expect(refusal).to_be_visible()
    dashboard.check_accessibility()
    sent.clear()
    adopt_it = page.get_by_role("button", name="Adopt it")
    adopt_it.click()
    expect(page.get_by_role("checkbox", name="Adopt a release")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Adopt a release")).to_be_focused()
    expect(adopt_it).to_have_count(0)
    expect(page.get_by_role("textbox", name="Organization")).to_have_value("acme")
    assert values_text(page) == "greeting: mine\n"
    assert sent == []

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("You have edited since this preview.")).to_have_count(0)
    expect(refusal).to_have_count(0)


def test_an_install_that_meets_existing_objects_goes_on_with_their_adoption(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.kubectl("create", "configmap", NAME)
    xapps.apply(xapps.uploaded_manifest(NAME, chart()))
    xapps.wait_stalled(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}")
    page = dashboard.page
    cause = page.get_by_role("region", name="Why it is not Ready")
    dashboard.check_accessibility()
    cause.get_by_role("link", name="Adopt...").click()
    expect(page).to_have_url(re.compile(r"/upgrade\?adopt=true$"))
    adopt = page.get_by_role("checkbox", name="Adopt a release")
    expect(adopt).to_be_checked()
    page.get_by_text("Adopt a release").click()
    expect(adopt).not_to_be_checked()
    expect(page).to_have_url(re.compile(r"/upgrade$"))
    page.get_by_role("textbox", name="Owner").fill("paul")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Adopt it").click()
    expect(adopt).to_be_checked()
    expect(adopt).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("You have edited since this preview.")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    dashboard.heading(NAME)
    xapps.wait_ready(NAME)
    assert (xapps.get("xapp", NAME) or {})["spec"]["adopt"] is True


def test_changed_values_that_meet_existing_objects_go_on_with_their_adoption(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    taken = "{{ if .Values.extra }}{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}{{ end }}"
    archive = chart_archive({"values.yaml": "extra: false\n", "templates/taken.yaml": taken})
    xapps.kubectl("create", "configmap", "taken")
    xapps.apply(xapps.uploaded_manifest(NAME, archive))
    xapps.wait_ready(NAME)
    dashboard.sign_in(accounts.with_role("admin"), f"/xapps/{xapps.namespace}/{NAME}/values")
    page = dashboard.page
    write_values(page, "# mine\nextra: true\n")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Adopt it").click()
    expect(page).to_have_url(re.compile(r"/upgrade\?adopt=true$"))
    expect(page.get_by_role("checkbox", name="Adopt a release")).to_be_checked()
    assert values_text(page) == "# mine\nextra: true\n"
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 object")).to_be_visible()
    expect(page.get_by_role("button", name="Adopt it")).to_have_count(0)
    page.get_by_role("button", name="Upgrade", exact=True).click()
    expect(page).to_have_url(re.compile(rf"/{NAME}$"))
    xapps.wait_ready(NAME)
    assert (xapps.get("xapp", NAME) or {})["spec"]["adopt"] is True


def test_a_reader_sees_which_right_is_missing(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    page = _open(dashboard, accounts.with_role("view"), namespace)
    choose_chart(page, chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    submit = page.get_by_role("button", name="Submit")
    expect(submit).to_have_attribute("aria-disabled", "true")
    # The tooltip says this reason, and scrolling closes it: the list of xApps tests that it opens.
    expect(submit).to_have_attribute("data-reason", f"Needs: create xapps in {namespace}")
    dashboard.check_accessibility()


def test_hostile_texts_of_a_chart_are_texts(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    page = _open(dashboard, accounts.with_role("admin"), namespace)
    hostile = "<img src=x onerror=alert(1)>\u202e evil \x1b[31m"
    schema = (
        '{"properties": {"<b>k</b>": {"type": "string", "title": "<i>t</i>", "description": "[x](javascript:alert(1)) '
        + ("long " * 1000)
        + '"}}}'
    )
    choose_chart(
        page,
        chart(
            **{
                "README.md": hostile,
                "values.yaml": 'greeting: "<script>"\nimage: {tag: "1"}\n# <b>\u202e\n',
                "values.schema.json": schema,
            }
        ),
    )
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    page.get_by_role("button", name="README").click()
    expect(page.get_by_role("textbox", name="README of the chart")).to_contain_text("<img src=x onerror=alert(1)>")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_role("textbox", name="<i>t</i>")).to_be_visible()
    expect(page.get_by_text("[x](javascript:alert(1))")).to_be_visible()
    assert page.locator("main img, main i, main b").count() == 0
