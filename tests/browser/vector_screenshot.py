"""Takes screenshots as SVG: texts and shapes instead of pixels, so that git can store and compare them.

`vector_screenshot.js` lists what the page shows. This module writes it: a rectangle for each box, a text for each line.
An SVG has no script, no style sheet and nothing of another address. Each text has its length, so that it takes the same
room in every font.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

_COLLECT: Final = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_SVG: Final = "http://www.w3.org/2000/svg"
_SANS: Final = "'DejaVu Sans', Verdana, system-ui, sans-serif"
_MONO: Final = "'DejaVu Sans Mono', Menlo, ui-monospace, monospace"
_SIZE: Final = 14.0
"""The font size of the whole picture, in pixels. Texts of another size say so."""
_NORMAL_WEIGHT: Final = 400
_SHADOW_SIZES: Final = (2, 5, 9)
"""How far each layer of a shadow reaches, in pixels."""
_SLACK: Final = 1.5
"""A shape that reaches this many pixels out of its clip is drawn whole: fonts overlap the edges of their lines."""

Shape = dict[str, Any]


def vector_screenshot(page: Page) -> str:
    """Return what the page shows now in its viewport, as an SVG."""
    return _Picture(page.evaluate(_COLLECT)).text()


class _Picture:
    def __init__(self, shown: Shape) -> None:
        self._width, self._height = shown["width"], shown["height"]
        self._root = ET.Element(
            "svg",
            {
                "xmlns": _SVG,
                "viewBox": f"0 0 {_number(self._width)} {_number(self._height)}",
                "width": _number(self._width),
                "height": _number(self._height),
                "role": "img",
                "font-family": _SANS,
                "font-size": _number(_SIZE),
            },
        )
        ET.SubElement(self._root, "title").text = shown["title"]
        self._definitions = ET.SubElement(self._root, "defs")
        self._clips: dict[tuple[str, ...], str] = {}
        self._icons: dict[str, str] = {}
        ET.SubElement(self._root, "rect", {"width": "100%", "height": "100%", **_paint("fill", shown["background"])})
        for shape in shown["shapes"]:
            getattr(self, f"_add_{shape['kind']}")(shape)

    def text(self) -> str:
        if not len(self._definitions):
            self._root.remove(self._definitions)
        ET.indent(self._root, space="")
        return ET.tostring(self._root, encoding="unicode") + "\n"

    def _add_box(self, shape: Shape) -> None:
        parent = self._clipped(shape)
        box, radius = shape["box"], shape["radius"]
        if shape["shadow"]:
            for size in _SHADOW_SIZES:
                attributes = {"fill": "#17202b", "fill-opacity": "0.05"}
                ET.SubElement(parent, "rect", {**_rectangle(_grown(box, size), radius + size), **attributes})
        sides = shape["sides"]
        edge = sides[0] if all(side == sides[0] for side in sides) and sides[0]["width"] else None
        painted = _paint("fill", shape["fill"])
        if edge is None:
            if shape["fill"][3]:
                ET.SubElement(parent, "rect", {**_rectangle(box, radius), **painted})
            self._add_sides(parent, box, sides)
        else:
            inset = -edge["width"] / 2
            border = {**_paint("stroke", edge["colour"]), **_unless(1, "stroke-width", edge["width"])}
            ET.SubElement(parent, "rect", {**_rectangle(_grown(box, inset), radius + inset), **painted, **border})
        if outline := shape.get("outline"):
            size = outline["offset"] + outline["width"] / 2
            line = {**_paint("stroke", outline["colour"]), "stroke-width": _number(outline["width"]), "fill": "none"}
            ET.SubElement(parent, "rect", {**_rectangle(_grown(box, size), radius + size), **line})

    def _add_sides(self, parent: ET.Element, box: Shape, sides: list[Shape]) -> None:
        top, right, bottom, left = (side["width"] for side in sides)
        areas = (
            {**box, "bottom": box["top"] + top},
            {**box, "left": box["right"] - right},
            {**box, "top": box["bottom"] - bottom},
            {**box, "right": box["left"] + left},
        )
        for side, area in zip(sides, areas, strict=True):
            if side["width"] and side["colour"][3]:
                ET.SubElement(parent, "rect", {**_rectangle(area, 0), **_paint("fill", side["colour"])})

    def _add_text(self, shape: Shape) -> None:
        box, text = shape["box"], shape["text"]
        lead = len(text) - len(text.lstrip(" "))
        width = box["right"] - box["left"]
        attributes = {"x": _number(box["left"]), "y": _number(shape["baseline"])}
        if len(text) > 1:
            attributes |= {"textLength": _number(width), "lengthAdjust": "spacingAndGlyphs"}
        attributes |= _unless(_SIZE, "font-size", shape["size"])
        attributes |= _unless(_NORMAL_WEIGHT, "font-weight", shape["weight"])
        attributes |= _paint("fill", shape["colour"])
        if shape["mono"]:
            attributes["font-family"] = _MONO
        if shape["italic"]:
            attributes["font-style"] = "italic"
        if shape["underlined"]:
            attributes["text-decoration"] = "underline"
        if lead or "  " in text:
            attributes["xml:space"] = "preserve"
        ET.SubElement(self._clipped(shape), "text", attributes).text = _printable(text.rstrip(" "))

    def _add_marker(self, shape: Shape) -> None:
        x, y = shape["x"], shape["y"]
        points = (
            ((x - 1, y - 3), (x + 7, y - 3), (x + 3, y + 3))
            if shape["isOpen"]
            else ((x, y - 4), (x + 6, y), (x, y + 4))
        )
        attributes = {"points": " ".join(f"{_number(a)},{_number(b)}" for a, b in points)}
        ET.SubElement(self._clipped(shape), "polygon", {**attributes, **_paint("fill", shape["colour"])})

    def _add_icon(self, shape: Shape) -> None:
        drawing = repr(shape["parts"])
        if drawing not in self._icons:
            self._icons[drawing] = f"i{len(self._icons)}"
            group = ET.SubElement(self._definitions, "g", {"id": self._icons[drawing]})
            for tag, attributes in shape["parts"]:
                ET.SubElement(group, tag, attributes)
        box, (width, _) = shape["box"], shape["viewBox"]
        scale = (box["right"] - box["left"]) / width
        place = f"translate({_number(box['left'])} {_number(box['top'])})"
        attributes = {"href": f"#{self._icons[drawing]}", "transform": f"{place} scale({scale:.3g})"}
        attributes |= _paint("fill", shape["fill"]) | _paint("stroke", shape["stroke"])
        if shape["stroke"]:
            attributes |= {"stroke-width": _number(shape["strokeWidth"]), "stroke-linecap": "round"}
            attributes["stroke-linejoin"] = "round"
        ET.SubElement(self._clipped(shape), "use", attributes)

    def _add_picture(self, shape: Shape) -> None:
        """Add a picture of the dashboard's own files."""
        box, source = shape["box"], ET.fromstring(shape["svg"])
        scale = (box["right"] - box["left"]) / float(source.attrib["viewBox"].split()[2])
        place = f"translate({_number(box['left'])} {_number(box['top'])}) scale({scale:.3g})"
        group = ET.SubElement(self._clipped(shape), "g", {"transform": place})
        for part in source:
            ET.SubElement(group, part.tag.removeprefix(f"{{{_SVG}}}"), part.attrib)

    def _clipped(self, shape: Shape) -> ET.Element:
        """Return where to add the shape: into a group with its clip, if it reaches out of that."""
        clip = shape["clip"]
        if (box := shape.get("box")) is None or _contains(clip, box) or self._is_of_picture(clip):
            return self._root
        area = _rectangle(clip, 0)
        key = tuple(area.values())
        if key not in self._clips:
            self._clips[key] = f"c{len(self._clips)}"
            defined = ET.SubElement(self._definitions, "clipPath", {"id": self._clips[key]})
            ET.SubElement(defined, "rect", area)
        return ET.SubElement(self._root, "g", {"clip-path": f"url(#{self._clips[key]})"})

    def _is_of_picture(self, clip: Shape) -> bool:
        return bool(clip["right"] >= self._width and clip["bottom"] >= self._height and clip["left"] + clip["top"] <= 0)


