"""Cycles of dependsOn, in graphs of any size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import examples
from xapp_operator.domain.planning.dependencies import cycle_members, find_cycle, reachable

VISITED_MAX = 1000

Graph = dict[str, tuple[str, ...]]


def forwards(graph: Graph, name: str) -> Iterable[str]:
    return graph.get(name, ())


def backwards(graph: Graph, name: str) -> Iterable[str]:
    return [other for other, names in graph.items() if name in names]


@pytest.mark.parametrize(
    ("graph", "cycle"),
    [
        ({"a": ()}, ()),
        ({"a": ("b",), "b": ("c",)}, ()),
        ({"a": ("a",)}, ("a", "a")),
        ({"a": ("b",), "b": ("a",)}, ("a", "b", "a")),
        ({"a": ("b", "c"), "b": ("c",), "c": ("d",), "d": ("a",)}, ("a", "c", "d", "a")),
        ({"a": ("b",), "b": ("c",), "c": ("b",)}, ()),  # it leads to a cycle, but is no member
    ],
)
def test_the_shortest_cycle_through_a_name_is_found(graph: Graph, cycle: tuple[str, ...]) -> None:
    assert find_cycle("a", lambda name: forwards(graph, name)) == cycle


names = st.sampled_from("abcdef")
graphs = st.dictionaries(names, st.lists(names, max_size=3).map(tuple), max_size=6)


@examples(3)
@given(graphs, names)
def test_a_cycle_is_a_path_and_every_member_finds_one(graph: Graph, name: str) -> None:
    cycle = find_cycle(name, lambda each: forwards(graph, each))
    members = cycle_members(name, lambda each: forwards(graph, each), lambda each: backwards(graph, each))
    assert bool(cycle) == (name in members)
    assert bool(cycle) == (name in reachable(name, lambda each: forwards(graph, each)))
    for one, other in pairwise(cycle):
        assert other in forwards(graph, one)
    for member in members:
        assert find_cycle(member, lambda each: forwards(graph, each))


def test_a_search_is_bounded() -> None:
    asked: list[str] = []

    def endless(name: str) -> Iterable[str]:
        asked.append(name)
        return [f"{name}0", f"{name}1"]

    assert find_cycle("a", endless) == ()
    assert len(reachable("a", endless)) == VISITED_MAX
    assert len(asked) <= 2 * (VISITED_MAX + 1)
