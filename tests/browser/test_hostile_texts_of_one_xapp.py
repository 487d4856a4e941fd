"""Texts that a chart, a pod or the author of an XApp controls are shown as text, and look like what they are."""

from __future__ import annotations

import json
import re
from typing import Final

from playwright.sync_api import expect

from tests.browser.accounts import Accounts
from tests.browser.dashboard import Dashboard
from tests.support.apiserver import ApiServer
from tests.support.charts import CONFIGMAP_TEMPLATE, chart_archive
from tests.support.workload import FILES, workload_chart
from tests.support.xapps import XAppClient

NAME: Final = "acme-ran-hostile"
HTML: Final = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
BIDI: Final = "safe\u202eexe.gpj"
ANSI: Final = "\u001b[31mred\u001b[0m\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007"
LONG: Final = "x" * 5000
HOSTILE: Final = f"{HTML} {BIDI} {LONG}"
LAST_WORDS: Final = f"{LONG}{LONG}\n{HTML}\n{BIDI}\n{ANSI}\u0007\u009b31m\u2066\npassword=hunter2"


FAILED_POD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}
  labels: {xapp-operator.io/test-fail: {{ .Values.fail }}}
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: registry.example.com/main:1
"""


def test_hostile_texts_are_text(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient, api: ApiServer) -> None:
    files = {
        **FILES,
        "templates/NOTES.txt": f"{HTML}\n{BIDI}\n{ANSI}\n{LONG}\n",
        "templates/hostile.yaml": CONFIGMAP_TEMPLATE.replace("{{ .Release.Name }}", "hostile"),
    }
    chart = chart_archive(files, app_version=f"1 {HTML}")
    xapps.apply(xapps.uploaded_manifest(NAME, chart, values={"greeting": HOSTILE}, owner=HTML[:60], team="<b>ran</b>"))
    xapps.wait_ready(NAME)
    found = xapps.get("xapp", NAME)
    assert found is not None
    event = {
        "metadata": {"generateName": "hostile-"},
        "involvedObject": {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "XApp",
            "name": NAME,
            "namespace": xapps.namespace,
            "uid": found["metadata"]["uid"],
        },
        "type": "Warning",
        "reason": "Hostile",
        "message": f"{HTML} {BIDI} {'x' * 800}",
        "lastTimestamp": "2026-11-22T05:00:00Z",
        "count": 3,
    }
    api.create(f"/api/v1/namespaces/{xapps.namespace}/events", event)
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    expect(page.get_by_text("<b>ran</b>").first).to_be_visible()
    expect(page.get_by_text("<img src=x").first).to_be_visible()
    dashboard.screenshots("hostile-overview")

    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/events")
    row = page.get_by_role("row", name=re.compile("Warning Hostile"))
    expect(row).to_contain_text("<script>")
    expect(row.get_by_title("U+202E")).to_be_visible()
    dashboard.check_accessibility()

    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/notes")
    notes = page.get_by_role("region", name="the notes")
    expect(notes).to_contain_text("<script>")
    expect(notes.get_by_title("U+202E")).to_be_visible()
    dashboard.check_accessibility()
    dashboard.screenshots("hostile-notes")

    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/manifest?object=ConfigMap/hostile")
    manifest = page.locator(".cm-content")
    expect(manifest).to_contain_text("<script>")
    expect(manifest).not_to_contain_text("\u202e")
    dashboard.open(f"/xapps/{xapps.namespace}/{NAME}/history?revision=1")
    expect(page.locator(".cm-content")).to_contain_text("<script>")
    expect(page.locator(".cm-content")).not_to_contain_text("\u202e")

    # The editor has images of its own, without a source.
    assert page.locator("main img[src], main script, main a[href*='evil']").count() == 0
    assert "owned" not in page.title()
    # Nothing but code scrolls sideways.
    page.set_viewport_size({"width": 360, "height": 780})
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


def wait_for_failure(xapps: XAppClient) -> None:
    xapps.wait_until(
        lambda: (xapps.current_condition(NAME, "Ready") or {}).get("reason") == "HealthCheckFailed",
        what="the end of its timeout",
        xapp=NAME,
    )


def leave_last_words(xapps: XAppClient, state: str) -> None:
    """Let the container of the only pod have left a termination message: now (`state`) or before (`lastState`)."""
    pod = xapps.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.name}")
    path = f"/status/containerStatuses/0/{state}/terminated/message"
    change = json.dumps([{"op": "add", "path": path, "value": LAST_WORDS}])
    xapps.kubectl("patch", "pod", pod, "--subresource=status", "--type=json", "-p", change)


def test_a_hostile_termination_message_is_text_of_the_container(
    dashboard: Dashboard, accounts: Accounts, xapps: XAppClient
) -> None:
    values = {"fail": "CrashLoopBackOff"}
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(), values=values, timeout="3s"))
    wait_for_failure(xapps)
    leave_last_words(xapps, "lastState")
    page = dashboard.page
    dashboard.sign_in(accounts.with_role("edit"), f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    words = cause.get_by_role("region", name="the last words")
    expect(words).to_contain_text("password=hunter2")
    expect(words).to_contain_text("<script>document.title='owned'</script>")
    expect(words.get_by_title("U+202E")).to_be_visible()
    expect(words.get_by_title("U+2066")).to_be_visible()
    expect(words).to_contain_text("red")
    expect(words).not_to_contain_text("[31m")
    # The kubelet did not say it, and nothing of it is anywhere else.
    expect(cause.get_by_text("Kubelet", exact=True)).to_have_count(0)
    expect(page.get_by_text("hunter2")).to_have_count(1)
    assert "hunter2" not in str(xapps.get("xapp", NAME))
    assert page.locator("main img[src], main script, main a[href*='evil']").count() == 0
    assert "owned" not in page.title()
    dashboard.check_accessibility()
    dashboard.screenshots("hostile-last-words")
    page.set_viewport_size({"width": 360, "height": 780})
    expect(words).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


def test_last_words_need_the_right_to_read_logs(dashboard: Dashboard, accounts: Accounts, xapps: XAppClient) -> None:
    values = {"fail": "Error"}
    files = {"templates__deployment": FAILED_POD}
    xapps.apply(xapps.uploaded_manifest(NAME, workload_chart(**files), values=values, timeout="3s"))
    wait_for_failure(xapps)
    leave_last_words(xapps, "state")
    page = dashboard.page
    token = accounts.with_rights(xapps=["get", "list", "watch"])
    xapps.kubectl("create", "role", "pods", "--verb=get,list", "--resource=pods")
    xapps.kubectl("create", "rolebinding", "pods", "--role=pods", f"--serviceaccount={xapps.namespace}:jane")
    dashboard.sign_in(token, f"/xapps/{xapps.namespace}/{NAME}")
    cause = page.get_by_role("region", name="Why it is not Ready")
    expect(cause.get_by_text("Last words")).to_be_visible()
    expect(cause.get_by_text(re.compile(r"^Not visible\. .*pods/log"))).to_be_visible()
    expect(page.get_by_text("hunter2")).to_have_count(0)
    expect(page.get_by_text("owned")).to_have_count(0)
