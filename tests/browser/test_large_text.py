"""Pages in a browser whose own font is twice as large as usual, in windows of as many pixels as before."""

from __future__ import annotations

from typing import Final

import pytest

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.browser.loaded_pages import TABS, fit_into, wait_for
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hello"
FONT_PIXELS: Final = 32
WIDTHS: Final = (320, 360, 480, 768, 1024, 1280)
PAGES: Final = ("/xapps", "/deploy", "/repositories", "/repositories/new", "/services", "/about")
OUTSIDE_THE_HEADER: Final = """header => [...header.querySelectorAll('a, button')]
    .filter((each) => each.getBoundingClientRect().right > innerWidth || each.getBoundingClientRect().left < 0)
    .map((each) => each.outerHTML.slice(0, 120))"""


@pytest.fixture
def large_text(dashboard: Dashboard) -> Dashboard:
    sizes = {"standard": FONT_PIXELS, "fixed": FONT_PIXELS}
    dashboard.context.new_cdp_session(dashboard.page).send("Page.setFontSizes", {"fontSizes": sizes})
    return dashboard


def test_no_page_is_wider_than_its_window(large_text: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    page = large_text.page
    large_text.sign_in(accounts.with_role("admin"))
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == f"{FONT_PIXELS}px"
    base = f"/xapps/{xapps.namespace}/{NAME}"
    for path in (*PAGES, *(base + tab for tab in TABS), f"{base}/upgrade", f"{base}/values?view=form"):
        large_text.open(path)
        wait_for(page, TABS.get(path.removeprefix(base), "heading:"))
        for width in WIDTHS:
            fit_into(page, width, what=path)
            assert page.get_by_role("banner").evaluate(OUTSIDE_THE_HEADER) == [], f"{path}, {width} px"
        large_text.screenshots(f"large-text-{path.rpartition('/')[2].partition('?')[0]}")
