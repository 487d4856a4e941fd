"""The parts of a multipart/form-data request (RFC 7578), each capped in bytes while it streams in.

Lives in the gateway, on python-multipart's parser: Starlette's own form reading has no cap for a file, and one cap for
all fields. A file part goes to a temporary file that is gone when the request is over; the other parts stay in memory,
under their caps. What a part says of its type and its file name is never looked at.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from xapp_operator.errors import FieldError, FormInvalid, MalformedRequest, NotAcceptedMedia, TooLarge
from xapp_operator.gateway.bodies import body_chunks
from xapp_operator.gateway.query import nearest, shown

OVERHEAD_MAX_BYTES: Final = 64 * 1024
"""For boundaries, headers of parts, and parts that are refused."""

PART_HEADERS_MAX: Final = 16
NAMES_SHOWN_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class PartRule:
    """A part that may come: its name, its cap in bytes, and whether it goes to a file."""

    name: str
    max_bytes: int
    to_file: bool = False


@dataclass(frozen=True, slots=True)
class Parts:
    """What came: parts in memory by name, and parts in files by name. A part that did not come is in neither.

    `misnamed` holds what should not have come, for `check_names`: whoever asks may first have to be turned away.
    """

    data: Mapping[str, bytes]
    files: Mapping[str, Path]
    misnamed: tuple[FieldError, ...] = ()

    def check_names(self) -> None:
        """Refuse parts that nobody reads, and parts that came twice.

        Raises:
            FormInvalid: naming them.
        """
        if self.misnamed:
            first = self.misnamed[0]
            raise FormInvalid(f"{first.field} {first.message}", errors=self.misnamed)


@dataclass(slots=True)
class _Sink:
    """Where the bytes of one part go."""

    rule: PartRule
    target: bytearray | IO[bytes]
    size: int = 0

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self.rule.max_bytes:
            message = f"has more than {self.rule.max_bytes:,} bytes, the most that is taken: send less"
            raise TooLarge(f"the part {self.rule.name} {message}", errors=(FieldError(self.rule.name, message),))
        if isinstance(self.target, bytearray):
            self.target += piece
        else:
            self.target.write(piece)


@dataclass(slots=True)
class _Reception:
    """The callbacks of the parser, and what has come so far."""

    rules: Mapping[str, PartRule]
    folder: Path
    sinks: dict[str, _Sink] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    complete: bool = False
    _current: _Sink | None = None
    _header: bytearray = field(default_factory=bytearray)
    _value: bytearray = field(default_factory=bytearray)
    _disposition: bytes = b""

    def parser(self, boundary: bytes) -> MultipartParser:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._name_piece,
                "on_header_value": self._value_piece,
                "on_header_end": self._header_end,
                "on_headers_finished": self._open,
                "on_part_data": self._piece,
                "on_part_end": self._close,
                "on_end": self._end,
            },
            max_header_count=PART_HEADERS_MAX,
        )

    def _begin(self) -> None:
        self._disposition = b""

    def _name_piece(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _value_piece(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if bytes(self._header).lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _open(self) -> None:
        kind, options = parse_options_header(self._disposition)
        if kind != b"form-data" or b"name" not in options:
            raise MalformedRequest(
                'a part has no name: give each part a header Content-Disposition: form-data; name="…"'
            )
        name = options[b"name"].decode("utf-8", "replace")
        rule = self.rules.get(name)
        if rule is None:
            self.unknown.append(name)
        elif name in self.sinks:
            self.repeated.append(name)
        else:
            self.sinks[name] = self._current = _Sink(rule, self._target(rule))

    def _target(self, rule: PartRule) -> bytearray | IO[bytes]:
        if not rule.to_file:
            return bytearray()
        file = tempfile.NamedTemporaryFile(dir=self.folder, delete=False)  # noqa: SIM115 - closed in _close or discard
        self.paths[rule.name] = Path(file.name)
        return file

    def _piece(self, data: bytes, start: int, end: int) -> None:
        if self._current is not None:
            self._current.write(data[start:end])

    def _close(self) -> None:
        if self._current is not None and not isinstance(self._current.target, bytearray):
            self._current.target.close()
        self._current = None

    def _end(self) -> None:
        self.complete = True

    def discard(self) -> None:
        self._close()
        for path in self.paths.values():
            path.unlink(missing_ok=True)

    def parts(self) -> Parts:
        data = {name: bytes(sink.target) for name, sink in self.sinks.items() if isinstance(sink.target, bytearray)}
        return Parts(data=data, files=self.paths, misnamed=tuple(self._misnamed()))

    def _misnamed(self) -> Iterator[FieldError]:
        known = ", ".join(self.rules)
        for name in list(dict.fromkeys(self.unknown))[:NAMES_SHOWN_MAX]:
            yield FieldError(shown(name), f"is no part of this request{nearest(name, self.rules) or ':'} send {known}")
        for name in dict.fromkeys(self.repeated):
            yield FieldError(name, "came more than once: send it once")


@asynccontextmanager
async def received_parts(request: Request, *, rules: Sequence[PartRule], folder: Path) -> AsyncIterator[Parts]:
    """Receive the whole request and hold its parts, and the files in `folder`, until the block ends.

    Raises:
        NotAcceptedMedia: when the request is not multipart/form-data.
        TooLarge: as soon as a part is over its cap.
        MalformedRequest: for a body that breaks the rules of multipart, or that ends too early.
    """
    boundary = _boundary(request)
    most = sum(rule.max_bytes for rule in rules) + OVERHEAD_MAX_BYTES
    _check_announced_size(request, most)
    reception = _Reception({rule.name: rule for rule in rules}, folder)
    try:
        await _receive(request, reception, boundary=boundary, most=most)
        yield reception.parts()
    finally:
        reception.discard()


async def _receive(request: Request, reception: _Reception, *, boundary: bytes, most: int) -> None:
    received = 0
    try:
        parser = reception.parser(boundary)
        async for chunk in body_chunks(request):
            received += len(chunk)
            if received > most:
                raise _over_all(most)
            if chunk:
                parser.write(chunk)
    except FormParserError:
        raise MalformedRequest(
            "the body is not multipart/form-data as RFC 7578 describes it: let a library or curl -F make it"
        ) from None
    if not reception.complete:
        raise MalformedRequest("the body ends before its closing boundary: send it whole")


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data":
        raise NotAcceptedMedia("the request must be multipart/form-data, as curl -F sends it")
    if not options.get(b"boundary"):
        raise MalformedRequest("the Content-Type has no boundary: let a library or curl -F set it")
    return options[b"boundary"]


def _check_announced_size(request: Request, most: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise _over_all(most)


def _over_all(most: int) -> TooLarge:
    return TooLarge(f"the request has more than {most:,} bytes, the most that all parts together may have: send less")
