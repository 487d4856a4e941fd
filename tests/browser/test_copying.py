"""Names, addresses and messages are copied from beside them, with buttons that take no room from what is shown."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from playwright.sync_api import Locator, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-kpi"
OUTSIDE: Final = "charts-of-the-operations-centre.example.com"
MOVED_BY_BUTTONS: Final = """() => {
  const buttons = [...document.querySelectorAll('main button')].filter((one) => getComputedStyle(one).opacity === '0')
  const boxes = () => [...document.querySelectorAll('main tr, main td, main li, main p')].map((each) => {
    const { x, width, height } = each.getBoundingClientRect()
    return `${x} ${width} ${height} ${each.textContent.slice(0, 80)}`
  })
  const before = boxes()
  for (const one of buttons) one.style.display = 'none'
  const after = boxes()
  for (const one of buttons) one.style.display = ''
  return [buttons.length, before.filter((each, at) => each !== after[at])]
}"""
"""How many buttons wait for the pointer, and what would have another size without them."""


def has_failed(xapps: XAppClient) -> bool:
    condition = xapps.current_condition(NAME, "Ready")
    return condition is not None and condition["reason"] == "HealthCheckFailed"


def check_that_no_room_is_taken(dashboard: Dashboard) -> None:
    page = dashboard.page
    page.mouse.move(0, 0)
    for width in (1280, 800):
        page.set_viewport_size({"width": width, "height": 800})
        hidden, moved = page.evaluate(MOVED_BY_BUTTONS)
        assert hidden > 0
        assert moved == [], f"{width} pixels wide"
    page.set_viewport_size({"width": 1280, "height": 800})


def copied(dashboard: Dashboard, button: Locator) -> str:
    """Copy with the mouse, which shows the button, and return what the clipboard has then."""
    expect(button).to_have_css("opacity", "0")
    button.hover()
    expect(button).to_have_css("opacity", "1")
    dashboard.page.evaluate("navigator.clipboard.writeText('')")
    button.click()
    dashboard.page.wait_for_function("navigator.clipboard.readText().then((text) => text !== '')")
    text: str = dashboard.page.evaluate("navigator.clipboard.readText()")
    return text


def test_names_and_addresses_of_services_are_copied(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    services: list[dict[str, Any]] = [
        {"metadata": {"name": "e2t"}, "spec": {"ports": [{"port": 80}]}},
        {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
        {"metadata": {"name": "outside"}, "spec": {"type": "ExternalName", "externalName": OUTSIDE}},
    ]
    made = [{"apiVersion": "v1", "kind": "Service", **each} for each in services]
    xapps.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    address = xapps.kubectl("get", "service", "e2t", "-o", "jsonpath={.spec.clusterIP}")
    page, namespace = dashboard.page, xapps.namespace
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("view"), f"/services?namespace={namespace}")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    check_that_no_room_is_taken(dashboard)
    for text in (f"e2t.{namespace}.svc", address, f"outside.{namespace}.svc", OUTSIDE):
        assert copied(dashboard, rows.get_by_role("button", name=f"Copy {text}", exact=True)) == text
    # A headless Service has no address of its own, but a name.
    buttons = rows.nth(1).get_by_role("button")
    expect(buttons).to_have_count(2)
    expect(buttons.first).to_have_accessible_name(f"Copy headless.{namespace}.svc")
    dashboard.check_accessibility()

    # The keyboard shows the button that it reaches, also where the columns are folded.
    for width in (1280, 800):
        page.set_viewport_size({"width": width, "height": 800})
        page.locator("#content, main").first.click(position={"x": 1, "y": 1})
        name = rows.first.get_by_role("button", name=f"Copy e2t.{namespace}.svc", exact=True)
        name.focus()
        page.keyboard.press("Tab")
        button = rows.first.get_by_role("button", name=f"Copy {address}", exact=True)
        expect(button).to_be_focused()
        expect(button).to_have_css("opacity", "1")
        page.keyboard.press("Shift+Tab")
        expect(name).to_have_css("opacity", "1")


def test_pods_images_and_messages_are_copied_and_what_an_image_waits_for_is_said_once(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    values = {"fail": "ImagePullBackOff"}
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values=values, timeout="3s"))
    xapps.wait_until(lambda: has_failed(xapps), what="the end of its timeout", xapp=NAME)
    pod = xapps.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.name}")
    page = dashboard.page
    dashboard.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text(re.compile(f"^Pod {pod}, container main: ImagePullBackOff"))).to_be_visible()
    health = page.get_by_role("region", name="Health")
    expect(health.get_by_role("button", name=f"Copy the name of pod {pod}")).to_be_visible()
    check_that_no_room_is_taken(dashboard)
    assert copied(dashboard, health.get_by_role("button", name=f"Copy the name of pod {pod}")) == pod
    assert copied(dashboard, health.get_by_role("button", name="Copy the name of container main")) == "main"
    image = health.get_by_role("button", name="Copy the image of container main")
    assert copied(dashboard, image) == "registry.example.com/main:1"
    message = copied(dashboard, cause.get_by_role("button", name="Copy the message").first)
    assert "ImagePullBackOff" in message
    ready = page.get_by_role("region", name="Conditions").get_by_role("row", name=re.compile("^Ready"))
    assert copied(dashboard, ready.get_by_role("button", name="Copy the message")) == message

    # A container that never ran has no last words.
    expect(cause.get_by_text("Last words")).to_have_count(0)
    (waits_for,) = json.loads(
        xapps.kubectl("get", "pod", pod, "-o", "jsonpath=[{.status.containerStatuses[0].state.waiting}]")
    )
    assert cause.inner_text().count(waits_for["message"]) == 1
    dashboard.check_accessibility()

    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/events")
    row = page.locator("tbody tr").first
    expect(row).to_be_visible()
    check_that_no_room_is_taken(dashboard)
    shown = row.get_by_role("cell").nth(4).inner_text()
    assert copied(dashboard, row.get_by_role("button", name="Copy the message")) == shown
    dashboard.check_accessibility()
