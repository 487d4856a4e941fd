"""Query parameters, parsed strictly: known, given once unless they are filters, and blank means the default.

An unknown parameter is refused: with a misspelt `dryRun`, the request would do something else than the caller meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from difflib import get_close_matches
from typing import Final
from urllib.parse import parse_qsl

from xapp_operator.api.rules import CONTROL_CHARACTERS_MESSAGE
from xapp_operator.common.text import escape_input, quote_input
from xapp_operator.domain.control_characters import has_control_characters
from xapp_operator.errors import FieldError, MalformedRequest

PARAMETERS_MAX: Final = 50

_INTEGER: Final = re.compile(r"-?[0-9]{1,1000}")
_NUMBER: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_BOOLEANS: Final = {"true": True, "false": False}


class StrictQuery:
    """The query parameters of one request, in the order in which they were sent."""

    __slots__ = ("_parse_error", "pairs", "values")

    def __init__(self, query_string: bytes) -> None:
        """Parse `query_string` (RFC 3986, as HTML forms encode it); `allow_only` raises what is wrong with it."""
        self._parse_error: MalformedRequest | None = None
        self.pairs: list[tuple[str, str]] = []
        if query_string:
            try:
                self.pairs = parse_qsl(
                    query_string.decode("ascii"),
                    keep_blank_values=True,
                    errors="strict",
                    max_num_fields=PARAMETERS_MAX,
                )
            except UnicodeDecodeError:
                self._parse_error = MalformedRequest(
                    "the query string is not percent-encoded UTF-8: encode it as RFC 3986 describes"
                )
            except ValueError:
                self._parse_error = MalformedRequest(
                    f"the query string has more than {PARAMETERS_MAX} parameters: send fewer"
                )
        self.values = dict(self.pairs)

    def allow_only(self, known: Collection[str], *, repeatable: Collection[str] = ()) -> StrictQuery:
        """Return this query if its parameter names are valid.

        `repeatable` parameters may be given several times.

        Raises:
            MalformedRequest: for a parameter that is neither in `known` nor in `repeatable`, or is given twice.
        """
        if self._parse_error is not None:
            raise self._parse_error
        refused = [name for name, value in self.pairs if has_control_characters(name) or has_control_characters(value)]
        if refused:
            raise MalformedRequest.for_field(escape_input(refused[0]), CONTROL_CHARACTERS_MESSAGE)
        allowed = set(known).union(repeatable)
        repeats = len(self.values) != len(self.pairs) and any(
            count > 1 and name not in repeatable for name, count in Counter(name for name, _ in self.pairs).items()
        )
        if repeats or not self.values.keys() <= allowed:
            raise _parameter_names_error(self.pairs, known, repeatable)
        return self

    def text(self, name: str) -> str | None:
        """Return the parameter, or None if it is blank or missing."""
        return self.values.get(name) or None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the values of a parameter that may be repeated: sorted, each once, without blank ones."""
        if name not in self.values:
            return ()
        return tuple(sorted({value for each, value in self.pairs if each == name and value}))

    def boolean(self, name: str) -> bool:
        """Return whether the parameter is `true`; the default is false."""
        value = self.text(name)
        if value is None:
            return False
        found = _BOOLEANS.get(value.lower())
        if found is None:
            raise MalformedRequest.for_field(name, f"must be true or false, not {quote_input(value)}")
        return found

    def integer(self, name: str, *, default: int, low: int, high: int | None, bound: str) -> int:
        """Return an integer of decimal digits from `low` to `high`; `bound` is the range in words."""
        value = self.text(name)
        if value is None:
            return default
        if _INTEGER.fullmatch(value) is None:
            raise MalformedRequest.for_field(name, f"must be an integer {bound}, not {quote_input(value)}")
        number = int(value)
        if number < low or (high is not None and number > high):
            raise MalformedRequest.for_field(name, f"must be {bound}, not {quote_input(value)}")
        return number

    def seconds(self, name: str, *, high: float) -> float | None:
        """Return a number of seconds from 0 to `high`, or None if it is blank or missing."""
        value = self.text(name)
        if value is None:
            return None
        if _NUMBER.fullmatch(value) is None or float(value) > high:
            raise MalformedRequest.for_field(
                name, f"must be a number of seconds between 0 and {high:g}, not {quote_input(value)}"
            )
        return float(value)

    def choice(self, name: str, words: Collection[str]) -> str | None:
        """Return one of `words`, or None if it is blank or missing."""
        value = self.text(name)
        if value is not None and value not in words:
            raise _choice_error(name, value, words)
        return value

    def choices(self, name: str, words: Collection[str]) -> tuple[str, ...]:
        """Return the values of a parameter that may be repeated, each of which is one of `words`."""
        values = self.texts(name)
        for value in values:
            if value not in words:
                raise _choice_error(name, value, words)
        return values


NAME_COMPARED_MAX: Final = 64
"""Characters of a name that is compared with known names."""


def suggest_name(name: str, known: Collection[str]) -> str:
    """Return `": did you mean 'x'?"` if `known` has a name like `name`, else an empty string."""
    if len(name) > NAME_COMPARED_MAX:
        return ""
    found = get_close_matches(name, known, n=1) or [word for word in known if word.lower() == name.lower()]
    return f": did you mean {found[0]!r}?" if found else ""


def _choice_error(name: str, value: str, words: Collection[str]) -> MalformedRequest:
    return MalformedRequest.for_field(name, f"must be one of {', '.join(words)}, not {quote_input(value)}")


def _parameter_names_error(
    pairs: list[tuple[str, str]], known: Collection[str], repeatable: Collection[str]
) -> MalformedRequest:
    known = (*known, *(name for name in repeatable if name not in known))
    errors: list[FieldError] = []
    names = [name for name, _ in pairs]
    counts = Counter(names)
    for name in counts:
        if name not in known:
            hint, names_known = suggest_name(name, known) or ":", ", ".join(known) or "none"
            errors.append(FieldError(name, f"is not a parameter here{hint} known parameters are {names_known}"))
        elif counts[name] > 1 and name not in repeatable:
            errors.append(FieldError(name, "is given more than once: send it once"))
    first = errors[0]
    return MalformedRequest(f"{quote_input(first.field)} {first.message}", errors=tuple(errors))
