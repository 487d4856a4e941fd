"""Texts that a chart controls are texts on the page /deploy, whatever they contain and however long they are."""

from __future__ import annotations

import json
import re
from typing import Final

from playwright.sync_api import Page, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import choose_chart, fill_identity, summary_text, write_values
from tests.support.charts import CONFIGMAP_TEMPLATE, chart_archive

HTML: Final = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
BIDI: Final = "safe\u202eexe.gpj"
ANSI: Final = "\x1b[31mred\x1b[0m\x1b]8;;https://evil.example\x07link\x1b]8;;\x07"
LONG: Final = "x" * 5000
HOSTILE: Final = f"{HTML} {BIDI} {ANSI} {LONG}"
COMMENT: Final = f"# {HTML} {BIDI} {LONG}\n"
"""As a comment: YAML allows no escape character."""

HOSTILE_VALUE: Final = f"{HTML} {BIDI} {LONG}"
QUOTED: Final = {text: json.dumps(text, ensure_ascii=False) for text in (BIDI, HOSTILE_VALUE)}


def _hostile_chart() -> bytes:
    schema = {
        "title": HOSTILE,
        "properties": {
            "greeting": {"type": "string", "title": f"<b>{BIDI}</b> {LONG}", "description": HOSTILE, "maxLength": 9000},
            HTML: {"type": "string"},
            "level": {"enum": [HTML, BIDI, LONG]},
        },
    }
    chart_yaml = {
        "apiVersion": "v2",
        "name": "hello",
        "version": "0.1.0",
        "appVersion": f"1 {HTML} {BIDI} {LONG}",
        "description": HOSTILE,
        "icon": "https://evil.example/icon.png",
        "home": "javascript:document.title='owned'",
        "deprecated": True,
    }
    return chart_archive(
        {
            "Chart.yaml": json.dumps(chart_yaml),
            "README.md": f"{HOSTILE}\n[click](javascript:alert(1)) ![i](https://evil.example/x.png)\n",
            "values.yaml": f"{COMMENT}greeting: hello {COMMENT}level: {json.dumps(HTML)}\nfail: false\n",
            "values.schema.json": json.dumps(schema),
            "templates/configmap.yaml": CONFIGMAP_TEMPLATE,
            "templates/stop.yaml": "{{ if .Values.fail }}{{ fail .Values.greeting }}{{ end }}\n",
            "templates/NOTES.txt": f"{HOSTILE} {{{{ .Values.greeting }}}}\n",
        }
    )


def _expect_only_text(page: Page, dashboard: Dashboard) -> None:
    """No element came from a text, nothing ran, and no text makes the page wider than the window."""
    # The editor itself puts an empty <img class="cm-widgetBuffer"> beside each character that it makes visible.
    places = page.locator("main, [role=dialog]")
    assert places.locator("img:not(.cm-widgetBuffer), script, b, [href*=evil], [href^=javascript]").count() == 0
    assert page.title() != "owned"
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    # The characters that would turn the text around are shown as what they are.
    assert "\u202e" not in page.locator("main").inner_text()
    assert dashboard.problems == []


def test_hostile_texts_of_a_chart_are_texts(dashboard: Dashboard, accounts: Accounts, namespace: str) -> None:
    dashboard.sign_in(accounts.with_role("admin"), f"/deploy?namespace={namespace}")
    page = dashboard.page
    foreign: list[str] = []
    page.on("request", lambda sent: foreign.append(sent.url) if "evil" in sent.url else None)
    choose_chart(page, _hostile_chart())
    expect(page.get_by_text("hello 0.1.0")).to_be_visible()
    expect(page.get_by_title("U+202E").first).to_be_visible()
    _expect_only_text(page, dashboard)
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-hostile-chart")

    for name in ("README", "Values", "Schema"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.get_by_role("textbox", name=f"{name} of the chart")).to_contain_text("<img src=x")
        _expect_only_text(page, dashboard)
        page.keyboard.press("Escape")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_role("textbox", name=re.compile("^<b>safe"))).to_be_visible()
    _expect_only_text(page, dashboard)
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-hostile-form")

    fill_identity(page)
    page.get_by_role("tab", name="YAML").click()
    write_values(page, f"level: {QUOTED[BIDI]}\ngreeting: {QUOTED[HOSTILE_VALUE]}\nfail: false\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    for tab, box in (("Notes", "Notes of the chart"), ("Manifest", "Manifest"), ("Values", "Values of the result")):
        page.get_by_role("region", name="Preview").get_by_role("tab", name=tab, exact=True).click()
        expect(page.get_by_role("textbox", name=box)).to_contain_text("<img src=x")
        _expect_only_text(page, dashboard)
    dashboard.screenshots("deploy-hostile-preview")

    write_values(page, f"greeting: {QUOTED[HOSTILE_VALUE]}\nfail: true\n")
    page.get_by_role("button", name="Preview").click()
    assert HTML[:30] in summary_text(page)
    _expect_only_text(page, dashboard)
    dashboard.check_accessibility()
    dashboard.screenshots("deploy-hostile-error")

    choose_chart(page, chart_archive(name="n" * 250, version=f"1.0.0-{'a' * 200}"))
    expect(page.get_by_text(re.compile("^n{250} 1.0.0-a{200}$"))).to_be_visible()
    _expect_only_text(page, dashboard)
    page.get_by_role("button", name="Values", exact=True).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    _expect_only_text(page, dashboard)
    assert foreign == []
