"""The browser of the tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

CHROMIUM: Final = "chromium-headless-shell"
SANDBOX_OFF: Final = "--no-sandbox"
"""Chromium's own sandbox refuses to run as root. The tests load pages of this checkout only."""
EXPECT_MILLISECONDS: Final = 20_000


WITHOUT_COMPILED_CODE: Final = "--js-flags=--jitless"
"""For counts of what a page keeps: V8 compiles more and more of a page that is used, and counts that code as heap."""


@contextmanager
def start_chromium(*options: str) -> Iterator[Browser]:
    """Starts Chromium, and ends it. Skips the test where it is not installed.

    An event loop counts as running in this thread until the end, so no test may run a loop of its own meanwhile: a
    fixture must end with the tests of the browser, and not with the session.
    """
    program = shutil.which(CHROMIUM)
    if program is None:
        pytest.skip(f"{CHROMIUM} is not on PATH: install it (on Debian: apt-get install {CHROMIUM} fonts-dejavu-core)")
    expect.set_options(timeout=EXPECT_MILLISECONDS)
    args = [*options, SANDBOX_OFF] if os.geteuid() == 0 else list(options)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=args)
        yield browser
        browser.close()
