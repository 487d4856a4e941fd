"""Creating, opening and deleting ChartArchives that are kept until somebody deletes them, with the caller's token."""

from __future__ import annotations

from xapp_operator.api.spec_parts import ArchiveSource, NameRef
from xapp_operator.charts.archives.chart_cache import ChartFile
from xapp_operator.charts.chart_sources import ChartSources
from xapp_operator.charts.stored_archives import check_declared_chart
from xapp_operator.common.text import quote_input
from xapp_operator.errors import ChartInvalid, ChartNotFound, GatewayNotFound, Invalid, NextRequest, NotFound
from xapp_operator.gateway.charts.uploads import ArchiveStorage, StoredUpload, UploadedChart
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.referenced_data import StoredArchive
from xapp_operator.kube.resources import CHART_ARCHIVES


async def create_archive(
    storage: ArchiveStorage, client: KubeClient, chart: UploadedChart, *, namespace: str
) -> StoredUpload:
    """Store an uploaded chart until somebody deletes it; one that exists already is kept from now on.

    Raises:
        GatewayNotFound: when the namespace does not exist.
        ChartInvalid: when the cluster refuses what Chart.yaml says.
        IdentityConflict, KubeError: as `ArchiveStorage.ensure`.
    """
    try:
        return await storage.ensure(client, chart, namespace=namespace, keep=True)
    except NotFound:
        message = f"does not exist: create {namespace}, or choose another namespace"
        raise GatewayNotFound.for_field("namespace", message, subject="the namespace") from None
    except Invalid as error:
        raise ChartInvalid(error.message) from None


async def open_archive(
    storage: ArchiveStorage, charts: ChartSources, client: KubeClient, *, namespace: str, name: str
) -> ChartFile:
    """Return the packed chart of a ChartArchive as a file, after all checks of an upload.

    Raises:
        GatewayNotFound: when there is no such ChartArchive.
        ChartInvalid: when it holds no valid chart, or another one than it declares.
        KubeError: when the caller may not read it.
    """
    archive = await _read_archive(storage, client, namespace=namespace, name=name)
    file = await charts.store_archive(archive.data)
    check_declared_chart(archive, file.info, name=name)
    return file


async def read_provenance_file(storage: ArchiveStorage, client: KubeClient, *, namespace: str, name: str) -> bytes:
    """Return the provenance file of a ChartArchive as it was uploaded. Whoever uses the chart checks it.

    Raises:
        GatewayNotFound: when there is no such ChartArchive, or it has no provenance file.
        ChartInvalid: when it holds no archive.
        KubeError: when the caller may not read it.
    """
    archive = await _read_archive(storage, client, namespace=namespace, name=name)
    if archive.provenance is None:
        raise GatewayNotFound(
            f"the chart archive {quote_input(name)} in the namespace {quote_input(namespace)} has no provenance file: "
            "upload the chart again, with its .prov file as the part provenance"
        )
    return archive.provenance


async def _read_archive(storage: ArchiveStorage, client: KubeClient, *, namespace: str, name: str) -> StoredArchive:
    source = ArchiveSource(chart_archive_ref=NameRef(name=name))
    try:
        return await storage.read(client, source, namespace=namespace)
    except (ChartNotFound, Invalid):  # Invalid: the name is not a valid object name
        raise archive_not_found(namespace, name) from None


async def delete_archive(client: KubeClient, *, namespace: str, name: str) -> None:
    """Delete a ChartArchive.

    Raises:
        GatewayNotFound: when there is no such ChartArchive.
    """
    try:
        await client.delete(CHART_ARCHIVES, name, namespace=namespace)
    except (NotFound, Invalid):
        raise archive_not_found(namespace, name) from None


def archive_not_found(namespace: str, name: str) -> GatewayNotFound:
    return GatewayNotFound(
        f"there is no chart archive {quote_input(name)} in the namespace {quote_input(namespace)}: look for it in the "
        "list of all chart archives"
    ).with_next(NextRequest("GET", "/api/charts"))
