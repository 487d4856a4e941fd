"""Why an xApp failed: on its page, and one click further in the log of the run that failed."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Route, expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.charts import chart_archive
from tests.support.workload import DEPLOYMENT, workload_chart
from tests.support.xapps import XAppClient

NAME = "acme-ran-kpi"


def reason_of(xapps: XAppClient) -> str:
    condition = xapps.current_condition(NAME, "Ready")
    return "" if condition is None else str(condition["reason"])


LIST_WIDTHS = (1280, 768, 360)
IS_IN_VIEW = """(element, words) => {
  const range = document.createRange()
  const text = element.firstChild
  const start = text.data.indexOf(words)
  range.setStart(text, start)
  range.setEnd(text, start + words.length)
  return range.getBoundingClientRect().bottom <= element.getBoundingClientRect().bottom + 1
}"""


LONGEST_MESSAGE = 600
SIDECARS = "".join(
    f"        - {{name: sidecar-{number}, image: 'registry.example.com/sidecar:1'}}\n" for number in range(4)
)
"""What Kubernetes says of pods with these is longer than that."""

LAYOUT_SHIFT_MAX = 0.02
"""Layout shifts are called good below 0.1."""
NOTE_SHIFTS = """
globalThis.shifts = []
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, startTime, sources } of list.getEntries())
    if (!hadRecentInput) shifts.push({ value, startTime, moved: sources.map(({ node }) => node?.className ?? '') })
}).observe({ type: 'layout-shift', buffered: true })
"""


def test_a_crash_loop_shows_its_cause_and_the_log_of_the_failed_run(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"fail": "CrashLoopBackOff"}, timeout="3s"))
    xapps.wait_until(lambda: reason_of(xapps) == "HealthCheckFailed", what="the end of its timeout", xapp=NAME)
    page = dashboard.page

    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    reason = page.get_by_text("container main: CrashLoopBackOff (exit code 1")
    expect(reason).to_be_visible()
    for width in LIST_WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert reason.evaluate(IS_IN_VIEW, "exit code 1"), f"the row cuts the exit code off, {width} pixels wide"
    page.set_viewport_size({"width": 1280, "height": 800})
    dashboard.screenshots("list-with-a-failed-xapp")

    page.get_by_role("link", name=NAME).click()
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text(re.compile("^Pod .*, container main: CrashLoopBackOff, exit 1"))).to_be_visible()
    expect(cause.get_by_text("Its log says why")).to_be_visible()
    expect(cause.get_by_role("region", name="the last words")).to_be_visible()
    # Once only, so that what to do needs no scrolling.
    expect(cause.get_by_text(re.compile(r"simulated log line \d+$"))).to_have_count(1)
    expect(cause.get_by_text("Kubelet", exact=True)).to_have_count(0)
    expect(cause.get_by_role("link", name="Edit values")).to_be_in_viewport()
    failed_step = page.get_by_role("listitem").filter(has_text="Objects")
    expect(failed_step.get_by_label("failed")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="Pod").get_by_text("Degraded").first).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("failed-xapp")

    # It waits after a crash: there is no other run.
    expect(cause.get_by_role("link", name="Log", exact=True)).to_have_count(0)
    cause.get_by_role("link", name="Log of previous run").click()
    expect(page.get_by_role("checkbox", name="Previous run")).to_be_checked()
    page.get_by_role("navigation", name="Pages of this xApp").get_by_role("link", name="Logs").click()
    expect(page.get_by_role("checkbox", name="Previous run")).to_be_checked()
    log = page.get_by_role("log")
    expect(log).to_contain_text("simulated")
    # That run is over.
    expect(page.get_by_text(re.compile(r"^Complete\."))).to_be_visible()
    expect(page.get_by_role("switch", name="Follow")).to_have_count(0)
    dashboard.check_accessibility()
    dashboard.screenshots("failed-xapp-log")

    page.get_by_label("Find", exact=True).fill("simulated")
    expect(log.locator(".cm-searchMatch").first).to_be_visible()
    expect(page).to_have_url(re.compile(r"/logs\?find=simulated$"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    assert re.fullmatch(rf"{NAME}-.*-main-previous\.log", download.value.suggested_filename)
    assert "simulated" in download.value.path().read_text()

    page.get_by_text("Previous run", exact=True).click()
    expect(page).to_have_url(re.compile(r"[?&]pod=acme-ran-kpi-[^&]*&container=main&find=simulated$"))
    expect(log).to_contain_text("simulated")
    expect(page.get_by_text(re.compile(r"^Live\."))).to_be_visible()
    expect(page.get_by_role("switch", name="Follow")).to_have_count(1)
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(log).not_to_contain_text("simulated")


def test_a_failed_step_names_what_to_do_and_retry_is_one_click(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    template = '{{ fail "the E2 address is missing" }}'
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive({"templates/x.yaml": template})))
    xapps.wait_stalled(NAME)
    page = dashboard.page

    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    reason = page.get_by_role("row", name=NAME).get_by_text("the E2 address is missing")
    for width in LIST_WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        expect(reason).to_be_visible()
        assert reason.evaluate(IS_IN_VIEW, "the E2 address is missing"), f"cut off, {width} pixels wide"
    dashboard.screenshots("list-with-a-failed-template")
    page.set_viewport_size({"width": 1280, "height": 800})

    page.get_by_role("link", name=NAME).click()
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text("the E2 address is missing").first).to_be_visible()
    before = xapps.status(NAME).get("handled", {}).get("retryAt")
    cause.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Accepted: it is tried again")).to_be_visible()
    xapps.wait_until(lambda: xapps.status(NAME).get("handled", {}).get("retryAt") != before, what="the retry")


def test_a_long_failure_is_shown_in_full_once(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    words = "\n".join(f"{number}: the E2 address is missing" for number in range(12))
    template = f"{{{{ fail {json.dumps(words)} }}}}"
    xapps.apply(xapps.uploaded_manifest(NAME, chart_archive({"templates/x.yaml": template})))
    xapps.wait_stalled(NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    conditions = page.get_by_role("region", name="Conditions")
    ready = conditions.get_by_role("row", name=re.compile("^Ready"))
    cause = page.get_by_role("region", name="Why it is not Ready").get_by_text("the E2 address is missing").first
    assert cause.evaluate(IS_IN_VIEW, "11: the E2")
    more = ready.get_by_role("button", name="Show all")
    folded = ready.get_by_text("the E2 address is missing").first
    page.set_viewport_size({"width": 720, "height": 800})
    health = page.get_by_role("region", name="Health").get_by_text("the E2 address is missing").first
    for repeated in (folded, health):
        assert not repeated.evaluate(IS_IN_VIEW, "11: the E2"), "the message is repeated in full"
    page.set_viewport_size({"width": 1280, "height": 800})
    dashboard.check_accessibility()
    dashboard.screenshots("failed-xapp-long-message")
    more.click()
    assert ready.get_by_text("the E2 address is missing").first.evaluate(IS_IN_VIEW, "11: the E2")
    ready.get_by_role("button", name="Show less").click()
    expect(more).to_be_visible()


def test_what_admission_says_is_whole_on_the_page_and_two_lines_in_the_list(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.kubectl("label", "namespace", xapps.namespace, "pod-security.kubernetes.io/enforce=restricted")
    chart = workload_chart(templates__deployment=DEPLOYMENT + SIDECARS)
    xapps.apply(xapps.uploaded_manifest(NAME, chart, timeout="3s"))
    xapps.wait_until(lambda: reason_of(xapps) == "HealthCheckFailed", what="the end of its timeout", xapp=NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps?namespace={xapps.namespace}")
    row = page.get_by_role("row", name=NAME)
    refused = row.get_by_text("violates PodSecurity")
    expect(refused).to_be_visible()
    assert refused.evaluate("element => element.clientHeight / parseFloat(getComputedStyle(element).lineHeight)") < 2.1

    page.get_by_role("link", name=NAME).click()
    whole = re.compile(r'violates PodSecurity "restricted:latest": allowPrivilegeEscalation.*"Localhost"\)')
    cause = page.get_by_role("region", name="Why it is not Ready").get_by_text(whole).first
    expect(cause).to_be_visible()
    said = str(cause.text_content())
    assert len(said) > LONGEST_MESSAGE
    assert "…" not in said
    assert cause.evaluate(IS_IN_VIEW, '"Localhost")')
    conditions = page.get_by_role("region", name="Conditions")
    conditions.get_by_role("row", name=re.compile("^Ready")).get_by_role("button", name="Show all").click()
    for place in (conditions.get_by_role("row", name=re.compile("^Ready")), page.get_by_role("region", name="Health")):
        expect(place.get_by_text(whole).first).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("refused-by-admission")


def test_a_container_that_needs_more_memory_says_so_and_retry_waits_for_it_again(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"fail": "OOMKilled"}, timeout="3s"))
    xapps.wait_until(lambda: reason_of(xapps) == "HealthCheckFailed", what="the end of its timeout", xapp=NAME)
    page = dashboard.page

    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text(re.compile(r"container main: .*OOMKilled.*exit 137"))).to_be_visible()
    expect(cause.get_by_text("Raise the memory limit in the values")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("out-of-memory")

    assert xapps.status(NAME)["lastAttempt"]["outcome"] == "Unhealthy"
    expect(cause.get_by_text("not healthy after 3s (spec.timeout)")).to_be_visible()
    cause.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Accepted: it is tried again")).to_be_visible()
    # The failed attempt is forgotten, although the container still fails.
    xapps.wait_until(lambda: "lastAttempt" not in xapps.status(NAME), what="the retry", xapp=NAME)
    expect(cause.get_by_text("not healthy after 3s (spec.timeout)")).to_have_count(0)
    expect(cause.get_by_text(re.compile(r"container main: .*OOMKilled.*exit 137"))).to_be_visible()
    # It has room now, as after a mend on the node: the label makes the simulated container fail.
    xapps.kubectl("label", "pods", "--selector", f"app={NAME}", "xapp-operator.io/test-fail-")
    expect(cause).to_have_count(0)
    xapps.wait_ready(NAME)


def test_retry_upgrades_again_after_an_upgrade_was_rolled_back(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.uploaded_manifest(NAME, workload_chart(), timeout="3s")
    xapps.apply(manifest)
    xapps.wait_ready(NAME)
    manifest["spec"]["values"] = {"fail": "OOMKilled"}
    xapps.apply(manifest)
    assert "rolled back to revision 1" in xapps.wait_stalled(NAME)["message"]
    before = xapps.status(NAME)
    assert before["release"]["revision"] == 3
    page = dashboard.page

    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text(re.compile("OOMKilled.*rolled back to revision 1")).first).to_be_visible()
    # Until the rollback, which took its own time.
    expect(page.get_by_text("failed after 3 s of 3 s")).to_be_visible()
    cause.get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Accepted: it is tried again")).to_be_visible()
    # Helm runs again: for the upgrade, and for the rollback, since the container fails as before.
    xapps.wait_until(lambda: xapps.status(NAME)["release"]["revision"] == 5, what="another rollback", xapp=NAME)
    assert "rolled back to revision" in xapps.wait_stalled(NAME)["message"]
    assert xapps.status(NAME)["lastAttempt"]["firstAt"] > before["lastAttempt"]["firstAt"]
    expect(page.get_by_text("revision 5", exact=True)).to_be_visible()


def test_what_fails_after_a_rollback_is_told_from_the_upgrade_that_failed(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    manifest = xapps.uploaded_manifest(NAME, workload_chart(), values={"fail": "CrashLoopBackOff"}, timeout="3s")
    xapps.apply(manifest)
    xapps.wait_until(lambda: reason_of(xapps) == "HealthCheckFailed", what="the end of its timeout", xapp=NAME)
    # As if an earlier version of the operator had deployed it: no rollback is to a revision that never was healthy.
    patch = '[{"op": "remove", "path": "/status/history/0/wasHealthy"}]'
    xapps.kubectl("patch", "xapp", NAME, "--subresource=status", "--type=json", "-p", patch)
    xapps.apply({**manifest, "spec": {**manifest["spec"], "values": {"fail": "ImagePullBackOff"}}})
    assert "rolled back to revision 1" in xapps.wait_stalled(NAME)["message"]
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("view"), f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    upgrade = cause.get_by_text(re.compile("container main: ImagePullBackOff.*rolled back to revision 1"))
    now = cause.get_by_text(re.compile("^In revision 1, which is in force again: Pod .* main: CrashLoopBackOff"))
    expect(upgrade).to_be_visible()
    expect(now).to_be_visible()
    above, below = upgrade.bounding_box(), now.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] < below["y"], "the headline is not about the upgrade"


def test_the_page_of_a_failed_xapp_does_not_jump_while_it_loads(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values={"fail": "CrashLoopBackOff"}, timeout="3s"))
    xapps.wait_until(lambda: reason_of(xapps) == "HealthCheckFailed", what="the end of its timeout", xapp=NAME)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"))
    page.add_init_script(NOTE_SHIFTS)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/health", hold)
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text("not healthy after 3s (spec.timeout)")).to_be_visible()
    for route in held:
        route.continue_()
    page.unroute("**/health", hold)
    expect(cause.get_by_role("region", name="the last words")).to_be_visible()
    expect(page.get_by_role("region", name="Facts")).to_be_visible()
    expect(page.get_by_role("region", name="Health").get_by_text("Degraded").first).to_be_visible()
    # The last shift is noted with the next frame.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    shifts = page.evaluate("shifts")
    assert sum(shift["value"] for shift in shifts) < LAYOUT_SHIFT_MAX, shifts
