"""Parts of multipart/form-data requests (RFC 7578), each with its own maximum size.

Starlette's form parser has no maximum for files and one for all other fields, so this uses the parser below it. A file
part goes to a temporary file that is removed after the request; other parts stay in memory. The content type and the
file name of a part are ignored.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Final, TypeAlias

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from xapp_operator.common.text import escape_input
from xapp_operator.errors import ContentTooLarge, FieldError, FormInvalid, MalformedRequest, UnsupportedMediaType
from xapp_operator.gateway.http.requests.bodies import iter_body
from xapp_operator.gateway.http.requests.query import suggest_name

OVERHEAD_MAX_BYTES: Final = 64 * 1024
"""Allowance for boundaries, headers of parts and unexpected parts."""

PART_HEADERS_MAX: Final = 16
UNKNOWN_NAMES_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class PartRule:
    """A part that is expected: its name, its maximum size, and whether it goes to a file."""

    name: str
    max_bytes: int
    to_file: bool = False


@dataclass(frozen=True, slots=True)
class ReceivedParts:
    """The parts of one request, by name, in memory (`data`) and in files.

    `unexpected` is for `require_expected_names`: the caller's permissions are checked before the names are.
    """

    data: Mapping[str, bytes]
    files: Mapping[str, Path]
    unexpected: tuple[FieldError, ...] = ()

    def require_expected_names(self) -> None:
        """Refuse unknown and repeated parts.

        Raises:
            FormInvalid: names them.
        """
        if self.unexpected:
            first = self.unexpected[0]
            raise FormInvalid(f"{first.field} {first.message}", errors=self.unexpected)


@dataclass(slots=True)
class _PartReceiver:
    """The callbacks of the parser, and the parts received so far."""

    rules: Mapping[str, PartRule]
    folder: Path
    targets: dict[str, IO[bytes]] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    complete: bool = False
    _completed: list[str] = field(default_factory=list)
    _current: PartRule | None = None
    _size: int = field(init=False)
    _header_name: bytearray = field(default_factory=bytearray)
    _header_value: bytearray = field(default_factory=bytearray)
    _disposition: bytes = b""

    def parser(self, boundary: bytes) -> MultipartParser:
        return MultipartParser(
            boundary,
            {
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_part_end": self._on_part_end,
                "on_end": self._on_end,
            },
            max_header_count=PART_HEADERS_MAX,
        )

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        if bytes(self._header_name).lower() == b"content-disposition":
            self._disposition = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _on_headers_finished(self) -> None:
        kind, options = parse_options_header(self._disposition)
        self._disposition = b""
        if kind != b"form-data" or b"name" not in options:
            raise MalformedRequest(
                'a part has no name: give each part a header Content-Disposition: form-data; name="…"'
            )
        name = options[b"name"].decode("utf-8", "replace")
        rule = self.rules.get(name)
        if rule is None:
            self.unknown.append(name)
        elif name in self.targets:
            self.repeated.append(name)
        else:
            self.targets[name], self._current, self._size = self._create_target(rule), rule, 0

    def _create_target(self, rule: PartRule) -> IO[bytes]:
        if not rule.to_file:
            return BytesIO()
        file = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115 - closed in _on_part_end or discard
        self.paths[rule.name] = Path(file.name)
        return file

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        rule = self._current
        if rule is None:
            return
        self._size += end - start
        if self._size > rule.max_bytes:
            message = f"has more than {rule.max_bytes:,} bytes, which is the maximum: send less"
            raise ContentTooLarge.for_field(rule.name, message, subject=f"the part {rule.name}")
        self.targets[rule.name].write(data[start:end])

    def _on_part_end(self) -> None:
        if self._current is not None and self._current.to_file:
            self.targets[self._current.name].close()
        elif self._current is not None:
            self._completed.append(self._current.name)
        self._current = None

    def _on_end(self) -> None:
        self.complete = True

    def take_completed(self) -> list[tuple[str, bytes]]:
        """Return the parts in memory that have been completed since the last call."""
        names, self._completed = self._completed, []
        targets = ((name, self.targets[name]) for name in names)
        return [(name, target.getvalue()) for name, target in targets if isinstance(target, BytesIO)]

    def discard(self) -> None:
        self._on_part_end()
        for path in self.paths.values():
            path.unlink(missing_ok=True)

    def parts(self) -> ReceivedParts:
        data = {name: target.getvalue() for name, target in self.targets.items() if isinstance(target, BytesIO)}
        return ReceivedParts(data=data, files=self.paths, unexpected=tuple(self._unexpected_parts()))

    def _unexpected_parts(self) -> Iterator[FieldError]:
        known = ", ".join(self.rules)
        for name in list(dict.fromkeys(self.unknown))[:UNKNOWN_NAMES_MAX]:
            yield FieldError(
                escape_input(name), f"is not a part of this request{suggest_name(name, self.rules) or ':'} send {known}"
            )
        for name in dict.fromkeys(self.repeated):
            yield FieldError(name, "was sent more than once: send it once")


OnDataPart: TypeAlias = Callable[[str, bytes], Awaitable[None]]
"""Called with the name and the content of a part in memory once it is complete; it may raise to refuse the request."""


@asynccontextmanager
async def receive_parts(
    request: Request, *, rules: Sequence[PartRule], folder: Path, on_data_part: OnDataPart | None = None
) -> AsyncIterator[ReceivedParts]:
    """Receive the whole request; its parts, and the files in `folder`, exist until the block ends.

    `on_data_part` is called before more of the request is read.

    Raises:
        UnsupportedMediaType: when the request is not multipart/form-data.
        ContentTooLarge: as soon as a part exceeds its maximum.
        MalformedRequest: for a body that is not valid multipart, or that ends too early.
    """
    boundary = _read_boundary(request)
    max_bytes = sum(rule.max_bytes for rule in rules) + OVERHEAD_MAX_BYTES
    _check_announced_size(request, max_bytes)
    receiver = _PartReceiver({rule.name: rule for rule in rules}, folder)
    try:
        await _parse_body(request, receiver, boundary=boundary, max_bytes=max_bytes, on_data_part=on_data_part)
        yield receiver.parts()
    finally:
        receiver.discard()


async def _parse_body(
    request: Request, receiver: _PartReceiver, *, boundary: bytes, max_bytes: int, on_data_part: OnDataPart | None
) -> None:
    received = 0
    try:
        parser = receiver.parser(boundary)
        async for chunk in iter_body(request):
            received += len(chunk)
            if received > max_bytes:
                raise _request_too_large(max_bytes)
            if chunk:
                parser.write(chunk)
            for name, data in receiver.take_completed():
                if on_data_part is not None:
                    await on_data_part(name, data)
    except FormParserError:
        raise MalformedRequest(
            "the body is not valid multipart/form-data (RFC 7578): create it with a library or curl -F"
        ) from None
    if not receiver.complete:
        raise MalformedRequest("the body ends before its closing boundary: send it whole")


def _read_boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data":
        raise UnsupportedMediaType("the request must be multipart/form-data: send it with a library or curl -F")
    if not options.get(b"boundary"):
        raise MalformedRequest("the Content-Type has no boundary: create the request with a library or curl -F")
    return options[b"boundary"]


def _check_announced_size(request: Request, max_bytes: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise _request_too_large(max_bytes)


def _request_too_large(max_bytes: int) -> ContentTooLarge:
    return ContentTooLarge(
        f"the request has more than {max_bytes:,} bytes, which is the maximum for all parts together: send less"
    )
