"""Versions and version ranges of charts, as Helm understands them.

Helm uses Masterminds/semver 3. A version may omit its minor or patch number, and may start with `v`. A range combines
comparisons with blanks or commas (and) and with `||` (or). A pre-release satisfies a range only when a comparison in
the same `or` part names a pre-release.

No Python library has these rules. Of the 52 ranges that tests/integration/charts compares with the real Helm,
node-semver 0.9 selects another version for 4 (commas, `!=`, an empty alternative), and the NpmSpec of semantic-version
2.10 for 12. Both admit pre-releases by npm's rule, and semver 3 has no ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from xapp_operator.common.text import quote_input
from xapp_operator.errors import FieldError, FormInvalid

MAX_VERSION_LENGTH: Final = 256  # as in Masterminds/semver 3.5
MAX_RANGE_LENGTH: Final = 512
MAX_RANGE_PARTS: Final = 32
_UINT64_MAX: Final = 2**64 - 1

PreKey: TypeAlias = tuple[tuple[int, int, str], ...]
SortKey: TypeAlias = tuple[int, int, int, int, PreKey]

_IDENTIFIERS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION: Final = re.compile(rf"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?")
_OPERATORS: Final = "!=|>=|=>|<=|=<|~>|=|>|<|~|\\^|"
_NUMBER: Final = "[0-9xX*]+"
_OPERAND: Final = rf"v?{_NUMBER}(?:\.{_NUMBER}){{0,2}}(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?"
_OPERAND_PARTS: Final = re.compile(
    rf"v?({_NUMBER})(?:\.({_NUMBER}))?(?:\.({_NUMBER}))?(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?"
)
_BLANKS: Final = r"[ \t\n\f\r]"
_COMPARISON: Final = re.compile(rf"{_BLANKS}*+({_OPERATORS}){_BLANKS}*+({_OPERAND})(?={_BLANKS}|,|\Z)")
_SEPARATOR: Final = re.compile(rf"{_BLANKS}*+,{_BLANKS}*+|{_BLANKS}++")
_HYPHEN_RANGE: Final = re.compile(rf"(?<![0-9A-Za-z.*+-])({_OPERAND}){_BLANKS}++-{_BLANKS}++({_OPERAND}){_BLANKS}*+")
"""Does not start inside an operand, so that it takes linear time; such a range would be invalid anyway."""
_WILDCARDS: Final = frozenset(("x", "X", "*"))
_MAJOR, _MINOR, _PATCH = 1, 2, 3
_RELEASE: Final = 1
_PRE_RELEASE: Final = 0


@dataclass(frozen=True, slots=True, order=True)
class SemanticVersion:
    """A version, ordered as SemVer defines; `text` is the original spelling."""

    key: SortKey = field(repr=False)
    text: str = field(compare=False)

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.key[:3]

    @property
    def is_pre_release(self) -> bool:
        return self.key[3] == _PRE_RELEASE


def parse_version(text: str) -> SemanticVersion | None:
    """Return the version that Helm reads from `text`, or None when it is not a version."""
    match = _VERSION.fullmatch(text) if len(text) <= MAX_VERSION_LENGTH else None
    if match is None:
        return None
    major, minor, patch = (int(number or 0) for number in match.group(1, 2, 3))
    if max(major, minor, patch) > _UINT64_MAX:
        return None
    pre = match.group(4)
    if pre is None:
        return SemanticVersion(key=(major, minor, patch, _RELEASE, ()), text=text)
    parts = _pre_key(pre)
    return None if parts is None else SemanticVersion(key=(major, minor, patch, _PRE_RELEASE, parts), text=text)


def _pre_key(pre: str) -> PreKey | None:
    parts: list[tuple[int, int, str]] = []
    for part in pre.split("."):
        if not part.isdigit():
            parts.append((1, 0, part))
        elif len(part) > 1 and part[0] == "0":
            return None
        else:
            parts.append((0, int(part), ""))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """One comparison; `precision` counts the numbers before the first one that is omitted or a wildcard."""

    operator: str
    version: SemanticVersion
    precision: int

    def allows(self, version: SemanticVersion) -> bool:
        return _CHECKS[self.operator](self, version)

    def equals(self, version: SemanticVersion) -> bool:
        return version == self.version if self.precision == _PATCH else self.matches_tilde(version)

    def not_equals(self, version: SemanticVersion) -> bool:
        if self.precision == _MAJOR:
            return not self._same_prefix(version, _MAJOR)
        if self.precision == _MINOR and self._same_prefix(version, _MINOR):
            return version.key[3:] != self.version.key[3:]
        return version != self.version

    def greater(self, version: SemanticVersion) -> bool:
        if self.precision in (_MAJOR, _MINOR):
            return version.numbers[: self.precision] > self.version.numbers[: self.precision]
        return version > self.version

    def less_or_equal(self, version: SemanticVersion) -> bool:
        if self.precision == _PATCH:
            return version <= self.version
        precision = _MAJOR if self.precision == _MAJOR else _MINOR
        return version.numbers[:precision] <= self.version.numbers[:precision]

    def matches_tilde(self, version: SemanticVersion) -> bool:
        if version < self.version:
            return False
        if self.version.numbers == (0, 0, 0) and self.precision in (0, _PATCH):
            return True
        return self._same_prefix(version, _MAJOR if self.precision == _MAJOR else _MINOR)

    def matches_caret(self, version: SemanticVersion) -> bool:
        if version < self.version:
            return False
        major, minor, _ = self.version.numbers
        if major > 0 or self.precision == _MAJOR:
            return self._same_prefix(version, _MAJOR)
        return self._same_prefix(version, _MINOR if minor > 0 or self.precision == _MINOR else _PATCH)

    def _same_prefix(self, version: SemanticVersion, count: int) -> bool:
        return version.numbers[:count] == self.version.numbers[:count]


_CHECKS: Final[Mapping[str, Callable[[_Comparison, SemanticVersion], bool]]] = {
    **dict.fromkeys(("", "="), _Comparison.equals),
    "!=": _Comparison.not_equals,
    ">": _Comparison.greater,
    "<": lambda comparison, version: version < comparison.version,
    **dict.fromkeys((">=", "=>"), lambda comparison, version: version >= comparison.version),
    **dict.fromkeys(("<=", "=<"), _Comparison.less_or_equal),
    **dict.fromkeys(("~", "~>"), _Comparison.matches_tilde),
    "^": _Comparison.matches_caret,
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A version or range as a user writes it: `0.2.1`, `^1.2`, `>=0.2 <1`, `1.x || 3.0.0 - 4`."""

    text: str
    _parts: tuple[tuple[_Comparison, ...], ...] = field(repr=False)

    def allows(self, version: SemanticVersion) -> bool:
        for part in self._parts:
            names_pre_release = any(comparison.version.is_pre_release for comparison in part)
            if version.is_pre_release and not names_pre_release:
                continue
            if all(comparison.allows(version) for comparison in part):
                return True
        return False

    def select(self, newest_first: Sequence[str]) -> str | None:
        """Return the entry that is spelled exactly like the range, or else the first that satisfies it."""
        if self.text in newest_first:
            return self.text
        for text in newest_first:
            version = parse_version(text)
            if version is not None and self.allows(version):
                return text
        return None


