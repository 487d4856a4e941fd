"""The diff of two revisions is bounded, whatever a chart renders, and shows no secret."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.gateway.xapps.release import manifest_diff as compared
from xapp_operator.gateway.xapps.release.revisions import (
    COMPARED_CHARACTERS_MAX,
    DIFF_CHARACTERS_MAX,
    DIFF_PARTS,
    revision_json,
    revisions_diff,
)
from xapp_operator.helm.releases.release_storage import ChartMetadata, ReleaseRecord

CHART = ChartMetadata(name="hello", version="0.1.0", app_version="1", values={"tokens": {}}, schema="")


def release(revision: int, *, manifest: str = "", notes: str = "", config: JsonObject | None = None) -> ReleaseRecord:
    return ReleaseRecord(
        revision=revision,
        status="deployed",
        description="",
        chart=CHART,
        manifest=manifest,
        config=config or {},
        notes=notes,
        first_deployed="",
        last_deployed="",
    )


def config_map(name: str, lines: Sequence[str]) -> str:
    data = "".join(f"  k{at}: {line}\n" for at, line in enumerate(lines))
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{data}"


def test_a_long_diff_is_cut_at_the_end_of_a_line() -> None:
    notes = ["".join(f"{each} {at:09}\n" for at in range(100_000)) for each in "ab"]
    diff = revisions_diff(release(1, notes=notes[0]), release(2, notes=notes[1]), DIFF_PARTS)

    shown = diff["notes"]
    assert isinstance(shown, str)
    assert (len(shown) <= DIFF_CHARACTERS_MAX, shown.endswith("\n"), diff["truncated"]) == (True, True, ["notes"])
    assert len(shown) > DIFF_CHARACTERS_MAX - 100


def test_a_text_that_is_too_long_is_not_compared() -> None:
    long = "a" * COMPARED_CHARACTERS_MAX
    diff = revisions_diff(release(1, manifest=long), release(2, manifest=f"{long}b"), DIFF_PARTS)
    same = revisions_diff(release(1, manifest=f"{long}b"), release(2, manifest=f"{long}b"), DIFF_PARTS)

    assert (diff["manifest"], diff["truncated"]) == (None, ["manifest"])
    assert (same["manifest"], same["truncated"]) == ("", [])


def test_many_objects_are_compared_no_longer_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[int] = []
    original: Callable[..., Iterator[str]] = difflib.unified_diff

    def count(before: Sequence[str], after: Sequence[str], *names: Any, **options: Any) -> Iterator[str]:
        lines.append(max(len(before), len(after)))
        return original(before, after, *names, **options)

    monkeypatch.setattr(difflib, "unified_diff", count)
    monkeypatch.setattr(compared, "LINES_COMPARED_IN_ALL", 1000)
    manifests = [
        "".join(config_map(f"c{at}", [f"{each}{line % 2}" for line in range(100)]) for at in range(40)) for each in "ab"
    ]
    diff = revisions_diff(release(1, manifest=manifests[0]), release(2, manifest=manifests[1]), ("manifest",))[
        "manifest"
    ]

    assert isinstance(diff, str)
    assert 0 < len(lines) <= 10
    assert diff.count("+++ b/v1 ConfigMap c") == 40  # the rest is shown as blocks


def test_a_secret_that_changed_shows_as_changed_in_every_part() -> None:
    one, two = (
        release(
            number,
            config={"adminPassword": secret, "url": f"http://x/{secret}"},
            notes=f"log in with {secret}",
            manifest=config_map("c", [f"uses {secret}"]),
        )
        for number, secret in ((1, "first-hunter2"), (2, "second-hunter2"))
    )
    diff = revisions_diff(one, two, DIFF_PARTS)

    assert "hunter2" not in str(diff)
    for part in DIFF_PARTS:
        shown = diff[part]
        assert isinstance(shown, str)
        changed = [line[1:] for line in shown.splitlines() if line[:1] in "+-" and "••••••" in line]
        assert len(changed) >= 2
        assert len(set(changed)) == len(changed)


def test_values_as_text_keep_all_digits() -> None:
    found = revision_json(release(1, config={"cell": 2**63 - 1, "token": "t0ken-t0ken"}))

    assert found["valuesText"] == "cell: 9223372036854775807\ntoken: ••••••\n"


def test_a_revision_tells_what_it_is_and_the_whole_error_without_secrets() -> None:
    failed = replace(
        release(2, config={"password": "hunter2-hunter2"}),
        status="failed",
        description='Upgrade "hello" failed: admission denied "hunter2-hunter2"',
        last_deployed="2026-11-21T23:10:02Z",
    )
    found = revision_json(failed)
    expected = {
        "revision": 2,
        "status": "failed",
        "chart": "hello",
        "chartVersion": "0.1.0",
        "appVersion": "1",
        "deployedAt": "2026-11-21T23:10:02Z",
        "description": 'Upgrade "hello" failed: admission denied "••••••"',
    }
    assert {name: found[name] for name in expected} == expected


def test_what_a_record_does_not_tell_is_null() -> None:
    found = revision_json(
        replace(release(1), chart=ChartMetadata(name="", version="", app_version="", values={}, schema=""))
    )
    names = ("chart", "chartVersion", "appVersion", "deployedAt", "description")
    assert [found[name] for name in names] == [None] * len(names)
