"""Screenshots as SVG: what they show of a page, and what they never take over from it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.vector_screenshot import vector_screenshot

SVG = "{http://www.w3.org/2000/svg}"
PAGE = """
<title>A page</title>
<style>[data-text]::before { content: attr(data-text) }</style>
<body style="margin: 0; font: 14px monospace; background: white">
  <script>document.title = 'run'</script>
  <p style="width: 9ch; margin: 0">a &lt;b&gt; <a href="https://evil.example"><b>two</b></a> lines</p>
  <div style="width: 4ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap">abcdefgh</div>
  <div style="width: 80px; overflow: hidden">
    <div style="width: 300px; height: 20px; background: red"></div>
  </div>
  <div style="margin-top: 4px; width: 50px; height: 20px; border: 2px solid rgb(0 128 0); border-radius: 6px"></div>
  <span style="position: absolute; width: 1px; height: 1px; overflow: hidden">for readers only</span>
  <span style="visibility: hidden">hidden</span>
  <svg width="20" height="20" viewBox="0 0 10 10" style="stroke: blue; fill: none" onclick="alert(1)">
    <path d="M1 1L9 9" onclick="alert(1)"/><foreignObject><p>foreign</p></foreignObject>
  </svg>
  <svg width="40" height="40" viewBox="0 0 10 10" style="stroke: red; fill: none"><path d="M1 1L9 9"/></svg>
  <span>acme-<span data-text="ran"></span></span>
  <input value="typed &amp; kept"><input type="password" value="secret"><input placeholder="a hint">
  <p style="position: absolute; top: 900px">below the window</p>
</body>
"""


@pytest.fixture
def page(chromium: Browser) -> Page:
    shown = chromium.new_page(viewport={"width": 400, "height": 300})
    shown.set_content(PAGE)
    return shown


def test_shows_texts_line_by_line_as_a_reader_sees_them(page: Page) -> None:
    texts = [text.text for text in ET.fromstring(vector_screenshot(page)).iter(f"{SVG}text")]
    assert texts == ["a <b>", "two", "lines", "abc…", "acme-", "ran", "typed & kept", "••••••", "a hint"]


def test_each_text_has_the_length_it_has_in_the_page(page: Page) -> None:
    box = page.get_by_text("two").bounding_box()
    assert box is not None
    (text,) = [text for text in ET.fromstring(vector_screenshot(page)).iter(f"{SVG}text") if text.text == "two"]
    assert float(text.attrib["x"]) == pytest.approx(box["x"], abs=0.1)
    assert float(text.attrib["textLength"]) == pytest.approx(box["width"], abs=0.1)
    assert box["y"] < float(text.attrib["y"]) < box["y"] + box["height"]
    assert text.attrib["text-decoration"] == "underline"


def test_boxes_have_their_borders_and_end_where_the_page_cuts_them(page: Page) -> None:
    drawn = ET.fromstring(vector_screenshot(page))
    (border,) = [rect for rect in drawn.iter(f"{SVG}rect") if rect.get("stroke") == "#008000"]
    assert {name: border.attrib[name] for name in ("fill", "stroke-width", "rx", "width")} == {
        "fill": "none",
        "stroke-width": "2",
        "rx": "5",
        "width": "52",
    }
    (cut,) = [group for group in drawn.iter(f"{SVG}g") if "clip-path" in group.attrib]
    assert cut[0].attrib["fill"] == "#ff0000"
    (clip,) = drawn.iter(f"{SVG}clipPath")
    assert cut.attrib["clip-path"] == f"url(#{clip.attrib['id']})"
    assert clip[0].attrib["width"] == "80"


def test_icons_are_defined_once_and_painted_as_in_the_page(page: Page) -> None:
    drawn = ET.fromstring(vector_screenshot(page))
    first, second = drawn.iter(f"{SVG}use")
    assert first.attrib["href"] == second.attrib["href"]
    assert (first.attrib["stroke"], second.attrib["stroke"]) == ("#0000ff", "#ff0000")
    assert first.attrib["transform"].endswith("scale(2)")
    assert second.attrib["transform"].endswith("scale(4)")


def test_nothing_in_it_runs_or_comes_from_another_address(page: Page) -> None:
    picture = vector_screenshot(page)
    drawn = ET.fromstring(picture)
    tags = {each.tag.removeprefix(SVG) for each in drawn.iter()}
    assert tags <= {"svg", "title", "defs", "clipPath", "g", "path", "rect", "text", "use"}
    assert not [name for each in drawn.iter() for name in each.attrib if name.startswith("on") or name == "style"]
    assert "evil.example" not in picture
    assert "secret" not in picture


def test_the_same_page_gives_the_same_picture(page: Page) -> None:
    assert vector_screenshot(page) == vector_screenshot(page)