@lru_cache(maxsize=1024)
def parse_range(text: str) -> VersionRange:
    """Return the range that Helm reads from `text`; an empty text means the newest release.

    Raises FormInvalid when Helm would reject it.
    """
    if len(text) > MAX_RANGE_LENGTH:
        raise _invalid_range(text, f"at most {MAX_RANGE_LENGTH} characters are allowed")
    expanded = _HYPHEN_RANGE.sub(r">= \1, <= \2 ", text or "*")
    parts = expanded.split("||")
    if len(parts) > MAX_RANGE_PARTS:
        raise _invalid_range(text, f"at most {MAX_RANGE_PARTS} alternatives (||) are allowed")
    return VersionRange(text=text, _parts=tuple(_parse_comparisons(part, whole=text) for part in parts))


def _parse_comparisons(part: str, *, whole: str) -> tuple[_Comparison, ...]:
    found: list[_Comparison] = []
    position = 0
    while True:
        match = _COMPARISON.match(part, position)
        comparison = _parse_comparison(match.group(1), match.group(2)) if match else None
        if match is None or comparison is None:
            raise _invalid_range(whole)
        found.append(comparison)
        if not part[match.end() :].strip(" \t\n\f\r"):
            return tuple(found)
        separator = _SEPARATOR.match(part, match.end())
        if separator is None:
            raise _invalid_range(whole)
        position = separator.end()


def _parse_comparison(operator: str, operand: str) -> _Comparison | None:
    match = _OPERAND_PARTS.fullmatch(operand)
    if match is None:
        return None
    numbers = match.group(1, 2, 3)
    pre = f"-{match.group(4)}" if match.group(4) else ""
    precision = next((index for index, number in enumerate(numbers) if number is None or number in _WILDCARDS), _PATCH)
    version_text = operand
    if precision < _PATCH:
        version_text = (
            ".".join([*(number or "" for number in numbers[:precision]), *["0"] * (_PATCH - precision)]) + pre
        )
    version = parse_version(version_text)
    return None if version is None else _Comparison(operator=operator, version=version, precision=precision)


def _invalid_range(text: str, rule: str = "it must be a version or a range") -> FormInvalid:
    sentence = f"is not a chart version: {rule}. Write for example 0.2.1, ~1.4, ^2 or '>=0.2 <1'."
    return FormInvalid(f"{quote_input(text)} {sentence}", errors=(FieldError(field="chartVersion", message=sentence),))
