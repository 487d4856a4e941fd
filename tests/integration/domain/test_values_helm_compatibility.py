"""The operator reads, merges and dumps values like the real helm.

Each case gives helm the original file, and the JSON that the operator writes for it. The results
must be the same to a template, down to the way Go prints a number.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.domain.conftest import Helm, HelmTemplateError
from tests.unit.domain.chart_values.values_files import FILES, LAXER, REFUSED_FILES, REFUSED_SCALARS, SCALARS, STRICTER
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.domain.chart_values.values import merge_values
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH, MAX_KEY_BYTES, dump_values, load_values

pytestmark = pytest.mark.integration


def load(data: bytes) -> JsonObject:
    return load_values(data, source="values", max_bytes=1024 * 1024)


def floats(value: Json) -> Any:
    """Return `value` as helm holds it: every number a float64."""
    if isinstance(value, dict):
        return {key: floats(member) for key, member in value.items()}
    if isinstance(value, list):
        return [floats(member) for member in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def test_helm_reads_scalars_as_the_table_says(helm: Helm) -> None:
    """Put all of them in one file, which helm reads directly and as the operator's JSON."""
    data = "".join(f"s{index}: {text}\n" for index, (text, _) in enumerate(SCALARS)).encode()
    direct, dumped = helm.render(data), helm.render(dump_values(load(data)))
    assert len(direct.values) == len(SCALARS)
    for seen in (direct, dumped):
        differing = {
            text: seen.values[f"s{index}"]
            for index, (text, expected) in enumerate(SCALARS)
            if json.dumps(seen.values[f"s{index}"], sort_keys=True) != json.dumps(floats(expected), sort_keys=True)
        }
        assert differing == {}
    assert dumped.text == direct.text


@pytest.mark.parametrize(("data", "expected"), FILES.values(), ids=FILES)
def test_helm_reads_a_file_as_the_table_says(helm: Helm, data: bytes, expected: JsonObject) -> None:
    direct = helm.render(data)
    assert direct.values == floats(expected)
    assert helm.render(dump_values(load(data))) == direct


@pytest.mark.parametrize(("data", "expected"), LAXER.values(), ids=LAXER)
def test_values_that_only_the_operator_can_read_reach_helm(helm: Helm, data: bytes, expected: JsonObject) -> None:
    with pytest.raises(HelmTemplateError):
        helm.render(data)
    assert helm.render(dump_values(load(data))).values == floats(expected)


@pytest.mark.parametrize(
    "data",
    [*(f"v: {text}\n".encode() for text in REFUSED_SCALARS), *REFUSED_FILES.values()],
    ids=[*REFUSED_SCALARS, *REFUSED_FILES],
)
def test_values_refused_by_the_operator_are_refused_by_helm(helm: Helm, data: bytes) -> None:
    with pytest.raises(HelmTemplateError):
        helm.render(data)


@pytest.mark.parametrize("data", [data for data, _ in STRICTER.values()], ids=STRICTER)
def test_helm_loses_data_where_the_operator_is_stricter(helm: Helm, data: bytes) -> None:
    assert helm.render(data)


def test_every_character_reaches_helm_unchanged(helm: Helm) -> None:
    codes = [*range(0x250), *range(0x2000, 0x2070), 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600, 0x10FFFF]
    values: JsonObject = {f"<{chr(code)}>": f"a{chr(code)} {chr(code)}{chr(code)}b" for code in codes}
    assert helm.render(dump_values(values)).values == values


def test_strings_that_look_like_other_things_stay_strings(helm: Helm) -> None:
    values: JsonObject = {text: text for text, _ in SCALARS}
    values |= {"multi": "a\nb\n\nc", "document": "---\na: 1\n...\n", "trailing": "a \n ", "": ""}
    assert helm.render(dump_values(values)).values == values


def test_numbers_reach_helm_as_the_same_float(helm: Helm) -> None:
    numbers: list[Json] = [10**n for n in range(19)] + [10.0**n for n in range(-30, 40)]
    numbers += [2**53 + 1, -(2**63), 2**63 - 1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0]
    assert helm.render(dump_values({"n": numbers})).values == floats({"n": numbers})


def test_values_of_300_kb_and_the_longest_key_reach_helm(helm: Helm) -> None:
    values: JsonObject = {f"key-{index}": {"text": "x" * 60, "list": [1, "a", None]} for index in range(3_000)}
    values["k" * (MAX_KEY_BYTES - 2)] = {"\x85" * 166: "y" * 5_000}
    dumped = dump_values(values)
    assert len(dumped) > 300_000
    assert helm.render(dumped).values == floats(values)


def test_the_deepest_values_reach_helm(helm: Helm) -> None:
    data = b"a: " + b"{a: " * (MAX_DEPTH - 1) + b"1" + b"}" * (MAX_DEPTH - 1)
    assert helm.render(dump_values(load(data))) == helm.render(data)


DEFAULTS = b"""
a: 1
b: {x: 1, y: {p: 1, q: 2}}
c: [1, 2]
d: text
e: null
"""


@pytest.mark.parametrize(
    "files",
    [
        (b"", b""),
        (b"a: 2", b"b: {x: 2}"),
        (b"b: {x: 2}", b"b: {y: {p: 3}}"),
        (b"c: [3]", b"c: []"),
        (b"b: null", b""),
        (b"b: null", b"b: {z: 1}"),
        (b"b: {z: 1}", b"b: null"),
        (b"b: {y: null}", b"b: {z: 1}"),
        (b"b: {z: {w: 1}}", b"b: {z: {w: null}}"),
        (b"b: {z: 1}", b"b: {z: null}", b"b: {z: {w: 1}}"),
        (b"a: {x: 1}", b"a: 5"),
        (b"b: 5", b""),
        (b"b: 5", b"b: {x: 9}"),
        (b"b: {y: [1]}", b"b: {y: {p: 5}}"),
        (b"a: null", b"a: 3"),
        (b"a: 3", b"a: null"),
        (b"e: 1", b"d: null"),
        (b"new: null", b"new: {x: null}"),
        (b"new: {x: null, y: [null]}", b"new: {z: null}"),
        (b"b: {}", b"b: {y: {}}"),
    ],
    ids=lambda files: " + ".join(data.decode() for data in files),
)
def test_layers_merge_as_helm_merges_files(helm: Helm, files: tuple[bytes, ...]) -> None:
    merged = merge_values(*(load(data) for data in files))
    assert helm.render(dump_values(merged), defaults=DEFAULTS) == helm.render(*files, defaults=DEFAULTS)