def _contains(clip: Shape, box: Shape) -> bool:
    begins = box["left"] >= clip["left"] - _SLACK and box["top"] >= clip["top"] - _SLACK
    return bool(begins and box["right"] <= clip["right"] + _SLACK and box["bottom"] <= clip["bottom"] + _SLACK)


def _grown(box: Shape, size: float) -> Shape:
    return {
        "left": box["left"] - size,
        "top": box["top"] - size,
        "right": box["right"] + size,
        "bottom": box["bottom"] + size,
    }


def _rectangle(box: Shape, radius: float) -> dict[str, str]:
    width, height = box["right"] - box["left"], box["bottom"] - box["top"]
    attributes = {"x": _number(box["left"]), "y": _number(box["top"]), "width": _number(width)}
    attributes["height"] = _number(height)
    if radius > 0:
        attributes["rx"] = _number(min(radius, width / 2, height / 2))
    return attributes


def _paint(name: str, colour: list[float] | None) -> dict[str, str]:
    """Return the attributes of a fill or stroke: red, green and blue from 0 to 255, alpha from 0 to 1."""
    if colour is None or not colour[3]:
        return {name: "none"}
    red, green, blue, alpha = colour
    attributes = {name: f"#{int(red):02x}{int(green):02x}{int(blue):02x}"}
    if alpha < 1:
        attributes[f"{name}-opacity"] = f"{alpha:.2f}"
    return attributes


def _unless(usual: float, name: str, value: float) -> dict[str, str]:
    return {} if value == usual else {name: _number(value)}


def _number(value: float) -> str:
    """Return a length in pixels with one decimal at most: 24, 24.5."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 1 else f"{value:.1f}".removesuffix(".0")


def _printable(text: str) -> str:
    """Return the text without the characters that XML 1.0 refuses."""
    return "".join(each if each >= " " else "\N{REPLACEMENT CHARACTER}" for each in text)
