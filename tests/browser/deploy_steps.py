"""What a person does on the pages that deploy, upgrade and change values, and charts for it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.support.charts import chart_archive
from tests.support.xapps import XAppClient

BIG_INTEGER: Final = 9007199254740993
"""2^53 + 1: JSON.parse rounds it."""

VALUES: Final = f"""\
# What the xApp says.
greeting: hello
image:
  repository: registry.example/hello # do not change
  tag: "1.0"
replicas: 1
cellId: {BIG_INTEGER}
labels: {{}}
"""
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "greeting": {"type": "string", "minLength": 2, "description": "What the xApp says."},
        "replicas": {"type": "integer", "minimum": 0},
        "image": {"type": "object", "properties": {"tag": {"type": "string", "pattern": "^[0-9.]+$"}}},
        "level": {"enum": ["debug", "info"]},
        "cellId": {"type": "integer"},
    },
}
CONFIGMAP: Final = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting | quote }}
  tag: {{ .Values.image.tag | quote }}
"""


def chart(version: str = "0.1.0", **files: str) -> bytes:
    """Return a packed chart with a schema, commented values, a README and notes."""
    return chart_archive(
        {
            "values.yaml": VALUES,
            "values.schema.json": json.dumps(SCHEMA),
            "README.md": "# Hello\n<script>alert(1)</script>\n",
            "templates/configmap.yaml": CONFIGMAP,
            "templates/NOTES.txt": "Say {{ .Values.greeting }}.",
            **files,
        },
        version=version,
    )


def packed(content: bytes, name: str = "hello-0.1.0.tgz") -> FilePayload:
    """Return a file to choose in a page."""
    return {"name": name, "mimeType": "application/gzip", "buffer": content}


def choose_chart(page: Page, content: bytes, name: str = "hello-0.1.0.tgz") -> None:
    """Choose a chart file with the button of the page, also in place of another one."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=re.compile("^(Choose a file|Replace)$")).first.click()
    chooser.value.set_files(packed(content, name))


def drop_chart(page: Page, content: bytes, name: str = "hello-0.1.0.tgz") -> None:
    """Drop a chart file on the page."""
    drop_file(page, page.get_by_role("group", name="Drop a packed chart"), content, name)


def drop_file(page: Page, target: Locator, content: bytes, name: str) -> None:
    """Drop a file on a part of the page."""
    data = page.evaluate_handle(
        """([bytes, name]) => {
          const data = new DataTransfer()
          data.items.add(new File([new Uint8Array(bytes)], name))
          return data
        }""",
        [list(content), name],
    )
    target.dispatch_event("dragover", {"dataTransfer": data})
    target.dispatch_event("drop", {"dataTransfer": data})


def field(page: Page, label: str) -> Locator:
    """Return a field of the form by the beginning of its label."""
    return page.get_by_label(label, exact=True)


def save_repository(xapps: XAppClient, url: str, name: str = "acme") -> None:
    """Save a chart repository in the namespace of the test."""
    xapps.apply(
        {
            "apiVersion": "xapp-operator.io/v1alpha1",
            "kind": "ChartRepository",
            "metadata": {"name": name, "namespace": xapps.namespace},
            "spec": {"url": url, "interval": "1h"},
        }
    )


def fill_identity(page: Page, *, organization: str = "acme", team: str = "ran", namespace: str | None = None) -> None:
    """Fill in what a chart and the session do not tell."""
    page.get_by_role("textbox", name="Organization").fill(organization)
    page.get_by_role("textbox", name="Team").fill(team)
    if namespace is not None:
        page.get_by_role("combobox", name="Namespace").fill(namespace)
        page.keyboard.press("Escape")


def summary_text(page: Page) -> str:
    """Wait for the summary of a refusal, and return its text."""
    summary = page.get_by_role("alert").filter(has=page.get_by_role("button", name="Copy report"))
    expect(summary).to_be_focused()
    return summary.inner_text()


def editor(page: Page) -> Locator:
    """Return the text of the values."""
    return page.get_by_role("textbox", name="Your values, YAML")


def write_values(page: Page, text: str) -> None:
    """Replace the values as a person would: select all, and paste."""
    box = editor(page)
    box.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)
    expect(box).to_contain_text(text.strip().splitlines()[-1].strip())


def values_text(page: Page) -> str:
    """Wait for the editor, and return its text."""
    expect(editor(page)).to_be_visible()
    return "\n".join(editor(page).locator(".cm-line").all_text_contents())
