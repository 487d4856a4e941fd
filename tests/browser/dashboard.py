"""Drives the dashboard in one page of the browser, as a person would."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page, Response, expect

from tests.localcluster.cluster import ROOT

AXE: Final = ROOT / "operator" / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS: Final = Path(__file__).parent / "screenshots"
THEMES: Final = ("light", "dark")
AXE_WIDTHS: Final = (360, 1280)
SCREENSHOT_WIDTHS: Final = (360, 768, 1280, 1920, 3840)
HEIGHTS: Final = {360: 780, 768: 1024, 1280: 800, 1920: 1080, 3840: 2160}
MAX_HEIGHT: Final = 5000
AXE_RULES: Final = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]},
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""Rules for each theme: in the second one, those that depend on colours. The others find the same in both."""

_RUN_AXE: Final = "options => axe.run(document, options).then((found) => found.violations)"
_REPORT_VIOLATIONS: Final = """
document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy violation: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile))
"""
_FAILED_REQUEST: Final = re.compile(r"^Failed to load resource: ")
"""What Chromium writes for each response with an error status, and for a gateway that is away. Pages show those."""

_PASSING: Final = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
"""Of a cluster, a repository or an xApp that does not answer."""


class Dashboard:
    """One page of the browser. `problems` must be empty at the end of a test."""

    def __init__(self, context: BrowserContext, url: str, *, takes_screenshots: bool) -> None:
        self.url = url
        self.context = context
        self.problems: list[str] = []
        self.failed_requests: list[str] = []
        """Shown when a test fails. Pages deal with them."""
        self._takes_screenshots = takes_screenshots
        context.add_init_script(_REPORT_VIOLATIONS)
        self.page = self.new_page()

    def new_page(self) -> Page:
        """Return another tab of the same browser, which is signed in with the others."""
        page = self.context.new_page()
        page.on("console", self._note_console)
        page.on("pageerror", self._note_error)
        page.on("requestfailed", lambda sent: self.failed_requests.append(f"{sent.method} {sent.url}: {sent.failure}"))
        page.on("response", self._note_response)
        return page

    def open(self, path: str = "/") -> None:
        """Load a page."""
        self.page.goto(self.url + path)

    def sign_in(self, token: str, path: str = "/xapps") -> None:
        """Open a page, sign in where it asks for it, and wait for the page."""
        self.open(path)
        field = self.page.get_by_label("Bearer token")
        field.fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        expect(field).to_have_count(0)
        expect(self.page.get_by_role("navigation", name="Main")).to_be_visible()

    def heading(self, name: str | re.Pattern[str]) -> None:
        """Wait for the page with this heading."""
        expect(self.page.get_by_role("heading", level=1, name=name)).to_be_visible()

    def check_accessibility(self, widths: Iterable[int] = AXE_WIDTHS) -> None:
        """Check the page as it is now, with its dialog, against WCAG 2.2 A and AA, in both themes and these widths."""
        size = self.page.viewport_size
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        for theme in THEMES:
            for width in widths:
                self._look(theme, width)
                options = {"runOnly": AXE_RULES[theme], "resultTypes": ["violations"]}
                findings = _describe(self.page.evaluate(_RUN_AXE, options))
                assert not findings, f"{theme}, {width} px:\n" + "\n".join(findings)
        self.page.emulate_media(color_scheme="light")
        if size is not None:
            self.page.set_viewport_size(size)

    def screenshots(self, name: str) -> None:
        """Save pictures of the page as it is now (`--screenshots`), in both themes and five widths."""
        if not self._takes_screenshots:
            return
        size = self.page.viewport_size
        for theme in THEMES:
            for width in SCREENSHOT_WIDTHS:
                self._look(theme, width)
                self._show_whole_page(width)
                self.page.screenshot(path=SCREENSHOTS / f"{name}-{theme}-{width}.png", animations="disabled")
        self.page.emulate_media(color_scheme="light")
        if size is not None:
            self.page.set_viewport_size(size)

    def _show_whole_page(self, width: int) -> None:
        """Make the window as high as the page, unless a dialog is open: it stands in the middle of the window."""
        if self.page.get_by_role("dialog").or_(self.page.get_by_role("alertdialog")).count() == 0:
            height: int = self.page.evaluate("document.documentElement.scrollHeight")
            self.page.set_viewport_size({"width": width, "height": max(HEIGHTS[width], min(height, MAX_HEIGHT))})

    def _look(self, theme: str, width: int) -> None:
        self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        self.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not _FAILED_REQUEST.match(message.text):
            self.problems.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _note_response(self, response: Response) -> None:
        if response.status >= HTTPStatus.BAD_REQUEST:
            failed = f"{response.request.method} {response.url}: {response.status}"
            self.failed_requests.append(failed)
            # Refusals are part of many flows, and a gateway that starts answers 503. A page never causes an error.
            if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR and response.status not in _PASSING:
                self.problems.append(f"the gateway failed: {failed}")

    def _note_error(self, error: Error) -> None:
        self.problems.append(f"script error: {error.message}\n{error.stack or ''}")


def _describe(violations: list[dict[str, Any]]) -> list[str]:
    """Return one line for each element with a finding."""
    return [
        f"{violation['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for violation in violations
        for node in violation["nodes"]
    ]
