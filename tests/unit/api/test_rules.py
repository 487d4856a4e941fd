"""Rules that the API server and Python check alike."""

import pytest

from xapp_operator.api.rules import duration_rule, parse_duration, pattern_rule


@pytest.mark.parametrize(("text", "seconds"), [("5m", 300), ("1h30m", 5400), ("1.5s", 1.5), ("250ms", 0.25)])
def test_durations_have_the_format_of_go(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "5m ", "-5m", "5d"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write for example 90s"):
        parse_duration(text)


def test_a_pattern_rule_is_written_as_cel() -> None:
    assert pattern_rule(r"^a\.b$", "must be a.b").as_schema() == {
        "message": "must be a.b",
        "rule": r"self.matches('^a\\.b$')",
    }
    assert pattern_rule("@", "must have no @", negated=True).as_schema()["rule"] == "!self.matches('@')"


@pytest.mark.parametrize(
    ("text", "allowed"), [("a.b", True), ("axb", False), ("a.b\n", False), ("x a.b", False), ("", False)]
)
def test_a_pattern_rule_accepts_matching_text(text: str, *, allowed: bool) -> None:
    assert pattern_rule(r"^a\.b$", "").allows(text) is allowed
    assert pattern_rule(r"^a\.b$", "", negated=True).allows(text) is not allowed


@pytest.mark.parametrize(
    ("text", "allowed"), [("1s", True), ("24h", True), ("999ms", False), ("24h1s", False), ("5", False), ("", False)]
)
def test_a_duration_rule_accepts_durations_within_its_limits(text: str, *, allowed: bool) -> None:
    assert duration_rule("1s", "24h", examples="5m").allows(text) is allowed
