"""The tar reader sees what the standard library and Helm see, and rejects damaged archives."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import must_occur, occurred
from tests.unit.charts.tar_archives import header, member, padded, standard_tar
from xapp_operator.charts.archives.tar_reader import MAX_EXTENDED_HEADER_BYTES, InvalidTar, TarEntryKind, TarReader

END = b"\0" * 1024

names = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=300).filter(
    lambda name: not name.endswith("/")
)


def listed(tar: bytes) -> list[tuple[str, TarEntryKind, int, str]]:
    return [(entry.name, entry.kind, entry.size, entry.target) for entry in TarReader(io.BytesIO(tar))]


@given(
    st.lists(st.tuples(names, st.binary(max_size=1200)), max_size=5),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_names_and_contents_are_those_of_the_standard_library(entries: list[tuple[str, bytes]], form: int) -> None:
    tar = standard_tar(entries, form=form)
    reader = TarReader(io.BytesIO(tar))
    assert [(entry.name, reader.read()) for entry in reader] == entries


def test_a_ustar_name_is_joined_from_its_two_parts() -> None:
    name = "/".join(["a" * 40] * 4)
    assert listed(standard_tar([(name, b"")], form=tarfile.USTAR_FORMAT)) == [(name, TarEntryKind.FILE, 0, "")]


def test_kinds_and_link_targets_are_read() -> None:
    tar = b"".join(
        [
            member("folder", kind=tarfile.DIRTYPE),
            member("soft", kind=tarfile.SYMTYPE, target="x" * 150),
            member("hard", kind=tarfile.LNKTYPE, target="y"),
            member("device", kind=tarfile.CHRTYPE),
            member("pipe", kind=tarfile.FIFOTYPE),
            header(b"sparse", kind=b"S"),
            header(b"odd", kind=b"Z"),
            header(b"old/", kind=b"\0"),
            END,
        ]
    )
    assert [kind for _, kind, _, _ in listed(tar)] == [
        TarEntryKind.FOLDER,
        TarEntryKind.SYMBOLIC_LINK,
        TarEntryKind.HARD_LINK,
        TarEntryKind.DEVICE,
        TarEntryKind.FIFO,
        TarEntryKind.SPARSE,
        TarEntryKind.UNKNOWN,
        TarEntryKind.FOLDER,
    ]
    assert [target for *_, target in listed(tar)][1:3] == ["x" * 150, "y"]


def pax(records: bytes, *, kind: bytes = b"x") -> bytes:
    return header(b"pax", size=b"%011o\0" % len(records), kind=kind) + padded(records)


def test_a_sparse_file_in_pax_format_is_recognised() -> None:
    tar = pax(b"22 GNU.sparse.major=1\n") + header(b"big") + END
    assert [kind for _, kind, _, _ in listed(tar)] == [TarEntryKind.SPARSE]


def test_a_global_header_renames_nothing() -> None:
    tar = pax(b"18 path=elsewhere\n", kind=b"g") + header(b"here") + END
    assert [name for name, *_ in listed(tar)] == ["here"]


def test_the_prefix_in_star_format_ends_before_its_times() -> None:
    tar = header(b"name", magic=b"ustar\0", prefix=b"p" * 131 + b"0" * 24, trailer=b"tar\0") + END
    assert [name for name, *_ in listed(tar)] == ["p" * 131 + "/name"]


@pytest.mark.parametrize(
    "tar",
    [
        b"x" * 100,
        b"x" * 512,
        header(b"a")[:300],
        header(b"a", size=b"%011o\0" % 600) + b"x" * 512,
        header(b"a", size=b"-0000000001\0") + END,
        header(b"a", size=b"\xff" * 12) + END,
        header(b"a", size=b"not octal!!\0") + END,
        header(b"a") + header(b"b").replace(b"b\0", b"c\0", 1) + END,
        header(b"a", magic=b"ustar  \0", prefix=b"prefix in a GNU header") + END,
        pax(b"nonsense") + header(b"a") + END,
        pax(b"0 a=b\n") + header(b"a") + END,
        pax(b"99 path=a\n") + header(b"a") + END,
        pax(b"12 path=a\0b\n") + header(b"a") + END,
        pax(b"12 size=-12\n") + header(b"a") + END,
        header(b"pax", size=b"%011o\0" % (MAX_EXTENDED_HEADER_BYTES + 1), kind=b"x")
        + b"1" * (2 * MAX_EXTENDED_HEADER_BYTES),
    ],
)
def test_a_damaged_archive_is_refused(tar: bytes) -> None:
    with pytest.raises(InvalidTar):
        listed(tar)


def test_headers_that_target_quadratic_time_are_read_quickly() -> None:
    digits = pax(b"1" * 1_000_000)
    with pytest.raises(InvalidTar):
        listed(digits + header(b"a") + END)
    many = b"".join(b"6 a=b\n" for _ in range(100_000))
    assert [name for name, *_ in listed(pax(many) + header(b"a") + END)] == ["a"]


@given(st.binary(max_size=2048))
def test_any_bytes_are_read_or_refused(noise: bytes) -> None:
    try:
        listed(noise)
    except InvalidTar:
        return


@must_occur(read=10, refused=10)
@given(st.integers(0, 2047), st.integers(0, 255))
def test_any_changed_byte_is_read_or_refused(place: int, byte: int) -> None:
    tar = bytearray(standard_tar([("a/b", b"content"), ("a/" + "c" * 120, b"")], form=tarfile.PAX_FORMAT))
    tar[place] = byte
    try:
        found = listed(bytes(tar))
    except InvalidTar:
        occurred("refused")
        return
    occurred("read")
    assert len(found) <= 2
