"""The composed name: always a DNS label and a Helm release name, the same for the same identity."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.api.names import RELEASE_NAME_MAX
from xapp_operator.domain.naming import LABEL_VALUE_MAX, archive_name, composed_name, label_text, label_value, sanitise
from xapp_operator.errors import FormInvalid

PART = st.builds("".join, st.tuples(st.text(), st.sampled_from("aZ5"), st.text(max_size=60)))
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O-RAN Alliance", "o-ran-alliance"),
        ("acme", "acme"),
        ("ACME", "acme"),
        ("a__b  c", "a-b-c"),
        ("--a--", "a"),
        ("v1.2.3", "v1-2-3"),
        ("ünï", "n"),
        ("\u212aelvin", "elvin"),  # the Kelvin sign lowers to k
        ("\u0130stanbul", "stanbul"),  # the dotted capital I lowers to i and a combining dot
        ("a\nb", "a-b"),
        ("\uff11\uff12", ""),  # digits, but not of ASCII
        ("…", ""),
        ("", ""),
    ],
)
def test_a_text_is_sanitised(text: str, expected: str) -> None:
    assert sanitise(text) == expected


@pytest.mark.parametrize(
    ("organization", "team", "name", "expected"),
    [
        ("acme", "ran", "hello-world", "acme-ran-hello-world"),
        ("O-RAN Alliance", "R&D", "KPI_Mon", "o-ran-alliance-r-d-kpi-mon"),
        ("a-", "-b", "c", "a-b-c"),
        ("a" * 17, "b" * 17, "c" * 17, f"{'a' * 17}-{'b' * 17}-{'c' * 17}"),
    ],
)
def test_a_name_is_composed(organization: str, team: str, name: str, expected: str) -> None:
    assert composed_name(organization, team, name) == expected
    assert len(expected) <= RELEASE_NAME_MAX


def test_a_name_over_the_limit_ends_in_the_hash_of_the_whole() -> None:
    whole = f"{'a' * 20}-{'b' * 20}-{'c' * 20}"
    digits = hashlib.sha256(whole.encode()).hexdigest()[:12]
    assert composed_name("a" * 20, "b" * 20, "c" * 20) == f"{whole[:40]}-{digits}"


def test_the_first_forty_characters_may_end_in_a_dash() -> None:
    name = composed_name("a" * 39, "b", "c" * 20)
    assert name.startswith("a" * 39 + "--")
    assert len(name) == RELEASE_NAME_MAX


def test_only_a_name_over_the_limit_is_hashed() -> None:
    assert composed_name("a" * 40, "b" * 5, "c" * 6) == f"{'a' * 40}-bbbbb-cccccc"
    assert composed_name("a" * 40, "b" * 5, "c" * 7).startswith("a" * 40 + "-")
    assert "bbbbb" not in composed_name("a" * 40, "b" * 5, "c" * 7)


@pytest.mark.parametrize(
    ("parts", "fields"),
    [
        (("", "ran", "x"), ["organization"]),
        (("acme", "  ", "x"), ["team"]),
        (("acme", "ran", "…"), ["xAppName"]),
        (("", "", ""), ["organization", "team", "xAppName"]),
    ],
)
def test_an_empty_part_is_refused_by_name(parts: tuple[str, str, str], fields: list[str]) -> None:
    with pytest.raises(FormInvalid) as refused:
        composed_name(*parts)
    assert [error.field for error in refused.value.errors] == fields


def test_a_label_value_is_cut_and_never_ends_in_a_dash() -> None:
    assert label_value("a" * 80) == "a" * 63
    assert label_value("a" * 62 + ".b") == "a" * 62


@given(st.text())
def test_sanitising_twice_changes_nothing(text: str) -> None:
    assert sanitise(sanitise(text)) == sanitise(text)


@given(st.text())
def test_a_label_value_is_valid_or_empty(text: str) -> None:
    value = label_value(text)
    assert value == "" or (DNS_LABEL.fullmatch(value) and len(value) <= LABEL_VALUE_MAX)
    assert label_value(value) == value


@given(PART, PART, PART)
def test_a_composed_name_is_a_dns_label_within_the_limit(organization: str, team: str, name: str) -> None:
    composed = composed_name(organization, team, name)
    assert DNS_LABEL.fullmatch(composed)
    assert len(composed) <= RELEASE_NAME_MAX


@given(st.lists(st.from_regex(r"[a-z0-9]{30}", fullmatch=True), min_size=2, max_size=2, unique=True))
def test_long_names_with_the_same_prefix_stay_different(ends: list[str]) -> None:
    first, second = (composed_name("o" * 30, "t" * 30, end) for end in ends)
    assert first != second
    assert first[:40] == second[:40]


@pytest.mark.parametrize(
    ("chart", "version", "name"),
    [
        ("hello", "1.2.3", "hello-1.2.3-0123456789ab"),
        ("hello_world", "1.2.3-rc.1+b", "hello-world-1.2.3-rc.1-b-0123456789ab"),
        ("..", "", "chart-0123456789ab"),
        ("a" * 238, "1", f"{'a' * 238}-1-0123456789ab"),
        ("a" * 239, "1", f"{'a' * 239}-0123456789ab"),
        ("a" * 240, "1", f"{'a' * 240}-0123456789ab"),
        ("a" * 241, "1", f"{'a' * 240}-0123456789ab"),
    ],
)
def test_the_name_of_an_archive_has_253_characters_at_most(chart: str, version: str, name: str) -> None:
    assert archive_name(chart, version, "0123456789abcdef") == name
    assert len(name) <= 253


@pytest.mark.parametrize(
    ("text", "value"),
    [("A.b_c", "A.b_c"), ("a" * 63, "a" * 63), ("A" * 64, "a" * 63), ("-a-", "a"), ("é", ""), ("", "")],
)
def test_a_text_that_is_a_label_value_stays_as_it_is(text: str, value: str) -> None:
    assert label_text(text) == value
