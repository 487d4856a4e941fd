"""What can be pressed is large enough, 44 px for a finger and 24 px for a mouse, and leaves room for the list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.accounts import Accounts
from tests.browser.chromium import EXPECT_MILLISECONDS
from tests.browser.dashboard import Dashboard
from tests.browser.deploy_steps import chart, choose_chart, save_repository
from tests.browser.gateway import BrowserGateway
from tests.browser.loaded_pages import FITS, TABS, wait_for
from tests.support.charts import chart_archive
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "a-r-x"
SERVICE: Final = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-http
spec:
  ports: [{name: http, port: 8080}]
"""
VALUES: Final = "extra: {}\nhosts: []\n"
NARROW: Final[ViewportSize] = {"width": 390, "height": 844}
NARROWEST: Final[ViewportSize] = {"width": 360, "height": 780}
WIDE: Final[ViewportSize] = {"width": 800, "height": 1100}
WIDEST: Final[ViewportSize] = {"width": 1280, "height": 800}
SIZES: Final = {"coarse": 44, "fine": 24}
"""In pixels, by how exact the pointer of the device is."""
FIRST_CARD_MAX: Final = 330
"""Of the 780 px that a phone is high."""
PAGES: Final = ("/xapps", "/services", "/repositories")

FIND_SMALL_TARGETS: Final = """
(size) => {
  const reach = size / 2 - 1
  const small = []
  // A dialog and a menu cover everything else.
  const root = document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') ?? document
  for (const element of root.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    // Links in running text are as high as their line. What is clipped is for screen readers.
    if (element.closest('p, [aria-hidden=true]') || !element.checkVisibility({ visibilityProperty: true })) continue
    let outer = element
    while (outer !== null && getComputedStyle(outer).clipPath === 'none') outer = outer.parentElement
    if (outer !== null) continue
    const target = element.closest('label') ?? element
    target.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
    const box = target.getBoundingClientRect()
    // Room around a target that only a press sees.
    const room = getComputedStyle(target, '::after')
    const hasRoom = room.position === 'absolute'
    const x = box.x + (hasRoom ? parseFloat(room.left) + parseFloat(room.width) / 2 : box.width / 2)
    const y = box.y + (hasRoom ? parseFloat(room.top) + parseFloat(room.height) / 2 : box.height / 2)
    for (const [right, down] of [[0, 0], [-reach, 0], [reach, 0], [0, -reach], [0, reach]]) {
      const hit = document.elementFromPoint(x + right, y + down)
      if (hit !== null && target.contains(hit)) continue
      const name = element.getAttribute('aria-label') ?? element.textContent
      small.push(`${element.localName} ${name}: ${right}, ${down} from the middle of ${box.width} x ${box.height}
        hits ${hit?.outerHTML.slice(0, 120)}`)
    }
  }
  return small
}
"""
"""Each target that a press beside its middle misses."""


@contextmanager
def _signed_in(
    chromium: Browser, gateway: BrowserGateway, token: str, *, viewport: ViewportSize, pointer: str
) -> Iterator[Dashboard]:
    """A page whose pointer is a finger or a mouse; it has no problems at its end."""
    is_touch = pointer == "coarse"
    options: dict[str, Any] = {"has_touch": is_touch, "is_mobile": is_touch, "reduced_motion": "reduce"}
    with chromium.new_context(viewport=viewport, **options) as context:
        context.set_default_timeout(EXPECT_MILLISECONDS)
        dashboard = Dashboard(context, gateway.url, takes_screenshots=False)
        dashboard.sign_in(token)
        assert dashboard.page.evaluate(f"matchMedia('(pointer: {pointer})').matches")
        yield dashboard
        assert dashboard.problems == []


@pytest.mark.parametrize("pointer", SIZES)
def test_every_target_is_large_enough_for_its_pointer(
    chromium: Browser, gateway: BrowserGateway, accounts: Accounts, xapps: XAppClient, pointer: str
) -> None:
    files = {"templates/service.yaml": SERVICE, "values.yaml": VALUES}
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive(files), values={"extra": {"a": "1"}, "hosts": ["b"]}))
    xapps.wait_ready(NAME)
    save_repository(xapps, "http://127.0.0.1:9/charts", name="a")
    size = SIZES[pointer]
    with _signed_in(chromium, gateway, accounts.with_role("admin"), viewport=NARROW, pointer=pointer) as dashboard:
        small = [f"{path} {target}" for path in PAGES for target in _small_targets(dashboard, path, xapps, size)]
        dashboard.page.set_viewport_size(WIDE)
        small += [f"wide {path} {target}" for path in PAGES for target in _small_targets(dashboard, path, xapps, size)]
        dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/values?view=form")
        for viewport in (NARROW, WIDE, WIDEST):
            dashboard.page.set_viewport_size(viewport)
            for name in ("Remove a", "Remove item 1"):
                expect(dashboard.page.get_by_role("button", name=name)).to_be_visible()
            found = dashboard.page.evaluate(FIND_SMALL_TARGETS, size)
            small += [f"form, {viewport['width']} px: {target}" for target in found]
        assert not small, "\n".join(small)


def test_fingers_meet_every_target_of_an_xapp_of_forms_and_of_dialogs(
    chromium: Browser, gateway: BrowserGateway, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart()))
    xapps.wait_ready(NAME)
    save_repository(xapps, "http://127.0.0.1:9/charts", name="a")
    base = f"/xapps/{xapps.namespace}/{NAME}"
    small: list[str] = []
    with _signed_in(chromium, gateway, accounts.with_role("admin"), viewport=NARROWEST, pointer="coarse") as dashboard:
        page = dashboard.page

        def look(what: str, content: str) -> None:
            wait_for(page, content)
            small.extend(f"{what}: {target}" for target in page.evaluate(FIND_SMALL_TARGETS, SIZES["coarse"]))

        for tab, content in TABS.items():
            dashboard.open(base + tab)
            look(f"tab {tab}", content)
        dashboard.open(base)
        for name, role in {"Uninstall...": "alertdialog:", "More": "menu:"}.items():
            page.get_by_role("button", name=name).tap()
            look(name, role)
            page.keyboard.press("Escape")
        dashboard.open(f"{base}/upgrade")
        look("upgrade", "button:Preview")
        dashboard.open(f"/deploy?namespace={xapps.namespace}")
        choose_chart(page, chart())
        page.get_by_text("More options").tap()
        look("deploy", "button:Replace")
        page.get_by_role("button", name="Copy as").tap()
        look("copy as", "menu:")
        dashboard.open(f"/deploy?method=repository&namespace={xapps.namespace}")
        look("deploy from a repository", "button:Submit")
        dashboard.open("/repositories/new")
        look("a new repository", "button:Save")
        dashboard.open(f"/xapps?namespace={xapps.namespace}")
        page.get_by_role("button", name="Filters, 1 set").tap()
        look("filters", "dialog:Filters")
    assert not small, "\n".join(small)


@pytest.mark.parametrize("pointer", SIZES)
def test_the_list_begins_in_the_upper_half_of_a_phone(
    chromium: Browser, gateway: BrowserGateway, accounts: Accounts, xapps: XAppClient, pointer: str
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive()))
    xapps.wait_ready(NAME)
    token = accounts.with_role("admin")
    with _signed_in(chromium, gateway, token, viewport=NARROWEST, pointer=pointer) as dashboard:
        page = dashboard.page
        card = page.locator("tbody tr").first
        expect(card).to_be_visible()
        chips = page.get_by_role("group", name="Health")
        expect(chips.get_by_role("button", name=re.compile(r"^All \d"))).to_be_visible()
        box = card.bounding_box()
        assert box is not None
        assert box["y"] < FIRST_CARD_MAX
        # Chips have one row, which begins with the one that is on, if that has no room otherwise.
        dashboard.open("/xapps?health=Unknown")
        unknown = chips.get_by_role("button", name=re.compile(r"^Unknown \d"))
        expect(unknown).to_be_in_viewport(ratio=0.99)
        chips.evaluate("row => { row.scrollLeft = 0 }")
        expect(unknown).not_to_be_in_viewport()
        assert page.evaluate(FITS)


def _small_targets(dashboard: Dashboard, path: str, xapps: XAppClient, size: int) -> list[str]:
    dashboard.open(f"{path}?namespace={xapps.namespace}")
    page: Page = dashboard.page
    name = "a" if path == "/repositories" else NAME
    expect(page.locator("tbody").get_by_role("link", name=name, exact=True)).to_be_visible()
    found: list[str] = page.evaluate(FIND_SMALL_TARGETS, size)
    return found
