"""Threat: an author of a namespace writes a ChartArchive that declares another chart than the one in it.

Lists and repository indexes show what a ChartArchive declares. The operator checks it before it uses the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.support.charts import chart_archive_manifest
from tests.support.workload import workload_chart
from tests.support.xapps import XAppClient

pytestmark = pytest.mark.integration

OTHER_DIGEST: Final = f"sha256:{'0' * 64}"

LIES: Final[dict[str, tuple[Callable[[dict[str, Any]], object], str]]] = {
    "spec.digest": (lambda spec: spec.update(digest=OTHER_DIGEST), OTHER_DIGEST),
    "spec.chart.name": (lambda spec: spec["chart"].update(name="trusted"), "trusted"),
    "spec.chart.version": (lambda spec: spec["chart"].update(version="9.9.9"), "9.9.9"),
}


@pytest.mark.parametrize("field", sorted(LIES))
@pytest.mark.parametrize("keep", [False, True], ids=["for one XApp", "kept"])
def test_an_archive_that_declares_another_chart_is_not_installed(xapps: XAppClient, field: str, keep: bool) -> None:
    lie, declared = LIES[field]
    honest = xapps.uploaded_manifest("hello", workload_chart())
    stored = chart_archive_manifest(workload_chart(), namespace=xapps.namespace, keep=keep)
    lie(stored["spec"])
    stored["metadata"]["name"] = "lying"
    xapps.apply(stored)
    honest["spec"]["archive"]["chartArchiveRef"]["name"] = "lying"
    for round_number in range(2):  # the second time, the bytes are in the cache
        honest["spec"]["values"] = {"greeting": f"round {round_number}"}
        xapps.apply(honest)
        stalled = xapps.wait_stalled("hello")
        assert stalled["reason"] == "ChartInvalid"
        assert field in stalled["message"]
        assert declared[:80] in stalled["message"]
    assert xapps.helm_releases() == {}


def test_the_digest_of_the_xapp_is_checked_against_the_bytes(xapps: XAppClient) -> None:
    manifest = xapps.uploaded_manifest("hello", workload_chart())
    stored = chart_archive_manifest(workload_chart(greeting="another"), namespace=xapps.namespace)
    stored["metadata"]["name"] = "replaced"
    xapps.apply(stored)
    manifest["spec"]["archive"]["chartArchiveRef"]["name"] = "replaced"
    xapps.apply(manifest)
    assert "digest" in xapps.wait_stalled("hello")["message"]
    assert xapps.helm_releases() == {}
