"""Secrets inside texts of formats that do not assign with `:` or `=`. Pure.

Found are: XML elements with a secret name, communities and users of SNMP, passwords of Redis, LDAP and .netrc files,
data source names of Go, the logins of container registries, cookies, and the passwords of sshpass and of SQL users.

Each expression has a bounded length, or consumes what it reads, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from xapp_operator.domain.masking.secret_keys import is_secret_key

Span: TypeAlias = tuple[int, int]
"""Start and end of a secret in a text."""

FORMAT_HINT: Final = re.compile(
    r"</|@[a-z]|auth|cookie|community|com2sec|sink|createuser|requirepass|rootpw|bindpw|wpa-|machine|default|sshpass|identified",
    re.IGNORECASE,
)
"""A text without any of these has no secret of these formats."""

_XML_TAG: Final = re.compile(r"<(?P<key>[A-Za-z_][A-Za-z0-9_.:-]{0,127}+)(?:\s[^<>]{0,512}+)?>\s{0,64}+")
_XML_PROPERTY: Final = re.compile(
    r"<(?:name|key)>\s{0,64}+(?P<key>[A-Za-z_][A-Za-z0-9_.-]{0,127}+)\s{0,64}+</(?:name|key)>\s{0,64}+"
    r"<value>(?P<value>[^<]++)"
)
_XML_ELEMENT_MAX: Final = 4096  # characters up to the end of an element that has elements in it
_CDATA: Final = "<![CDATA["

_WORD: Final = r"(?P<value>\"[^\"\r\n]++\"?+|'[^'\r\n]++'?+|\S++)"
_DIRECTIVE: Final = re.compile(
    r"(?<![\w.-])(?:r[ow]community6?|trapcommunity|snmp-server[ \t]{1,16}+community|requirepass|masterauth|primaryauth"
    r"|rootpw|bindpw|com2sec6?(?:[ \t]{1,16}+-Cn[ \t]{1,16}+\S{1,64}+)?(?:[ \t]{1,16}+\S{1,256}+){2}"
    r"|identified[ \t]{1,16}+by(?:[ \t]{1,16}+password)?"
    r"|(?:trap2?|inform)sink[ \t]{1,16}+\S{1,256}+|sshpass[ \t]{1,16}+-p)"
    rf"(?:[ \t]{{1,16}}+|(?<=sshpass -p)){_WORD}",
    re.IGNORECASE,
)
_LINE_DIRECTIVE: Final = re.compile(
    r"(?<![\w.-])(?:wpa-psk|wpa-passphrase|createuser[ \t]{1,16}+(?:-e[ \t]{1,16}+\S{1,64}+[ \t]{1,16}+)?\S{1,128}+)"
    r"[ \t]{1,16}+(?P<value>[^\r\n]++)",
    re.IGNORECASE,
)
_NETRC: Final = re.compile(
    r"(?<![\w.-])(?:machine\s{1,16}+\S{1,256}+|default)\s{1,64}+(?:(?:login|account)\s{1,16}+\S{1,256}+\s{1,64}+){0,2}+"
    rf"password\s{{1,16}}+{_WORD}"
)

_GO_ADDRESS: Final = re.compile(r"@[a-z][a-z0-9]{0,15}+\(")
_BEFORE_LOGIN: Final = re.compile(r"[\s\"'`<>]")
_GO_LOGIN_MAX: Final = 512  # characters

_LOGIN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:basic_?)?auth(?:\\{0,7}[\"'])?[ \t]{0,16}+[:=][ \t]{0,16}+(?:\\{0,7}[\"'])?"
    r"(?P<value>[^\s\"'\\,{}\[\]]{3,4096}+)",
    re.IGNORECASE,
)
_COOKIE: Final = re.compile(
    r"(?<![\w.])(?:(?:set-)?cookie(?:\\{0,7}[\"'])?[ \t]{0,16}+[:=]|--cookie)[ \t]{0,16}+(?:\\{0,7}[\"'])?"
    r"(?P<value>[^\s=;\"'\\]{1,256}+=[^\"'\r\n]++)",
    re.IGNORECASE,
)


def find_in_formats(text: str) -> Iterator[Span]:
    """Yield where secrets of these formats are in `text`, in no order; they may overlap."""
    if FORMAT_HINT.search(text) is None:
        return
    yield from _xml_elements(text)
    yield from _go_passwords(text)
    for pattern in (_DIRECTIVE, _LINE_DIRECTIVE, _NETRC, _COOKIE):
        yield from (match.span("value") for match in pattern.finditer(text))
    yield from (match.span("value") for match in _LOGIN.finditer(text) if _is_login(match["value"]))
    yield from (match.span("value") for match in _XML_PROPERTY.finditer(text) if is_secret_key(match["key"]))


def is_basic_credential(value: str) -> bool:
    """Return whether `value` is `user:password` in base64."""
    try:
        return b":" in base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False


def _is_login(value: str) -> bool:
    return (":" in value and "://" not in value) or is_basic_credential(value)


def _xml_elements(text: str) -> Iterator[Span]:
    at = 0
    while tag := _XML_TAG.search(text, at):
        at = tag.end()
        if not is_secret_key(tag["key"]):
            continue
        start = at
        if text.startswith(_CDATA, at):
            start += len(_CDATA)
            closing = text.find("]]>", start)
            end = at = closing if closing != -1 else len(text)
        else:
            end = text.find(f"</{tag['key']}", at, at + _XML_ELEMENT_MAX)
            if end == -1:  # long, or no element but a word in angle brackets
                end = text.find("<", at)
                end = end if text.startswith("</", end) else start
            at = end
        yield start, start + len(text[start:end].rstrip())


def _go_passwords(text: str) -> Iterator[Span]:
    """Yield the password of each `user:password@tcp(host:port)/database`."""
    before = 0
    for address in _GO_ADDRESS.finditer(text):
        end = address.start()
        login = _BEFORE_LOGIN.split(text[max(before, end - _GO_LOGIN_MAX) : end])[-1]
        _, colon, password = login.partition(":")
        if colon:
            yield end - len(password), end
        before = address.end()
