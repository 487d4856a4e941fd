"""What a person does who has only a keyboard."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Locator, Page

TABS_MAX: Final = 60
IS_COVERED: Final = """() => {
  const focused = document.activeElement, box = focused.getBoundingClientRect()
  const [x, y] = [box.left + Math.min(box.width, 20) / 2, box.top + Math.min(box.height, 20) / 2]
  const sticks = (one) => ['sticky', 'fixed'].includes(getComputedStyle(one).position) && !one.contains(focused)
  for (let one = document.elementFromPoint(x, y); one !== null; one = one.parentElement)
    if (sticks(one)) return `${focused.outerHTML.slice(0, 200)} is under ${one.outerHTML.slice(0, 200)}`
  return y > innerHeight ? `${focused.outerHTML.slice(0, 200)} is below the window` : ''
}"""


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the element has the focus. What has the focus on the way is in view."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        assert page.evaluate(IS_COVERED) == ""
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"Tab does not reach {target}")
