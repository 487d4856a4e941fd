"""Versions and ranges have the meaning that Helm gives them (tests/integration/charts compares with the real Helm)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import must_occur, occurred
from xapp_operator.charts.versions import MAX_RANGE_LENGTH, MAX_VERSION_LENGTH, parse_range, parse_version
from xapp_operator.errors import FormInvalid

numbers = st.integers(min_value=0, max_value=2**64 - 1)
pre_releases = st.from_regex(r"(0|[1-9][0-9]{0,3}|[a-z][a-z0-9-]{0,5})(\.(0|[1-9]|[a-z-]{1,4})){0,2}", fullmatch=True)
releases = st.tuples(numbers, numbers, numbers).map(lambda parts: ".".join(map(str, parts)))
versions = st.one_of(releases, st.tuples(releases, pre_releases).map("-".join))


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("1.0.0-alpha", "1.0.0-alpha.1"),
        ("1.0.0-alpha.1", "1.0.0-alpha.beta"),
        ("1.0.0-alpha.beta", "1.0.0-beta"),
        ("1.0.0-beta.2", "1.0.0-beta.11"),
        ("1.0.0-rc.1", "1.0.0"),
        ("1.9.0", "1.10.0"),
        ("v1.2", "1.2.1"),
    ],
)
def test_versions_are_ordered_as_in_semver(lower: str, higher: str) -> None:
    first, second = parse_version(lower), parse_version(higher)
    assert first is not None
    assert second is not None
    assert first < second


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "1.2.3.4",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3+",
        "1.x",
        " 1.2.3",
        "1.2.3\n",
        f"{2**64}.0.0",
        "\u0661.0.0",
        "1.0.0-" + "a" * MAX_VERSION_LENGTH,
    ],
)
def test_an_invalid_version_is_none(text: str) -> None:
    assert parse_version(text) is None


def test_build_metadata_does_not_count() -> None:
    assert parse_version("1.2.3+one") == parse_version("1.2.3+two")


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("0.2.1", "0.2.1"),
        ("v0.2.1", "0.2.1"),
        ("0.2", "0.2.10"),
        ("^0.2", "0.2.10"),
        ("^1", "1.4.2"),
        ("~1.3", "1.3.9"),
        (">=0.2 <1", "0.2.10"),
        (">=0.2,<1", "0.2.10"),
        ("1.x", "1.4.2"),
        ("*", "2.0.0"),
        ("", "2.0.0"),
        ("1.0 - 1.3", "1.3.9"),
        ("9 || ~1.3", "1.3.9"),
        ("!=2.0.0", "1.4.2"),
        (">=2.1.0-0", "2.1.0-rc.1"),
        (">=2 || 9.0.0-0", "2.0.0"),
        ("9.0.0-0 || >=2", "2.0.0"),
        (">=2 <3.0.0-0", "2.1.0-rc.1"),
        (">2", None),
        ("3", None),
    ],
)
def test_the_newest_version_in_the_range_is_chosen(wanted: str, chosen: str | None) -> None:
    newest_first = ["2.1.0-rc.1", "2.0.0", "1.4.2", "1.3.9", "0.2.10", "0.2.1", "nonsense"]
    assert parse_range(wanted).select(newest_first) == chosen


def test_an_exact_match_wins_over_a_newer_version() -> None:
    assert parse_range("1.2").select(["1.2.9", "1.2"]) == "1.2"


@pytest.mark.parametrize(
    "text", ["latest", "1.2.3.4", ">>1", "1,", "|| 1", "a - b", "1 & 2", "1." * 300, "1||" * 40 + "1"]
)
def test_an_invalid_range_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(FormInvalid, match=r"Write for example 0\.2\.1"):
        parse_range(text)


@given(versions)
def test_a_version_satisfies_the_range_that_names_it(text: str) -> None:
    version = parse_version(text)
    assert version is not None
    for operator in ("", "=", ">=", "<=", "~", "^"):
        assert parse_range(f"{operator}{text}").allows(version)
    for operator in ("!=", ">", "<"):
        assert not parse_range(f"{operator}{text}").allows(version)


@given(versions, versions)
def test_a_version_is_less_equal_or_greater_than_another(one: str, other: str) -> None:
    version = parse_version(one)
    assert version is not None
    # The pre-release in the second comparison, which allows everything, admits pre-releases.
    sides = [parse_range(f"{operator}{other} >=0.0.0-0").allows(version) for operator in ("<", "=", ">")]
    assert sum(sides) == 1


@given(releases, pre_releases)
def test_a_pre_release_needs_a_range_that_names_one(release: str, pre: str) -> None:
    version = parse_version(f"{release}-{pre}")
    assert version is not None
    assert not parse_range(">=0.0.0").allows(version)
    assert parse_range(">=0.0.0-0").allows(version)


@must_occur(range=10)
@given(st.text(alphabet="0123456789xX*v.-+ab~^<>=!|, ", max_size=MAX_RANGE_LENGTH + 8))
def test_any_text_is_a_range_or_refused(text: str) -> None:
    try:
        wanted = parse_range(text)
    except FormInvalid:
        return
    occurred("range")
    assert wanted.select(["1.0.0", text]) in ("1.0.0", text, None)
