"""Which texts of the records of a release errors of helm must not contain, and what reading them may cost."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import zlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.fakes.clock import FakeClock, run_in_fake_time
from xapp_operator.api.json import JsonObject
from xapp_operator.errors import ApiUnavailable, HelmError, ReleaseRecordTooLarge
from xapp_operator.helm.releases.release_storage import JSON_VALUES_MAX, ReleaseRecord
from xapp_operator.helm.results.stderr import SECRETS_MAX
from xapp_operator.reconcile.reconcile_context import ReconcilerContext
from xapp_operator.reconcile.stored_releases.release_secrets import secrets_reader

KEY = ("ric-namespace", "hello-xapp")
RELEASE = "hello-release"


class StoredRecords:
    """The records of a release, by name of the Secret; counts the decoded ones that exist at each request."""

    def __init__(self, *configs: Mapping[str, object]) -> None:
        self.payloads: list[Mapping[str, object]] = [
            {
                "name": RELEASE,
                "version": number,
                "info": {"status": "deployed"},
                "config": dict(config),
                "chart": {"metadata": {"name": "probe-chart"}},
            }
            for number, config in enumerate(configs, 1)
        ]
        self.decoded_at_once: list[int] = []
        self.hangs = False

    async def get(self, _: object, name: str, *, namespace: str) -> JsonObject:
        assert namespace == KEY[0]
        if self.hangs:
            await asyncio.Event().wait()
        gc.collect()
        self.decoded_at_once.append(sum(isinstance(each, ReleaseRecord) for each in gc.get_objects()))
        payload = self.payloads[int(name.rpartition(".v")[2]) - 1]
        packer = zlib.compressobj(wbits=31)
        packed = packer.compress(json.dumps(payload).encode()) + packer.flush()
        return {"metadata": {"name": name}, "data": {"release": base64.b64encode(base64.b64encode(packed)).decode()}}

    def read(self, clock: FakeClock | None = None, *, rollback_to: int | None = None) -> frozenset[str]:
        async def read() -> frozenset[str]:
            reader = secrets_reader(KEY, RELEASE, cast("ReconcilerContext", context), rollback_to=rollback_to)
            return await reader()

        revisions = [SimpleNamespace(revision=number) for number in range(1, len(self.payloads) + 1)]
        context = SimpleNamespace(
            kube=self,
            xapps=SimpleNamespace(get=lambda _: None),
            release_watch=SimpleNamespace(revisions=lambda *_: revisions),
        )
        return run_in_fake_time(read(), clock)


def test_only_one_decoded_record_is_held() -> None:
    records = StoredRecords({"text": "first-text"}, {"text": "second-text"}, {"text": "third-text"})
    assert records.read() == {"first-text", "second-text", "third-text"}
    assert len(set(records.decoded_at_once)) == 1


def test_names_that_everybody_sees_are_no_secrets() -> None:
    config = {"one": KEY[0], "two": RELEASE, "three": "probe-chart", "four": "other-text"}
    assert StoredRecords(config).read() == {"other-text"}


def test_too_many_texts_of_all_revisions_are_refused() -> None:
    half = SECRETS_MAX // 2
    configs = [{"texts": [f"text-{number}-{each}" for each in range(half)]} for number in range(2)]
    assert len(StoredRecords(*configs).read()) == SECRETS_MAX
    with pytest.raises(HelmError, match="50,000 texts"):
        StoredRecords(*configs, {"text": "one-too-many"}).read()


def test_one_text_too_many_of_one_revision_is_refused_and_not_left_out() -> None:
    """What is left out would be shown in the status."""
    texts = [f"text-{each}" for each in range(SECRETS_MAX + 1)]
    assert len(StoredRecords({"texts": texts[1:]}).read()) == SECRETS_MAX
    with pytest.raises(HelmError, match="50,000 texts"):
        StoredRecords({"texts": texts}).read()


def test_a_record_that_helm_can_read_but_is_too_large_is_not_skipped() -> None:
    with pytest.raises(ReleaseRecordTooLarge, match="500,000 values"):
        StoredRecords({"text": "first-text"}, {"numbers": [1] * (JSON_VALUES_MAX + 1)}).read()


def test_reading_ends_after_ten_seconds() -> None:
    records, clock = StoredRecords({"text": "first-text"}), FakeClock()
    records.hangs = True
    with pytest.raises(ApiUnavailable, match=r"more than 10 s"):
        records.read(clock)
    assert clock.monotonic() == pytest.approx(10.0)


def test_the_texts_of_the_newest_twenty_revisions_and_of_the_one_to_roll_back_to_are_read() -> None:
    records = StoredRecords(*({"text": f"text-of-{number}"} for number in range(1, 23)))
    newest = {f"text-of-{number}" for number in range(3, 23)}
    assert records.read() == newest
    assert records.read(rollback_to=1) == {"text-of-1", *newest}
