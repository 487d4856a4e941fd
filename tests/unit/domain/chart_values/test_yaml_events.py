"""YAML is read within its bounds, and scalars know where they stand."""

from __future__ import annotations

import pytest

from xapp_operator.domain.chart_values.placed_scalars import (
    PlacedScalar,
    ScalarTreeBuilder,
    redacted_scalars,
    replace_scalars,
    replace_spans,
    values_of,
)
from xapp_operator.domain.chart_values.yaml_events import Tree, YamlReader, YamlRefused
from xapp_operator.domain.chart_values.yaml_values import load_stated_values, load_values
from xapp_operator.domain.masking.redaction import MASK
from xapp_operator.errors import ValuesInvalid


def tree(text: str, *, depth: int = 10, nodes: int = 100, characters: int | None = None) -> Tree[PlacedScalar]:
    builder = ScalarTreeBuilder(text, depth_max=depth, nodes_max=nodes, characters_max=characters)
    return next(root for _, root in builder.roots())


def test_a_scalar_knows_its_value_and_its_place() -> None:
    text = "a: true\nb: 'true'\nc: |\n  x\nd: 1\ne: >\n  y\n"
    assert tree(text) == {
        "a": PlacedScalar(True, 3, 7, is_block=False),
        "b": PlacedScalar("true", 11, 17, is_block=False),
        "c": PlacedScalar("x\n", 21, 27, is_block=True),
        "d": PlacedScalar("1", 30, 31, is_block=False),
        "e": PlacedScalar("y\n", 35, 41, is_block=True),
    }
    assert values_of(tree("[~, No, {a: [False]}]")) == [None, "No", {"a": [False]}]


def test_scalars_are_masked_where_they_stand() -> None:
    text = "a: x\nb: [y, {c: z}]\nd: 1\n"
    shown = dict(redacted_scalars(tree(text), {"a": MASK, "b": ["y", {"c": MASK}], "d": 1}))
    assert [(each.value, what) for each, what in shown.items()] == [("x", MASK), ("z", MASK)]
    assert replace_scalars(text, shown, lambda _: "*") == 'a: "*"\nb: [y, {c: "*"}]\nd: 1\n'


def test_spans_inside_others_do_not_count() -> None:
    assert replace_spans("abcdef", [(3, 4, "-"), (0, 2, "+"), (1, 3, "no"), (5, 5, "no")]) == "+c-ef"


def test_a_value_is_skipped_as_a_whole() -> None:
    reader = YamlReader("a: [1, {b: [2]}]\nc: d\n")
    for _ in reader.documents():
        reader.next_event()
        keys = []
        for key in reader.members():
            keys.append(getattr(key, "value", ""))
            reader.skip(reader.next_event())
        assert keys == ["a", "c"]


def test_levels_and_values_up_to_the_bounds_are_read() -> None:
    assert values_of(tree("[[a]]", depth=2, nodes=3)) == [["a"]]
    with pytest.raises(YamlRefused, match="nested more than 1 levels"):
        tree("[[a]]", depth=1)
    with pytest.raises(YamlRefused, match="more than 2 values"):
        tree("[[a]]", nodes=2)


def test_an_alias_counts_what_it_repeats() -> None:
    # The list has two values, and its alias as many again.
    assert values_of(tree("[&x [a, b], *x]", nodes=7)) == [["a", "b"], ["a", "b"]]
    with pytest.raises(YamlRefused, match="more than 6 values"):
        tree("[&x [a, b], *x]", nodes=6)
    assert values_of(tree("[&x [ab, {cd: e}], *x]", characters=10)) == [["ab", {"cd": "e"}]] * 2
    with pytest.raises(YamlRefused, match="more than 9 characters, aliases expanded"):
        tree("[&x [ab, {cd: e}], *x]", characters=9)
    assert values_of(tree("[&x [[a]], *x]", depth=3)) == [[["a"]]] * 2
    with pytest.raises(YamlRefused, match="nested more than 3 levels"):
        tree("[&x [[a]], [*x]]", depth=3)


def test_an_alias_of_a_value_with_an_alias_is_as_deep_as_both() -> None:
    assert tree("[&x [[a]], &y [*x], [[*y]]]", depth=6)
    with pytest.raises(YamlRefused, match="nested more than 5 levels"):
        tree("[&x [[a]], &y [*x], [[*y]]]", depth=5)


def test_an_anchor_ends_with_its_document() -> None:
    builder = ScalarTreeBuilder("&x a\n---\n*x\n", depth_max=2, nodes_max=9, characters_max=None)
    with pytest.raises(YamlRefused, match="an alias without its anchor before it"):
        list(builder.roots())


def test_keys_with_anchors_are_repeated_with_their_length() -> None:
    assert values_of(tree("{&k key: *k}", characters=6)) == {"key": "key"}
    with pytest.raises(YamlRefused, match="more than 5 characters"):
        tree("{&k key: *k}", characters=5)


def test_keys_are_given_once_and_numbers_fit_only_where_that_is_asked_for() -> None:
    def stated(text: str, *, repeated_keys: bool = False, exact_integers: bool = False) -> object:
        return load_stated_values(
            text, source="values", max_bytes=100, repeated_keys=repeated_keys, exact_integers=exact_integers
        )

    with pytest.raises(ValuesInvalid, match="has given already"):
        stated("a: 1\na: 2")
    with pytest.raises(ValuesInvalid, match="has given already"):
        load_values("a: 1\na: 2", source="values", max_bytes=100)
    assert stated("a: 1\na: 2", repeated_keys=True) == {"a": 2}
    large = 2**64
    assert stated(f"a: {large}") == load_values(f"a: {large}", source="values", max_bytes=100) == {"a": float(large)}
    with pytest.raises(ValuesInvalid, match="more than 64 bits"):
        stated(f"a: {large}", exact_integers=True)
    assert stated("a: 1.5\nb: 1e300", exact_integers=True) == {"a": 1.5, "b": 1e300}
