"""Secrets inside texts, such as a configuration file or a command line in one value. Pure.

Found are: what is assigned to a secret key (`password: x`, `DB_PASSWORD=x`, JSON, `--token=x`, `--token x`), user info
in URLs, tokens in the URLs of well-known webhooks, Authorization headers, private keys, tokens with a well-known
prefix, and what `secret_formats` finds. References such as `$(DB_PASSWORD)` are no secrets.

Every step is linear in the length of the text: each expression either has a bounded length or consumes what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from xapp_operator.domain.masking.secret_formats import FORMAT_HINT, Span, find_in_formats, is_basic_credential
from xapp_operator.domain.masking.secret_keys import is_only_key, is_secret_key, is_secret_scalar, may_be_secret_scalar

_HINT: Final = re.compile(
    r"[:=@]|-[A-Za-z]|-----BEGIN|gh[opsur]_|github_pat_|glpat-|npm_|xox|hvs\.|eyJ|A[KS]IA|AIza|[Bb]earer|[Bb]asic "
)
"""A text without any of these, and without any of FORMAT_HINT, has no secret."""

_KEY: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,127}+"
_ASSIGNMENT: Final = re.compile(
    rf"(?<![A-Za-z0-9_.-])-{{0,2}}(?P<key>{_KEY})(?P<after>\\{{0,7}}[\"'])?[ \t]{{0,16}}+"
    r"(?:=>|[:?+]?=(?!=)|:(?!:|//|=))(?P<blank>[ \t]*+)"
)
_OPTION: Final = re.compile(rf"(?<![A-Za-z0-9_.-])--?(?P<key>{_KEY})[ \t]{{1,16}}+(?=[^\s-])")
_USER_OPTION: Final = re.compile(
    r"(?<![A-Za-z0-9_.-])(?:-u|--user)(?:[ \t]{1,16}+|=)[\"']?[^\s:\"']{1,128}+:(?P<value>[^\s\"']++)"
)
_ONLY_OPTION: Final = re.compile(rf"--?(?P<key>{_KEY})")
_ONLY_USER_OPTION: Final = frozenset({"-u", "--user"})

_QUOTE: Final = re.compile(r"\\{0,7}[\"']")
_TRIPLE_QUOTE: Final = re.compile(r"\"{3}|'{3}")
_HEREDOC: Final = re.compile(r"<<[-~]?[ \t]{0,4}(?P<quote>[\"']?)(?P<tag>[A-Za-z_]\w{0,63})(?P=quote)[^\r\n]*+\r?\n")
_QUOTED: Final = re.compile(r'"(?P<value>[^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_SINGLE_QUOTED: Final = re.compile(r"'[^']*+(?:''[^']*+)*+'(?:\\''[^'\r\n]*+(?:'|(?=[\r\n])|\Z))*+")
"""A quote in the text is written as `''` (YAML, SQL) or `'\\''` (shell)."""
_TO_LINE_END: Final = re.compile(r"[^\r\n]*+")
_TO_QUOTE: Final = re.compile(r"[^\"'\r\n]*+")
_TO_SEPARATOR: Final = re.compile(r"[^\s,;\"'<>)}\]]*+")
_TO_ENTRY_END: Final = re.compile(r"[^\r\n,{}\[\]]*+")
_TO_QUERY_END: Final = re.compile(r"[^\s&#\"'<>]*+")
_SCALAR: Final = re.compile(
    r"(?:\\{0,7}[\"'])?(?P<value>(?![0-9.]{1,9}(?![0-9A-Za-z.]))[0-9A-Za-z][0-9A-Za-z :-]{0,80}+)"
)
_OPENS_ENTRY: Final = re.compile(r"[{,][ \t]{0,8}[\"']?\Z")
_LIST_MAX: Final = 2000  # characters of a list in brackets
_BLOCK_HEADER: Final = re.compile(r"[|>][0-9+-]{0,2}[ \t]*+(?:#[^\r\n]*+)?(?=\r?\n)")
_LINE: Final = re.compile(r"\r?\n(?P<indent>[ \t]*+)(?P<text>[^\r\n]*+)")
_ITEM: Final = re.compile(rf"-[ \t]++(?![\"']?{_KEY}[\"']?:(?:[ \t]|\Z))(?P<value>.++)|(?P<plain>[^\s:#-][^:]*+)\Z")
_NAME_IN_VALUE: Final = re.compile(rf"[\"'\\]{{0,8}}(?P<name>{_KEY})")
_LINE_PREFIX_MAX: Final = 200
_LINE_PREFIX: Final = re.compile(r"[\s\-\"'\\#;/]*+(?:(?:export|set|env|ENV|SET)[ \t]++)?[\"'\\]*+")
_PORT: Final = re.compile(r":[0-9]{1,5}(?![^\s/,\"'])")
_QUERY_KEYS: Final = frozenset({"sig", "signature", "code", "auth"})

_REFERENCE: Final = re.compile(
    r"\$\(.*\)|\$\{[A-Za-z_][A-Za-z0-9_]*+\}|\$[A-Z_][A-Z0-9_]*+|\{\{.*\}\}|<[A-Za-z][A-Za-z0-9 _-]*+>|%\([a-z_]++\)s"
)
_NO_SECRET: Final = frozenset(
    {"", "true", "false", "null", "none", "nil", "~", "yes", "no", "on", "off", "{}", "[]", "{{"}
)

_AUTHORITY: Final = re.compile(r"://(?P<authority>[^\s/\"<>]++)")
_USER_NAME_MAX: Final = 15  # a longer user name without a password is a token
_WEBHOOK: Final = re.compile(
    r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v[0-9]{1,3}/)?webhooks/[0-9]{1,32}/"
    r"|api\.telegram\.org/bot|webhook\.office\.com/webhookb2/|outlook\.office(?:365)?\.com/webhook/"
    r"|events\.pagerduty\.com/integration/|/hooks/(?=[A-Za-z0-9/_-]{16}))(?P<value>[^\s?#\"'<>]++)",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"(?<![A-Za-z0-9])[Bb]earer[ \t]{1,16}+(?P<value>[A-Za-z0-9._~+/=-]{12,})")
_BASIC: Final = re.compile(r"(?<![A-Za-z0-9])[Bb]asic[ \t]{1,16}+(?P<value>[A-Za-z0-9+/]{4,4096}+={0,2})")
_TOKEN: Final = re.compile(
    r"(?<![\w-])(?P<value>gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}"
    r"|npm_[A-Za-z0-9]{20,}|sk-(?:[a-z0-9]{1,16}-){0,2}\w{20,}[\w-]*|A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[\w-]{30,}|hvs\.[\w-]{20,}|eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{8,})",
    re.ASCII,
)
_PEM_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def find_secrets(text: str) -> list[Span]:
    """Return where secrets are in `text`, in order and without overlaps."""
    if _HINT.search(text) is None and FORMAT_HINT.search(text) is None:
        return []
    found = [
        *_private_keys(text),
        *_assigned(text),
        *_option_values(text),
        *_user_info(text),
        *find_in_formats(text),
        *(
            match.span("value")
            for pattern in (_WEBHOOK, _BEARER, _TOKEN, _USER_OPTION)
            for match in pattern.finditer(text)
        ),
        *(match.span("value") for match in _BASIC.finditer(text) if is_basic_credential(match["value"])),
    ]
    return list(_merge(span for span in found if _is_secret(text[slice(*span)])))


def mask_secrets(text: str, make_mask: Callable[[str], str]) -> str:
    """Return `text` with every secret replaced by what `make_mask` returns for it."""
    pieces: list[str] = []
    at = 0
    for start, end in find_secrets(text):
        pieces += [text[at:start], make_mask(text[start:end])]
        at = end
    return "".join((*pieces, text[at:]))


def masked_lines(text: str, mask: str) -> list[tuple[str, str]]:
    """Return each line of the masked text, with the part of `text` that it stands for (several lines of a key)."""
    lines = [("", "")]
    at = 0
    for start, end in (*find_secrets(text), (len(text), len(text))):
        first, *others = text[at:start].split("\n")
        lines[-1] = (lines[-1][0] + first, lines[-1][1] + first)
        lines += [(line, line) for line in others]
        if start < end:
            lines[-1] = (lines[-1][0] + mask, lines[-1][1] + text[start:end])
        at = end
    return lines


def is_value_of_option(option: object, value: str) -> bool:
    """Return whether `value` is the secret of the argument before it, as in `["--password", "x"]`."""
    if not isinstance(option, str) or not _is_secret(value):
        return False
    matched = _ONLY_OPTION.fullmatch(option)
    if matched is None or value.startswith("--"):
        return False
    return is_secret_key(matched["key"]) or (option in _ONLY_USER_OPTION and ":" in value)


def _private_keys(text: str) -> Iterator[Span]:
    at = 0
    while begin := _PEM_BEGIN.search(text, at):
        end = _PEM_END.search(text, begin.end())
        at = end.end() if end else len(text)
        yield begin.start(), at


def _assigned(text: str) -> Iterator[Span]:
    at = 0
    names_secret: bool | None = None  # of the `name` just before
    unnamed: re.Match[str] | None = None  # the `value` just before, whose name may follow
    while match := _ASSIGNMENT.search(text, at):
        at, key = match.end(), match["key"]
        named, names_secret, value_before, unnamed = names_secret, None, unnamed, None
        if key in {"name", "key"}:
            name = _NAME_IN_VALUE.match(text, at)
            names_secret = name is not None and is_secret_key(name["name"])
            if value_before:
                if names_secret:
                    spans, end = _value_spans(text, value_before, in_query=False)
                    yield from spans
                    at = max(at, end)
                names_secret = None
        if _is_port(text, match):
            continue
        in_query = text[match.start("key") - 1 : match.start("key")] in {"?", "&"}
        if _is_secret_in_text(key, in_query=in_query) or (named and key == "value"):
            spans, end = _value_spans(text, match, in_query=in_query)
            yield from spans
            at = max(at, end)
        elif key == "value" and named is None:
            unnamed = match
        elif may_be_secret_scalar(key):
            value = _SCALAR.match(text, at)
            if value is not None and is_secret_scalar(key, value["value"].rstrip()):
                yield value.span("value")


def _is_secret_in_text(key: str, *, in_query: bool) -> bool:
    if in_query and key.lower() in _QUERY_KEYS:
        return True
    return is_secret_key(key) and (in_query or not is_only_key(key))


def _is_port(text: str, match: re.Match[str]) -> bool:
    """Return whether this is `host:port` or the tag of an image, and no assignment."""
    if match["blank"] or text[match.end() - 1] != ":" or match["after"]:
        return False
    return bool(_PORT.match(text, match.end() - 1)) or text[match.start() - 1 : match.start()] == "/"


def _value_spans(text: str, match: re.Match[str], *, in_query: bool) -> tuple[list[Span], int]:
    """Return where the assigned value is, in several parts for a list, and where it ends."""
    at = match.end()
    following = text[at : at + 1]
    if opening := _TRIPLE_QUOTE.match(text, at):
        closing = text.find(opening.group(), opening.end())
        end = closing if closing != -1 else len(text)
        return [(opening.end(), end)], end
    if opening := _QUOTE.match(text, at):
        return _quoted_words(text, opening)
    if in_query:
        return _matched(_TO_QUERY_END, text, at)
    if following == "{":  # its members have keys of their own
        return [], at
    if following == "[":
        closing = text.find("]", at, at + _LIST_MAX)
        return ([(at + 1, closing)], closing) if closing != -1 else _matched(_TO_LINE_END, text, at)
    return _plain_value(text, match)


def _plain_value(text: str, match: re.Match[str]) -> tuple[list[Span], int]:
    at = match.end()
    if "authorization" in match["key"].lower():
        return _matched(_TO_QUOTE, text, at)
    is_option = text[match.start()] == "-"
    indent = None if is_option else _indent_of_line_key(text, match.start())
    if heredoc := _HEREDOC.match(text, at):
        closing = text.find(heredoc["tag"], heredoc.end())
        end = closing if closing != -1 else len(text)
        return [(heredoc.end(), heredoc.end() + len(text[heredoc.end() : end].rstrip()))], end
    if indent is None:
        in_flow = match["blank"] and _OPENS_ENTRY.search(text, max(0, match.start() - 10), match.start())
        return _matched(_TO_ENTRY_END if in_flow else _TO_SEPARATOR, text, at)
    if header := _BLOCK_HEADER.match(text, at):
        return _block(text, header.end(), indent=indent)
    if text[at : at + 1] in {"\r", "\n"}:
        return _indented_items(text, at, indent=indent)
    return _matched(_TO_LINE_END, text, at)


def _matched(pattern: re.Pattern[str], text: str, at: int) -> tuple[list[Span], int]:
    found = pattern.match(text, at)
    value = found.group() if found else ""
    end = at + len(value.rstrip(" \t,"))
    return [(at, end)], end


def _quoted_words(text: str, opening: re.Match[str]) -> tuple[list[Span], int]:
    """Return where a quoted value is; a shell joins quoted words that follow each other without a blank."""
    spans, end = _quoted(text, opening)
    while following := _QUOTE.match(text, end):
        more, end = _quoted(text, following)
        spans += more
    return spans, end


def _quoted(text: str, opening: re.Match[str]) -> tuple[list[Span], int]:
    if found := _QUOTED.match(text, opening.start()):
        return [found.span("value")], found.end()
    if opening.group() == "'":
        if found := _SINGLE_QUOTED.match(text, opening.start()):
            return [(opening.end(), found.end() - found.group().endswith("'"))], found.end()
        return _matched(_TO_LINE_END, text, opening.end())
    closing = text.find(opening.group(), opening.end())
    if closing == -1:
        return _matched(_TO_LINE_END, text, opening.end())
    return [(opening.end(), closing)], closing + len(opening.group())


def _indent_of_line_key(text: str, start: int) -> int | None:
    """Return the column of the key if it is the first word of its line, else None."""
    window = max(0, start - _LINE_PREFIX_MAX)
    line_start = text.rfind("\n", window, start) + 1
    if line_start == 0 and window:
        return None
    prefix = text[line_start:start]
    return len(prefix) if _LINE_PREFIX.fullmatch(prefix) else None


def _block(text: str, at: int, *, indent: int) -> tuple[list[Span], int]:
    start = end = at
    while line := _LINE.match(text, end):
        if line["text"] and len(line["indent"]) <= indent:
            break
        if start == at and line["text"]:
            start = line.start("text")
        end = line.end()
    return [(start, start + len(text[start:end].rstrip()))], end


def _indented_items(text: str, at: int, *, indent: int) -> tuple[list[Span], int]:
    """Return the items of a list, or the lines of a plain text, below a key."""
    spans: list[Span] = []
    while line := _LINE.match(text, at):
        item = _ITEM.fullmatch(line["text"].rstrip())
        is_below = len(line["indent"]) > indent or (line["text"].startswith("-") and len(line["indent"]) == indent)
        if item is None or not is_below:
            break
        part = "value" if item["value"] is not None else "plain"
        spans.append((line.start("text") + item.start(part), line.start("text") + item.end(part)))
        at = line.end()
    return spans, at


def _option_values(text: str) -> Iterator[Span]:
    at = 0
    while match := _OPTION.search(text, at):
        at = match.end()
        if is_secret_key(match["key"]):
            opening = _QUOTE.match(text, at)
            spans, at = _quoted(text, opening) if opening else _matched(_TO_SEPARATOR, text, at)
            yield from spans


def _user_info(text: str) -> Iterator[Span]:
    for match in _AUTHORITY.finditer(text):
        user_info, at_sign, _ = match["authority"].rpartition("@")
        user, colon, _ = user_info.partition(":")
        start, end = match.start("authority"), match.start("authority") + len(user_info)
        if colon:
            yield start + len(user) + 1, end
        elif at_sign and len(user) > _USER_NAME_MAX:
            yield start, end


def _is_secret(value: str) -> bool:
    stripped = value.strip(" \t\"'")
    return stripped.lower() not in _NO_SECRET and not _REFERENCE.fullmatch(stripped)


def _merge(spans: Iterable[Span]) -> Iterator[Span]:
    current: Span | None = None
    for start, end in sorted(spans):
        if start == end:
            continue
        if current is None or start > current[1]:
            if current is not None:
                yield current
            current = (start, end)
        else:
            current = (current[0], max(current[1], end))
    if current is not None:
        yield current
