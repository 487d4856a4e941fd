"""Checks a ChartArchive against the chart in it. Anyone who may create one can declare any chart and digest."""

from __future__ import annotations

from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.common.text import quote_input
from xapp_operator.errors import ChartInvalid
from xapp_operator.kube.referenced_data import StoredArchive


def check_declared_chart(archive: StoredArchive, info: ChartInfo, *, name: str) -> None:
    """Refuse the ChartArchive `name` if it declares another chart than `info`, which is what its archive contains.

    Secrets and ConfigMaps declare nothing. Raises ChartInvalid, which names the field.
    """
    declared = (
        ("spec.digest", archive.declared_digest, f"sha256:{info.digest}"),
        ("spec.chart.name", archive.declared_name, info.name),
        ("spec.chart.version", archive.declared_version, info.version),
    )
    for field, found, actual in declared:
        if found is not None and found != actual:
            raise ChartInvalid(
                f"{field} of ChartArchive {name} is {quote_input(found)}, but the archive in it has "
                f"{quote_input(actual)}. Delete it, and upload the chart again."
            )
