"""Entries of ChartArchives hold bounded texts of their metadata, and the index of a namespace is made of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from xapp_operator.gateway.catalog.archive_store import ARCHIVE_SORTS, ArchiveEntry, build_archive_entry
from xapp_operator.gateway.catalog.object_store import ObjectStore
from xapp_operator.gateway.charts.repository_index import ENTRIES_MAX, RepositoryIndexes, build_index

PREFIX = "xapp-operator.io"
DIGEST = f"sha256:{'a' * 64}"


def entry(name: str = "hello-1", *, created: str = "2026-11-20T08:00:00Z", **annotations: str) -> ArchiveEntry:
    texts = {"chart": "hello", "chart-version": "0.1.0", "chart-digest": DIGEST, **annotations}
    keyed = {f"{PREFIX}/{key.replace('_', '-')}": value for key, value in texts.items() if value}
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "creationTimestamp": created}
    metadata["annotations"] = keyed
    return build_archive_entry({"metadata": metadata})


def versions(*entries: ArchiveEntry) -> Any:
    return {name: [each["version"] for each in found] for name, found in _entries(*entries).items()}


def _entries(*entries: ArchiveEntry) -> Any:
    return build_index(entries)["entries"]


def test_texts_of_an_entry_are_cut() -> None:
    long = "x" * 200_000
    found = entry(chart=long, chart_version=long, app_version=long, description=long, chart_digest=long, keep=long)
    assert len(found.record_json) < 3_000
    texts = (found.chart, found.version, found.app_version, found.description, found.digest)
    assert max(map(len, texts)) <= 1024


@pytest.mark.parametrize(
    ("text", "size"), [("1048576", 1048576), ("-1", None), ("1e9", None), ("9" * 400, None), ("²", None)]
)
def test_a_size_that_is_none_is_left_out(text: str, size: int | None) -> None:
    assert orjson.loads(entry(chart_size=text).record_json)["size"] == size


def test_labels_count_where_annotations_say_nothing() -> None:
    labels: dict[str, Any] = {f"{PREFIX}/chart": "hello", f"{PREFIX}/chart-version": "0.1.0"}
    found = build_archive_entry({"metadata": {"name": "a", "namespace": "ns", "uid": "u", "labels": labels}})
    assert (found.chart, found.version, found.digest) == ("hello", "0.1.0", "")


def test_versions_are_sorted_newest_first() -> None:
    numbers = ("0.9.0", "0.10.0", "1.0.0-rc.1", "1.0.0")
    found = versions(*(entry(f"hello-{number}", chart_version=number) for number in numbers))
    assert found == {"hello": ["1.0.0", "1.0.0-rc.1", "0.10.0", "0.9.0"]}


def test_the_newest_archive_of_a_version_counts() -> None:
    older, newer = entry("b", created="2026-11-20T08:00:00Z"), entry("a", created="2026-11-20T09:00:00Z")
    assert [each["urls"] for each in _entries(older, newer)["hello"]] == [["a/hello-0.1.0.tgz"]]


@pytest.mark.parametrize(
    "said", [{"chart": ""}, {"chart_version": "one"}, {"chart_version": ""}, {"chart_digest": "md5:1"}]
)
def test_an_archive_that_does_not_say_what_it_is_is_left_out(said: dict[str, str]) -> None:
    assert _entries(entry(**said), entry("other")) == _entries(entry("other"))


async def test_an_index_is_built_again_after_a_change_only() -> None:
    store: ObjectStore[ArchiveEntry] = ObjectStore(sorts=ARCHIVE_SORTS)
    indexes = RepositoryIndexes()
    store.put(entry())
    first = await indexes.get(store, namespace="ns")
    assert await indexes.get(store, namespace="ns") is first
    assert orjson.loads(await indexes.get(store, namespace="other"))["entries"] == {}
    store.put(entry("hello-2", chart_version="0.2.0"))
    changed = orjson.loads(await indexes.get(store, namespace="ns"))
    assert [each["version"] for each in changed["entries"]["hello"]] == ["0.2.0", "0.1.0"]


async def test_requests_at_the_same_time_share_one_index() -> None:
    store: ObjectStore[ArchiveEntry] = ObjectStore(sorts=ARCHIVE_SORTS)
    indexes = RepositoryIndexes()
    store.put(entry())
    found = await asyncio.gather(*(indexes.get(store, namespace="ns") for _ in range(50)))
    assert len({id(each) for each in found}) == 1


async def test_a_change_in_another_namespace_keeps_an_index() -> None:
    store: ObjectStore[ArchiveEntry] = ObjectStore(sorts=ARCHIVE_SORTS)
    indexes = RepositoryIndexes()
    store.put(entry())
    first = await indexes.get(store, namespace="ns")
    store.put(replace(entry("foreign"), namespace="other"))
    assert await indexes.get(store, namespace="ns") is first
    store.remove("ns", "hello-1")
    assert orjson.loads(await indexes.get(store, namespace="ns"))["entries"] == {}


async def test_an_index_has_what_was_stored_before_the_request() -> None:
    store: ObjectStore[ArchiveEntry] = ObjectStore(sorts=ARCHIVE_SORTS)
    indexes = RepositoryIndexes()
    for number in range(1000):
        store.put(entry(f"hello-{number:05}", chart_version=f"0.0.{number}"))
    earlier = asyncio.create_task(indexes.get(store, namespace="ns"))
    for number in range(1000, 1003):
        await asyncio.sleep(0)
        store.put(entry(f"hello-{number:05}", chart_version=f"0.0.{number}"))
        found = orjson.loads(await indexes.get(store, namespace="ns"))["entries"]["hello"]
        assert found[0]["version"] == f"0.0.{number}"
    await earlier


async def test_an_index_has_a_bounded_number_of_entries() -> None:
    store: ObjectStore[ArchiveEntry] = ObjectStore(sorts=ARCHIVE_SORTS)
    for number in range(ENTRIES_MAX + 3):
        store.put(entry(f"hello-{number:05}", chart_version=f"0.0.{number}"))
    index = orjson.loads(await RepositoryIndexes().get(store, namespace="ns"))
    assert index["annotations"] == {"xapp-operator.io/left-out": "3"}
    found = index["entries"]["hello"]
    assert len(found) == ENTRIES_MAX
    assert found[0]["version"] == f"0.0.{ENTRIES_MAX + 2}", "the newest stay"
