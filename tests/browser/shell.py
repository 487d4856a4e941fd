"""Runs what a page copies as a command, in the shell that it is quoted for."""

from __future__ import annotations

import subprocess
from typing import Final

from playwright.sync_api import Locator, Page, expect

from tests.localcluster import Cluster

SECONDS: Final = 60


def copied_command(page: Page, button: Locator, name: str) -> str:
    """Choose `curl` or `kubectl` in the menu of "Copy as", and return what the clipboard has then."""
    button.click()
    page.get_by_role("menuitem", name=name, exact=True).click()
    expect(page.get_by_text(f"Copied as {name}").last).to_be_visible()
    command: str = page.evaluate("navigator.clipboard.readText()")
    return command


def in_shell(command: str, cluster: Cluster, *, gateway: str = "", token: str = "") -> str:
    """Run a command in sh with the kubectl of the cluster, or with the address of a gateway; return what it writes."""
    env = {**cluster.env, "GATEWAY": gateway, "TOKEN": token, "NO_PROXY": "*"}
    done = subprocess.run(["sh", "-ec", command], env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout
