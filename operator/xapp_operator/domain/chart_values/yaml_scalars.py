"""What a YAML scalar means to helm: the rules of go.yaml.in/yaml/v2, and for keys of sigs.k8s.io/yaml. Pure."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from typing import Final, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_TAG: Final = "tag:yaml.org,2002:"
_TAG_BINARY: Final = _TAG + "binary"
_TAG_FLOAT: Final = _TAG + "float"
_TAG_TIMESTAMP: Final = _TAG + "timestamp"
TAG_MERGE: Final = _TAG + "merge"

_TYPE_BY_TAG: Final[dict[str, type]] = {
    _TAG + "bool": bool,
    _TAG + "int": int,
    _TAG_FLOAT: float,
    _TAG + "null": type(None),
}

_CONSTANTS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_DECIMAL_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_PREFIXED_INTEGER: Final = re.compile(r"([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_DOT_FLOAT: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_TIMESTAMP: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt][0-9:.]+(?:Z|[-+][0-9]{2}:[0-9]{2})| [0-9:.]+)?")

_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1
_INT_DIGITS: Final = 20  # of the largest uint64
_EXACT_INTEGER_LIMIT: Final = 2**53  # every whole number below is a float64
_FLOAT32_DIGITS: Final = 9  # enough to distinguish all float32 values
_PLAIN_EXPONENTS: Final = range(-4, 6)  # Go's %g writes these without an exponent


TOO_LARGE_INTEGER: Final = "a whole number of more than 64 bits, which Kubernetes would round"


class ScalarRefused(ValueError):
    """Helm cannot read this scalar; the message is a clause without the scalar itself."""


def parse_scalar(*, tag: str | None, text: str, plain: bool) -> Scalar:
    """Return what helm reads for a scalar with this tag; `plain` is False for a quoted or block scalar.

    Whole numbers become `int` while they fit 64 bits, all others `float`: helm holds both as float64.

    Raises ScalarRefused when text and tag disagree, or for infinity and not-a-number.
    """
    if tag is None:
        return _normalize(_resolve_plain(text)) if plain else text
    if tag == _TAG_BINARY:
        return _decode_binary(text)
    if tag == _TAG_TIMESTAMP and not _TIMESTAMP.fullmatch(text):
        raise ScalarRefused("!!timestamp before a text that is not a time")
    if tag not in _TYPE_BY_TAG:
        return text
    value = _resolve_plain(text)
    if tag == _TAG_FLOAT and type(value) is int and value <= _INT64_MAX:
        value = float(value)
    if type(value) is not _TYPE_BY_TAG[tag]:
        raise ScalarRefused(f"!!{tag.removeprefix(_TAG)} before a value of another type")
    return _normalize(value)


def parse_key(*, tag: str | None, text: str, plain: bool) -> str:
    """Return the string that a key becomes: `8080: x` is "8080", `on: x` is "true".

    Raises ScalarRefused for keys that helm refuses: null, and whole numbers beyond 64 bits.
    """
    if tag is None and not plain:
        return text
    return scalar_to_key(_resolve_plain(text) if tag is None else parse_scalar(tag=tag, text=text, plain=plain))


def scalar_to_key(value: Scalar) -> str:
    """Return the string that `value` becomes as a key."""
    if isinstance(value, str):
        return value
    if value is None:
        raise ScalarRefused("an empty or null key")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _format_float_key(value)
    if value > _INT64_MAX:
        raise ScalarRefused("a number of more than 64 bits as a key")
    return str(value)


def parse_json_number(digits: str) -> int | float:
    """Return a number of RFC 8259 as helm holds it.

    Raises ScalarRefused for one beyond a float64, and for a whole number beyond 64 bits.
    """
    value = _parse_yaml_number(digits)
    if value is None:
        raise ScalarRefused("a number that no 64-bit float can hold")
    number = _normalize_number(value)
    if isinstance(number, float) and is_whole_number(digits):
        raise ScalarRefused(TOO_LARGE_INTEGER)
    return number


def is_whole_number(text: str) -> bool:
    """Return whether a number is written without a fraction and an exponent."""
    digits = text.replace("_", "")
    return bool(_DECIMAL_INTEGER.fullmatch(digits) or _PREFIXED_INTEGER.fullmatch(digits))


def _resolve_plain(text: str) -> Scalar:
    """Return a plain scalar's value; whole numbers up to uint64 stay `int`, as in go-yaml."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    value = _parse_yaml_number(text)
    return text if value is None else value


def _parse_yaml_number(text: str) -> int | float | None:
    digits = text.replace("_", "")
    if text[0] == ".":
        return _parse_float(digits) if _LEADING_DOT_FLOAT.fullmatch(text) else None
    whole = _parse_integer(digits)
    return _parse_float(digits) if whole is None else whole


def _parse_integer(digits: str) -> int | None:
    if _DECIMAL_INTEGER.fullmatch(digits):
        if len(digits) > _INT_DIGITS:
            return None
        value = int(digits)
    elif match := _PREFIXED_INTEGER.fullmatch(digits):
        sign, hexadecimal, binary, octal = match.groups()
        value = int(hexadecimal, 16) if hexadecimal else int(binary, 2) if binary else int(octal, 8)
        value = -value if sign == "-" else value
    else:
        return None
    largest = _INT64_MAX if digits[0] == "+" else _UINT64_MAX
    return value if _INT64_MIN <= value <= largest else None


def _parse_float(digits: str) -> float | None:
    if not _FLOAT.fullmatch(digits):
        return None
    value = float(digits)
    return None if math.isinf(value) else value


def _normalize(value: Scalar) -> Scalar:
    return value if value is None or isinstance(value, bool | str) else _normalize_number(value)


def _normalize_number(value: int | float) -> int | float:
    if isinstance(value, int):
        return value if _INT64_MIN <= value <= _INT64_MAX else float(value)
    if not math.isfinite(value):
        raise ScalarRefused("infinity or not-a-number, which JSON cannot represent")
    if value.is_integer() and abs(value) < _EXACT_INTEGER_LIMIT and (value or math.copysign(1, value) > 0):
        return int(value)
    return value


def _decode_binary(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode()
    except (binascii.Error, ValueError):
        raise ScalarRefused("!!binary before something that is not base64 of UTF-8 text") from None


def _format_float_key(value: float) -> str:
    """Return Go's strconv.FormatFloat(value, 'g', -1, 32), which sigs.k8s.io/yaml uses for keys."""
    if math.isnan(value):
        return ".nan"
    float32 = _round_to_float32(value)
    if math.isinf(float32):
        return ".inf" if float32 > 0 else "-.inf"
    shortest = next(
        text
        for precision in range(_FLOAT32_DIGITS)
        if _round_to_float32(float(text := f"{float32:.{precision}e}")) == float32
    )
    mantissa, _, exponent = shortest.partition("e")
    if int(exponent) not in _PLAIN_EXPONENTS:
        return shortest
    decimals = max(len(mantissa.lstrip("-").replace(".", "")) - 1 - int(exponent), 0)
    return f"{float(shortest):.{decimals}f}"


def _round_to_float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
