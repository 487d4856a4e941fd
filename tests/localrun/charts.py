"""Packs chart folders into archives, and writes the index of a chart repository.

The same folder gives the same bytes, so that the digests of a second `make run` equal those of the first;
`helm package` puts times into its archives.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.charts import tar_gz

_CREATED = "2025-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedChart:
    """One packed chart, and fields of its Chart.yaml."""

    name: str
    version: str
    app_version: str
    description: str
    data: bytes

    @property
    def file_name(self) -> str:
        """The file name that helm gives the archive."""
        return f"{self.name}-{self.version}.tgz"

    @property
    def digest(self) -> str:
        """The sha256 of the archive in hex."""
        return hashlib.sha256(self.data).hexdigest()


def pack_chart(folder: Path) -> PackedChart:
    """Pack the chart in ``folder``, without files whose name begins with a dot."""
    chart_yaml = yaml.safe_load((folder / "Chart.yaml").read_text())
    name = str(chart_yaml["name"])
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return PackedChart(
        name=name,
        version=str(chart_yaml["version"]),
        app_version=str(chart_yaml["appVersion"]),
        description=str(chart_yaml["description"]),
        data=tar_gz({f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in files}),
    )


def repository_index(charts: Sequence[PackedChart]) -> bytes:
    """Return the index.yaml of a repository with these archives in the same folder."""
    entries: dict[str, list[dict[str, object]]] = {}
    for chart in charts:
        entries.setdefault(chart.name, []).append(
            {
                "apiVersion": "v2",
                "name": chart.name,
                "version": chart.version,
                "appVersion": chart.app_version,
                "description": chart.description,
                "type": "application",
                "created": _CREATED,
                "digest": chart.digest,
                "urls": [chart.file_name],
            }
        )
    return yaml.safe_dump({"apiVersion": "v1", "entries": entries, "generated": _CREATED}).encode()
