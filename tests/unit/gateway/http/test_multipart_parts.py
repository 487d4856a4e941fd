"""The parts of multipart bodies, without a server: their names, their sizes, their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from tests.unit.gateway.http.requests import body_messages, make_request
from xapp_operator.errors import ContentTooLarge, FormInvalid, MalformedRequest, UnsupportedMediaType
from xapp_operator.gateway.http.requests.multipart import OnDataPart, PartRule, receive_parts

RULES = (PartRule("form", 10), PartRule("chart", 20, to_file=True))
OVERHEAD_MAX_BYTES = 64 * 1024
MAX_BYTES = 30 + OVERHEAD_MAX_BYTES
TYPE = {"Content-Type": "multipart/form-data; boundary=B"}


def part(name: str, content: bytes, *headers: str) -> bytes:
    lines = [f'Content-Disposition: form-data; name="{name}"', *headers]
    return b"--B\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


def body(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--B--\r\n"


class Received:
    """What was received, and what is left in the folder after it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.unexpected: dict[str, str] = {}

    async def receive(
        self, *chunks: bytes, headers: dict[str, str] | None = None, on_data_part: OnDataPart | None = None
    ) -> None:
        await self.receive_messages(body_messages(*chunks), headers=headers, on_data_part=on_data_part)

    async def receive_messages(
        self, messages: list[Message], *, headers: dict[str, str] | None = None, on_data_part: OnDataPart | None = None
    ) -> None:
        request = make_request(headers=TYPE if headers is None else headers, messages=messages)
        async with receive_parts(request, rules=RULES, folder=self.folder, on_data_part=on_data_part) as parts:
            self.data = dict(parts.data)
            self.files = {name: path.read_bytes() for name, path in parts.files.items()}
            self.unexpected = {each.field: each.message for each in parts.unexpected}
            assert len(list(self.folder.iterdir())) == len(self.files)
            parts.require_expected_names()


@pytest.fixture
def received(tmp_path: Path) -> Received:
    return Received(tmp_path)


def assert_nothing_left(received: Received) -> None:
    assert list(received.folder.iterdir()) == []


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_parts_go_to_memory_or_to_files_that_end_with_the_request(received: Received, size: int) -> None:
    whole = body(part("chart", b"c" * 20, "X-A: b"), part("form", b"f" * 10))
    await received.receive(*(whole[at : at + size] for at in range(0, len(whole), size)))
    assert (received.data, received.files) == ({"form": b"f" * 10}, {"chart": b"c" * 20})
    assert_nothing_left(received)


@pytest.mark.parametrize(("name", "size"), [("form", 11), ("chart", 21)])
async def test_a_part_over_its_maximum_is_refused(received: Received, name: str, size: int) -> None:
    with pytest.raises(ContentTooLarge, match=f"the part {name} has more than {size - 1} bytes") as caught:
        await received.receive(body(part(name, b"x" * size)))
    assert [each.field for each in caught.value.errors] == [name]
    assert_nothing_left(received)


async def test_the_size_of_a_part_does_not_count_towards_the_next(received: Received) -> None:
    await received.receive(body(part("form", b"f" * 10), part("chart", b"c" * 20)))
    assert len(received.files["chart"]) == 20


async def test_unknown_and_repeated_parts_are_named(received: Received) -> None:
    with pytest.raises(FormInvalid, match=r"^chrat is not a part of this request: did you mean 'chart'") as caught:
        await received.receive(body(part("form", b"a"), part("chrat", b"x" * 1000), part("form", b"b"), part("y", b"")))
    assert received.data == {"form": b"a"}
    assert received.unexpected == {
        "chrat": "is not a part of this request: did you mean 'chart'? send form, chart",
        "y": "is not a part of this request: send form, chart",
        "form": "was sent more than once: send it once",
    }
    assert [each.field for each in caught.value.errors] == ["chrat", "y", "form"]


async def test_at_most_ten_unknown_parts_are_named_each_once(received: Received) -> None:
    with pytest.raises(FormInvalid):
        await received.receive(body(*[part(f"zz{number % 12}", b"") for number in range(24)]))
    assert list(received.unexpected) == [f"zz{number}" for number in range(10)]


@pytest.mark.parametrize(
    "head",
    [
        b"--B\r\nX-A: b\r\n\r\n",
        b'--B\r\nContent-Disposition: attachment; name="form"\r\n\r\n',
        b"--B\r\nContent-Disposition: form-data\r\n\r\n",
    ],
)
async def test_a_part_needs_a_name(received: Received, head: bytes) -> None:
    with pytest.raises(MalformedRequest, match="a part has no name"):
        await received.receive(body(part("form", b"a"), head + b"x\r\n"))


