"""Waits for a page to be complete, such as before its layout is measured."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Page, expect

from tests.localcluster.waiting import DeadlineExceeded, wait_until

LOADED: Final = "document.querySelector('[aria-label=Loading]') === null && document.readyState === 'complete'"
FITS: Final = "document.documentElement.scrollWidth <= innerWidth"
"""Whether the page does not scroll sideways."""
BEYOND_THE_WINDOW: Final = """[...document.querySelectorAll('main *')]
    .filter((each) => each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML.slice(0, 120))"""
"""The elements because of which it does."""
TABS: Final = {
    "": "heading:Conditions",
    "/logs": "log:",
    "/events": "table:Events of the xApp",
    "/values": "textbox:Your values, YAML",
    "/history": "table:Revisions of the release",
    "/manifest": "heading:Manifest",
    "/notes": "region:Notes",
    "/own-api": "region:Its API",
}
"""What each page of an xApp shows once it is read: a role and a name."""


def fit_into(page: Page, width: int, *, what: str) -> None:
    """Give the window a width, and wait until the page does not scroll sideways. Raises DeadlineExceeded."""
    page.set_viewport_size({"width": width, "height": 800})
    try:
        wait_until(lambda: page.evaluate(FITS), timeout=10, what=f"{what} to fit into {width} px")
    except DeadlineExceeded as exceeded:
        exceeded.add_note(str(page.evaluate(BEYOND_THE_WINDOW)))
        raise


def wait_for(page: Page, content: str) -> None:
    """Wait for a role and a name, such as `heading:Manifest`, and until nothing is on its way any more."""
    role, _, name = content.partition(":")
    found = page.get_by_role(role, name=name, exact=True) if name else page.get_by_role(role)  # type: ignore[arg-type]
    expect(found.first).to_be_visible()
    wait_until(lambda: page.evaluate(LOADED), timeout=10, what="everything to be loaded", interval=0.02)
