"""The folder in which helm works is on a disk that is full: helm runs without it, or is not started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.helm.conftest import MakeChart
from tests.support.small_disk import FILES_FOR_A_HELM, SmallDisk, disk
from xapp_operator.config.settings import Settings
from xapp_operator.errors import HelmNotStarted
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata
from xapp_operator.helm.requests import TemplateRequest, VerifyRequest

__all__ = ["disk"]

pytestmark = pytest.mark.integration

ADDED = ObjectMetadata({"xapp-operator.io/xapp": "hello"}, {}, "xapp-operator.io/component")
LABEL = 'xapp-operator.io/xapp: "hello"'


@pytest.fixture
def on_disk(helm_settings: Settings, disk: SmallDisk) -> Iterator[HelmEngine]:
    """An engine without a cluster, whose helm works on the disk."""
    engine = HelmEngine(helm_settings.model_copy(update={"work_dir": disk.folder / "work"}))
    yield engine
    engine.close()


def request(chart: Path) -> TemplateRequest:
    return TemplateRequest(
        name="hello", namespace="ric", chart=chart, values={}, kube_version="v1.36.3", object_metadata=ADDED
    )


async def test_helm_needs_no_byte_of_the_disk(on_disk: HelmEngine, disk: SmallDisk, chart: MakeChart) -> None:
    with disk.full(files_left=None):
        rendered = await on_disk.template(request(chart()))
    assert LABEL in rendered.manifest


@pytest.mark.parametrize("files_left", range(8))
async def test_a_chart_is_never_blamed_for_a_full_disk(
    on_disk: HelmEngine, disk: SmallDisk, chart: MakeChart, files_left: int
) -> None:
    """Without its folder of a cache, helm finds no post-renderer, and needs none."""
    with disk.full(files_left=files_left):
        if files_left < FILES_FOR_A_HELM:
            with pytest.raises(HelmNotStarted, match=r"helm cannot run \(no space left on device\): make room"):
                await on_disk.template(request(chart()))
        else:
            assert "kind: ConfigMap" in (await on_disk.template(request(chart()))).manifest
    assert LABEL in (await on_disk.template(request(chart()))).manifest


async def test_files_that_cannot_be_written_for_helm_are_told(on_disk: HelmEngine, disk: SmallDisk) -> None:
    archive = VerifyRequest(namespace="ric", file_name="a.tgz", archive=b"a", provenance=b"p", keyring=b"k", timeout=60)
    with disk.full(files_left=None), pytest.raises(HelmNotStarted, match="no space left on device"):
        await on_disk.verify(archive)


@pytest.mark.parametrize("files_left", [0, 1, 2, 3, 4, None])
def test_a_start_on_a_full_disk_leaves_nothing_there(
    helm_settings: Settings, disk: SmallDisk, files_left: int | None
) -> None:
    work = disk.folder / "work"
    work.mkdir()
    settings = helm_settings.model_copy(update={"work_dir": work})
    with disk.full(files_left=files_left):
        for _ in range(3):
            with pytest.raises(OSError, match="No space left on device"):
                HelmEngine(settings)
        assert list(work.iterdir()) == []
    HelmEngine(settings).close()
