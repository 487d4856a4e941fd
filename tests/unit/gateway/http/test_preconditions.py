"""If-Match of requests that change or delete an object."""

from __future__ import annotations

import pytest

from tests.unit.gateway.http.requests import make_request
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import Conflict, MalformedRequest, PreconditionFailed, ReplacedMeanwhile
from xapp_operator.gateway.deploy.preconditions import ExpectedXApp, ExpectedXAppUid
from xapp_operator.gateway.http.requests.preconditions import WRITE_ATTEMPTS, replace_spec

UID = "01234567-89ab-cdef-0123-456789abcdef"
OTHER = "11234567-89ab-cdef-0123-456789abcdef"


def stored(*, uid: str = UID, generation: int = 3) -> JsonObject:
    return {"metadata": {"name": "hello", "uid": uid, "generation": generation}}


@pytest.mark.parametrize(
    ("header", "uid", "generation"),
    [
        (None, None, None),
        ("", None, None),
        (" ", None, None),
        ("*", None, None),
        ("3", None, 3),
        ('"3"', None, 3),
        (f'"{UID}"', UID, None),
        (f'"{UID}/12"', UID, 12),
        (UID.upper(), UID.upper(), None),
        ("9" * 18, None, int("9" * 18)),
    ],
)
def test_a_version_is_a_generation_or_a_uid_or_both(
    header: str | None, uid: str | None, generation: int | None
) -> None:
    headers = {} if header is None else {"If-Match": header}
    assert ExpectedXApp.of(make_request(headers=headers)) == ExpectedXApp(uid, generation)


@pytest.mark.parametrize(
    "header", ['"', '""', '"3', '3"', '"33', '33"', "3, 4", f"{UID}/", "/3", f"3/{UID}", "W/3", "a", "9" * 19]
)
def test_another_version_is_refused(header: str) -> None:
    with pytest.raises(MalformedRequest, match="generation of the xApp") as caught:
        ExpectedXApp.of(make_request(headers={"If-Match": header}))
    assert [each.field for each in caught.value.errors] == ["If-Match"]


@pytest.mark.parametrize(
    ("expected", "error"),
    [
        (ExpectedXApp(), None),
        (ExpectedXApp(UID), None),
        (ExpectedXApp(UID.upper()), None),
        (ExpectedXApp(generation=3), None),
        (ExpectedXApp(UID, 3), None),
        (ExpectedXApp(OTHER), ReplacedMeanwhile),
        (ExpectedXApp(OTHER, 3), ReplacedMeanwhile),
        (ExpectedXApp(generation=2), PreconditionFailed),
        (ExpectedXApp(UID, 4), PreconditionFailed),
    ],
)
def test_only_the_expected_version_may_be_changed(expected: ExpectedXApp, error: type[Exception] | None) -> None:
    if error is None:
        expected.require(stored())
        return
    with pytest.raises(error, match="xApp hello has") as caught:
        expected.require(stored())
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("header", "value"), [(None, None), ("*", None), (UID, UID), (f'"{UID}"', UID), ("a" * 128, "a" * 128)]
)
def test_a_deletion_expects_a_uid(header: str | None, value: str | None) -> None:
    headers = {} if header is None else {"If-Match": header}
    assert ExpectedXAppUid.of(make_request(headers=headers)) == ExpectedXAppUid(value)


@pytest.mark.parametrize("header", ['""', "a b", "a/3", "a" * 129])
def test_a_deletion_refuses_what_is_no_uid(header: str) -> None:
    with pytest.raises(MalformedRequest, match="uid of the xApp"):
        ExpectedXAppUid.of(make_request(headers={"If-Match": header}))


def test_only_the_expected_object_may_be_deleted() -> None:
    ExpectedXAppUid().require(stored())
    ExpectedXAppUid(UID).require(stored())
    with pytest.raises(ReplacedMeanwhile, match=r"xApp hello has another uid .* this one was deployed since"):
        ExpectedXAppUid(OTHER).require(stored())


class Server:
    """An object that others change before each write, so many times."""

    def __init__(self, *versions: JsonObject) -> None:
        self._versions = [*versions]
        self.writes: list[JsonObject] = []
        self.reads = 0

    async def write(self, current: JsonObject) -> JsonObject:
        self.writes.append(current)
        if self._versions:
            raise Conflict("changed")
        return {**current, "stored": True}

    async def read(self) -> JsonObject:
        self.reads += 1
        return self._versions.pop(0)

    async def replace(self, expected: ExpectedXApp) -> JsonObject:
        return await replace_spec(stored(), expected=expected, write=self.write, read=self.read)


async def test_a_spec_is_replaced_although_its_status_changes() -> None:
    newer = {**stored(), "status": {}}
    server = Server(*[newer] * (WRITE_ATTEMPTS - 1))
    assert await server.replace(ExpectedXApp()) == {**newer, "stored": True}
    assert server.writes == [stored(), *[newer] * (WRITE_ATTEMPTS - 1)]


async def test_without_a_conflict_nothing_is_read_again() -> None:
    server = Server()
    assert await server.replace(ExpectedXApp(UID, 3)) == {**stored(), "stored": True}
    assert server.reads == 0


async def test_a_status_that_changes_again_and_again_is_a_conflict() -> None:
    server = Server(*[stored()] * 20)
    with pytest.raises(Conflict, match="xApp hello was changed at the same time"):
        await server.replace(ExpectedXApp())
    assert len(server.writes) == 10


@pytest.mark.parametrize("meanwhile", [stored(generation=4), stored(uid=OTHER)])
async def test_a_spec_that_somebody_else_changes_is_a_conflict(meanwhile: JsonObject) -> None:
    server = Server(meanwhile)
    with pytest.raises(Conflict, match="xApp hello was changed at the same time"):
        await server.replace(ExpectedXApp())
    assert len(server.writes) == 1


async def test_a_spec_that_is_not_the_expected_one_any_more_is_refused() -> None:
    with pytest.raises(PreconditionFailed):
        await Server(stored(generation=4)).replace(ExpectedXApp(generation=3))
