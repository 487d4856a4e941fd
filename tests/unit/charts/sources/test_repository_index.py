"""The index of a repository is reduced to the needed fields, and refused when it is invalid."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import string
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from xapp_operator.charts.sources.index_reader import IN_THREAD_MAX_BYTES, IndexReader
from xapp_operator.charts.sources.repository_index import ChartIndex, ChartVersion, archive_digest
from xapp_operator.errors import ChartSourceError

DIGEST = "a" * 64
INDEX = f"""\
apiVersion: v1
entries:
  hello:
  - apiVersion: v2
    appVersion: "1.10"
    created: "2026-01-02T03:04:05Z"
    dependencies:
    - name: common
      version: 1.x.x
    description: Says hello
    digest: {DIGEST}
    icon: https://example.com/icon.png
    keywords: [a, b]
    name: hello
    urls:
    - hello-0.2.0.tgz
    - https://mirror.example.com/hello-0.2.0.tgz
    version: 0.2.0
  - urls: [hello-0.10.0.tgz]
    version: 0.10.0
  - urls: [hello-1.0.0-rc.1.tgz]
    version: 1.0.0-rc.1
  empty: []
  nothing:
generated: "2026-01-02T03:04:05Z"
serverInfo: {{}}
"""


def read(data: bytes | str, *, max_bytes: int = 100_000) -> ChartIndex:
    reader = IndexReader(max_bytes=max_bytes, max_weight=10_000_000)
    with tempfile.TemporaryFile() as stream:
        stream.write(data.encode() if isinstance(data, str) else data)
        return asyncio.run(reader.read(stream, namespace="apps"))


def refusal(data: bytes | str, *, max_bytes: int = 100_000) -> str:
    with pytest.raises(ChartSourceError) as caught:
        read(data, max_bytes=max_bytes)
    assert caught.value.permanent
    return caught.value.message


def test_charts_with_versions_are_found_by_name_and_description() -> None:
    assert read(INDEX).names == ("hello",)
    versions = [{"version": version, "urls": ["a"], "description": f"Says {version}"} for version in ("1.0", "2.0-rc")]
    index = read(json.dumps({"entries": {"hello": versions}}))
    found = [index.search(search) for search in ("", "HELL", "says 1", "2.0", "other")]
    assert found == [["hello"], ["hello"], ["hello"], [], []]


def test_the_latest_version_is_a_release_if_one_exists() -> None:
    assert read(INDEX).latest("hello").version == "0.10.0"
    only = "entries: {new: [{version: 1.0.0-rc.2, urls: [a]}, {version: 1.0.0-rc.10+x-1, urls: [b]}]}"
    assert read(only).latest("new").version == "1.0.0-rc.10+x-1"


def test_a_chart_with_an_invalid_name_is_not_listed() -> None:
    versions = [{"version": "1.0.0", "urls": ["a"]}]
    index = read(json.dumps({"entries": dict.fromkeys(("x" * 254, "b", "a"), versions)}))
    assert index.names == ("a", "b")


def test_versions_are_sorted_newest_first() -> None:
    index = read(INDEX)
    assert set(index.charts) == {"hello", "empty", "nothing"}
    assert [entry.version for entry in index.versions("hello")] == ["1.0.0-rc.1", "0.10.0", "0.2.0"]
    assert index.versions("hello")[-1] == ChartVersion(
        version="0.2.0",
        url="hello-0.2.0.tgz",
        digest=DIGEST,
        app_version="1.10",
        description="Says hello",
        icon="https://example.com/icon.png",
        created="2026-01-02T03:04:05Z",
    )
    assert index.versions("empty") == index.versions("nothing") == index.versions("other") == ()


@pytest.mark.parametrize(
    "data", [gzip.compress(INDEX.encode()), json.dumps(yaml.safe_load(INDEX)), f"---\n{INDEX}...\n"]
)
def test_an_index_may_be_compressed_or_json(data: bytes | str) -> None:
    assert read(data).charts == read(INDEX).charts


def test_the_digest_differs_between_two_states() -> None:
    assert read(INDEX).digest == read(INDEX).digest != read(INDEX + "\n").digest


def test_the_same_bytes_are_not_parsed_again() -> None:
    async def read_twice() -> None:
        reader = IndexReader(max_bytes=100_000, max_weight=1_000_000)
        before = await reader.read(io.BytesIO(INDEX.encode()), namespace="apps")
        again = await reader.read(io.BytesIO(INDEX.encode()), namespace="other")
        assert again.charts is before.charts
        assert again.fetched_at >= before.fetched_at
        assert (await reader.read(io.BytesIO((INDEX + "\n").encode()), namespace="apps")).charts is not before.charts

    asyncio.run(read_twice())


def test_a_large_index_is_read_by_a_process_with_the_same_result(tmp_path: Path) -> None:
    padded = INDEX + "#" * IN_THREAD_MAX_BYTES
    path = tmp_path / "index.yaml"
    for data in (padded.encode(), gzip.compress(padded.encode())):
        path.write_bytes(data)
        with path.open("rb") as stream:
            found = asyncio.run(IndexReader(max_bytes=100_000, max_weight=100_000).read(stream, namespace="apps"))
        assert (found.charts, found.names) == (read(INDEX).charts, read(INDEX).names)


@pytest.mark.parametrize(
    "entry",
    ["- null", "- text", "- []", "- {urls: [a.tgz]}", "- {version: 1.0.0}", "- {version: 1.0.0, urls: []}",
     "- {version: latest, urls: [a.tgz]}", "- {version: [1], urls: [a.tgz]}", "- {version: 1.0.0, urls: a.tgz}",
     "- {version: ~, urls: [a.tgz]}", "- {version: 1.0.0, urls: [[a.tgz]]}"],
)  # fmt: skip
def test_entries_that_helm_skips_are_skipped(entry: str) -> None:
    index = read(f"apiVersion: v1\nentries:\n  a:\n  {entry}\n  - {{version: 2.0.0, urls: [b.tgz]}}\n")
    assert [kept.version for kept in index.versions("a")] == ["2.0.0"]


def test_keys_that_are_no_strings_are_skipped() -> None:
    index = read(
        "apiVersion: v1\n? [a, b]\n: {c: d}\nentries:\n  a:\n  - {version: 1.0.0, urls: [a.tgz], ? {x: y} : z}\n"
    )
    assert [kept.version for kept in index.versions("a")] == ["1.0.0"]


@pytest.mark.parametrize(
    ("data", "expected_message"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("entries: [\n", "is not YAML (line 2)"),
        ("<!DOCTYPE html>\n<html><body>Sign in</body></html>", "is not an object"),
        ("- a\n", "is not an object"),
        ("some: thing\n", "neither entries nor an apiVersion"),
        ("entries: {a: &x [], b: *x}\n", "uses YAML aliases"),
        (b"entries: \xff\n", "is not YAML"),
        (b"entries: \x00\n", "is not YAML"),
        (gzip.compress(INDEX.encode())[:-10], "gzip compression is damaged"),
    ],
)
def test_an_invalid_index_is_refused(data: bytes | str, expected_message: str) -> None:
    message = refusal(data)
    assert expected_message in message
    assert "helm repo index" in message


def test_an_index_over_the_bound_is_refused() -> None:
    assert "more than 100 bytes" in refusal(INDEX, max_bytes=100)
    bomb = gzip.compress(b"apiVersion: v1\n#" + b" " * 1_000_000)
    assert "more than 10,000 bytes" in refusal(bomb, max_bytes=10_000)


@pytest.mark.parametrize("digest", [DIGEST, f"sha256:{DIGEST}", DIGEST.upper()])
def test_a_digest_may_have_its_prefix(digest: str) -> None:
    assert archive_digest(ChartVersion(version="1.0.0", url="a", digest=digest)) == DIGEST


def test_a_digest_of_another_kind_is_refused() -> None:
    assert archive_digest(ChartVersion(version="1.0.0", url="a")) is None
    with pytest.raises(ChartSourceError, match=r"the digest of version 1\.0\.0 is not a sha256"):
        archive_digest(ChartVersion(version="1.0.0", url="a", digest="md5:1234"))


texts = st.text(alphabet=string.printable + "äß漢🚀", max_size=20).map(
    lambda text: text.replace("\x0b", "").replace("\x0c", "")
)
junk = st.recursive(texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
entries = st.fixed_dictionaries(
    {"version": st.from_regex(r"[0-9]\.[0-9]\.[0-9]", fullmatch=True), "urls": st.lists(st.just("a.tgz"), min_size=1)},
    optional={"description": texts, "annotations": junk, "dependencies": junk},
)


@given(st.dictionaries(texts, st.lists(entries, max_size=3), max_size=3), junk)
def test_the_versions_equal_those_of_a_full_parse(charts: dict[str, list[dict[str, object]]], other: object) -> None:
    text = yaml.safe_dump({"apiVersion": "v1", "other": other, "entries": charts}, allow_unicode=True)
    found = read(text)
    assert {name: sorted(entry.version for entry in listed) for name, listed in found.charts.items()} == {
        name: sorted(str(entry["version"]) for entry in listed) for name, listed in charts.items()
    }
