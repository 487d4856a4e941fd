"""Query parameters: what each kind accepts, and the sentence with which anything else is refused."""

from __future__ import annotations

import pytest

from xapp_operator.errors import MalformedRequest
from xapp_operator.gateway.http.requests.query import StrictQuery, suggest_name

NAME_COMPARED_MAX = 64
PARAMETERS_MAX = 50


def refusal(query: StrictQuery, *known: str, repeatable: tuple[str, ...] = ()) -> MalformedRequest:
    with pytest.raises(MalformedRequest) as raised:
        query.allow_only(known, repeatable=repeatable)
    return raised.value


def test_known_parameters_are_accepted_once_and_filters_often() -> None:
    query = StrictQuery(b"page=2&tag=b&tag=a&tag=b&tag=&blank=")
    assert query.allow_only(("page", "blank"), repeatable=("tag", "missing")) is query
    assert (query.text("page"), query.text("blank"), query.text("missing")) == ("2", None, None)
    assert (query.texts("tag"), query.texts("missing")) == (("a", "b"), ())
    assert StrictQuery(b"").allow_only(()).pairs == []


def test_unknown_and_repeated_parameters_are_named() -> None:
    unknown = refusal(StrictQuery(b"pgae=1&zzz=2"), "page", "sort", repeatable=("tag", "page"))
    assert unknown.message == (
        "\"pgae\" is not a parameter here: did you mean 'page'? known parameters are page, sort, tag"
    )
    assert [each.field for each in unknown.errors] == ["pgae", "zzz"]
    assert unknown.errors[1].message == "is not a parameter here: known parameters are page, sort, tag"
    only_unknown = refusal(StrictQuery(b"zzz=1&page=2&tag=1&tag=2"), "page", repeatable=("tag",))
    assert [each.field for each in only_unknown.errors] == ["zzz"]
    assert refusal(StrictQuery(b"a=1")).message == '"a" is not a parameter here: known parameters are none'
    twice = refusal(StrictQuery(b"page=1&tag=1&tag=2&page=2"), "page", repeatable=("tag",))
    assert [(each.field, each.message) for each in twice.errors] == [("page", "is given more than once: send it once")]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"a=%FF", "not percent-encoded UTF-8"),
        (b"a=\xc3\xa4", "not percent-encoded UTF-8"),
        (b"&".join([b"a=1"] * (PARAMETERS_MAX + 1)), f"more than {PARAMETERS_MAX} parameters"),
        (b"a=%00", "control characters"),
        (b"%0Aa=1", "control characters"),
    ],
)
def test_what_cannot_be_read_is_refused(raw: bytes, says: str) -> None:
    assert says in refusal(StrictQuery(raw), "a", repeatable=("a",)).message


def test_the_first_parameter_with_control_characters_is_named() -> None:
    [error] = refusal(StrictQuery(b"a=1&b=%00&c=%00"), "a", "b", "c").errors
    assert error.field == "b"


def test_as_many_parameters_as_the_maximum_are_read() -> None:
    raw = b"&".join([b"a=1"] * PARAMETERS_MAX)
    assert len(StrictQuery(raw).allow_only((), repeatable=("a",)).pairs) == PARAMETERS_MAX


def test_a_boolean_is_true_or_false() -> None:
    query = StrictQuery(b"yes=True&no=false&blank=&odd=1")
    assert [query.boolean(name) for name in ("yes", "no", "blank", "missing")] == [True, False, False, False]
    with pytest.raises(MalformedRequest, match='odd must be true or false, not "1"'):
        query.boolean("odd")


def test_an_integer_is_within_its_bounds() -> None:
    query = StrictQuery(b"low=1&high=9&under=0&over=10&minus=-3&text=x&huge=" + b"9" * 1001)

    def integer(name: str, *, high: int | None = 9) -> int:
        return query.integer(name, default=5, low=1, high=high, bound="between 1 and 9")

    assert [integer(name) for name in ("low", "high", "missing")] == [1, 9, 5]
    assert integer("over", high=None) == 10
    for name in ("under", "over", "minus"):
        with pytest.raises(MalformedRequest, match=rf"^{name} must be between 1 and 9, not"):
            integer(name)
    for name in ("text", "huge"):
        with pytest.raises(MalformedRequest, match=rf"^{name} must be an integer between 1 and 9, not"):
            integer(name)
    with pytest.raises(MalformedRequest):
        integer("under", high=None)


def test_seconds_have_a_maximum() -> None:
    query = StrictQuery(b"a=1.5&b=60&c=60.1&d=-1&e=1e1&f=0&g=")
    assert [query.seconds(name, high=60) for name in "abfgx"] == [1.5, 60.0, 0.0, None, None]
    for name in "cde":
        with pytest.raises(MalformedRequest, match=rf"^{name} must be a number of seconds between 0 and 60, not"):
            query.seconds(name, high=60)


def test_a_choice_is_one_of_the_words() -> None:
    query = StrictQuery(b"a=x&b=z&many=y&many=x&c=")
    assert [query.choice(name, ("x", "y")) for name in ("a", "c", "missing")] == ["x", None, None]
    assert (query.choices("many", ("x", "y")), query.choices("missing", ("x",))) == (("x", "y"), ())
    with pytest.raises(MalformedRequest, match='b must be one of x, y, not "z"'):
        query.choice("b", ("x", "y"))
    with pytest.raises(MalformedRequest, match='many must be one of x, not "y"'):
        query.choices("many", ("x",))


def test_a_name_like_a_known_one_is_suggested() -> None:
    assert suggest_name("PAGE", ["sort", "page"]) == ": did you mean 'page'?"
    assert suggest_name("perpage", ["per_page"]) == ": did you mean 'per_page'?"
    assert suggest_name("other", ["page"]) == ""
    longest = "x" * NAME_COMPARED_MAX
    assert suggest_name(longest, [longest[:-1]]) != ""
    assert suggest_name(longest + "x", [longest]) == ""