async def test_the_header_of_a_name_may_be_written_in_any_case(received: Received) -> None:
    await received.receive(body(b'--B\r\nCONTENT-disposition: form-data; name="form"\r\n\r\na\r\n'))
    assert received.data == {"form": b"a"}


async def test_a_file_may_be_removed_before_the_request_ends(received: Received) -> None:
    request = make_request(headers=TYPE, messages=body_messages(body(part("chart", b"c"))))
    async with receive_parts(request, rules=RULES, folder=received.folder) as parts:
        parts.files["chart"].unlink()
    assert_nothing_left(received)


@pytest.mark.parametrize(("number", "accepted"), [(16, True), (17, False)])
async def test_the_headers_of_a_part_are_bounded(received: Received, number: int, accepted: bool) -> None:
    whole = body(part("form", b"a", *["X-A: b"] * (number - 1)))
    if accepted:
        await received.receive(whole)
        return
    with pytest.raises(MalformedRequest, match="not valid multipart"):
        await received.receive(whole)


@pytest.mark.parametrize("whole", [b"", b"--B\r\n", part("form", b"a"), part("chart", b"a")])
async def test_a_body_without_its_end_is_refused(received: Received, whole: bytes) -> None:
    with pytest.raises(MalformedRequest, match="ends before its closing boundary"):
        await received.receive(whole)
    assert_nothing_left(received)


async def test_what_is_not_multipart_is_refused(received: Received) -> None:
    with pytest.raises(MalformedRequest, match="not valid multipart"):
        await received.receive(b"hello")


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({}, UnsupportedMediaType),
        ({"Content-Type": "application/json"}, UnsupportedMediaType),
        ({"Content-Type": "multipart/mixed; boundary=B"}, UnsupportedMediaType),
        ({"Content-Type": "multipart/form-data"}, MalformedRequest),
        ({"Content-Type": "multipart/form-data; boundary="}, MalformedRequest),
    ],
)
async def test_the_type_of_the_body_is_checked(
    received: Received, headers: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await received.receive(body(part("form", b"a")), headers=headers)


@pytest.mark.parametrize(
    ("length", "accepted"), [(str(MAX_BYTES), True), (str(MAX_BYTES + 1), False), ("many", True), ("-1", True)]
)
async def test_a_body_whose_announced_size_is_too_large_is_refused_at_once(
    received: Received, length: str, accepted: bool
) -> None:
    headers = {**TYPE, "Content-Length": length}
    if accepted:
        await received.receive(body(part("form", b"a")), headers=headers)
        return
    with pytest.raises(ContentTooLarge, match="65,566 bytes, which is the maximum for all parts together"):
        await received.receive_messages([], headers=headers)


@pytest.mark.parametrize(("more", "accepted"), [(0, True), (1, False)])
async def test_a_body_that_is_too_large_is_refused_while_it_is_received(
    received: Received, more: int, accepted: bool
) -> None:
    end = part("form", b"a") + b"--B--\r\n"
    chunks = [part("zz", b"x" * (MAX_BYTES - len(end) - len(part("zz", b"")) + more)), end]
    error = FormInvalid if accepted else ContentTooLarge
    with pytest.raises(error):
        await received.receive(*chunks)


async def test_a_part_is_given_as_soon_as_it_is_complete(received: Received) -> None:
    given: list[tuple[str, bytes]] = []

    async def note(name: str, content: bytes) -> None:
        given.append((name, content))

    first, second = part("form", b"a") + b"--B\r\n", part("chart", b"c").removeprefix(b"--B\r\n") + b"--B--\r\n"
    messages = body_messages(first, second)
    await received.receive_messages(messages, on_data_part=note)
    assert given == [("form", b"a")]

    async def refuse(name: str, content: bytes) -> None:
        raise FormInvalid("no")

    with pytest.raises(FormInvalid, match="no"):
        await received.receive_messages(body_messages(first, b"")[:1], on_data_part=refuse)


async def test_a_client_that_leaves_leaves_no_files(received: Received) -> None:
    first = body_messages(part("chart", b"c")[:-2], b"")[0]
    with pytest.raises(ClientDisconnect):
        await received.receive_messages([first, {"type": "http.disconnect"}])
    assert_nothing_left(received)
