"""The `ChartArchive` resource: a packaged chart that was uploaded, and what Chart.yaml says about it. It never changes.

Lists and watches read its metadata only, so the gateway writes name, version and digest as labels and annotations too.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import ConfigDict, Field

from xapp_operator.api.models import Metadata
from xapp_operator.api.rules import CelRule, cel_rules, one_line_rule
from xapp_operator.api.spec_parts import DIGEST_MAX, DIGEST_RULE, Model

ARCHIVE_BYTES_MAX: Final = 1024 * 1024
_ARCHIVE_BASE64_MAX: Final = (ARCHIVE_BYTES_MAX + 2) // 3 * 4
"""Characters of base64 for ARCHIVE_BYTES_MAX bytes, which end in two `=`."""
CHART_NAME_MAX: Final = 250
"""Characters of a chart's name, as in Helm."""
CHART_VERSION_MAX: Final = 256
APP_VERSION_MAX: Final = 256
DESCRIPTION_MAX: Final = 1024
PROVENANCE_MAX: Final = 256 * 1024
"""Characters and bytes of a provenance file. It repeats Chart.yaml, so it is mostly below 10 KB."""

ARCHIVE_NAME_RULE: Final = CelRule(
    "!self.metadata.name.endsWith('.tgz') && !self.metadata.name.endsWith('.prov') && "
    "!self.metadata.name.endsWith('.yaml')",
    "metadata.name must not end in .tgz, .prov or .yaml, because the gateway serves the chart as <name>.tgz, its "
    "provenance file as <name>.tgz.prov and the repository index as index.yaml: choose another name",
)


OneLine = Annotated[str, one_line_rule()]


class ArchivedChart(Model):
    """What Chart.yaml in the archive says."""

    name: OneLine = Field(description="Name of the chart.", min_length=1, max_length=CHART_NAME_MAX)
    version: OneLine = Field(description="Version of the chart (SemVer).", min_length=1, max_length=CHART_VERSION_MAX)
    app_version: OneLine | None = Field(None, description="The chart's appVersion.", max_length=APP_VERSION_MAX)
    description: OneLine | None = Field(None, description="The chart's description.", max_length=DESCRIPTION_MAX)


class ChartArchiveSpec(Model):
    """The packaged chart. Only its provenance can be changed."""

    model_config = ConfigDict(
        json_schema_extra=cel_rules(
            CelRule(
                "self.archive == oldSelf.archive && self.digest == oldSelf.digest && self.chart == oldSelf.chart",
                "the chart in a ChartArchive cannot be changed: create another one under another name, and delete this "
                "one",
            ),
            # On the spec, because the message of a rule on a text repeats the whole text.
            CelRule(
                "self.archive.matches('^[A-Za-z0-9+/]+={0,2}$')",
                "must be base64 (RFC 4648, section 4) without line breaks",
                ".archive",
            ),
            CelRule(
                f"self.archive.size() < {_ARCHIVE_BASE64_MAX} || self.archive.endsWith('==')",
                f"must be the base64 of at most {ARCHIVE_BYTES_MAX} bytes (1 MiB)",
                ".archive",
            ),
        )
    )

    archive: str = Field(
        description="The packaged chart (.tgz) in base64, at most 1 MiB before the encoding.",
        min_length=4,
        max_length=_ARCHIVE_BASE64_MAX,
    )
    digest: Annotated[str, DIGEST_RULE] = Field(
        description="sha256:<hex> of the packaged chart. Checked before the chart is used.", max_length=DIGEST_MAX
    )
    provenance: str | None = Field(
        None,
        description="Provenance file of the packaged chart (.prov): signed with OpenPGP. It can be added later.",
        max_length=PROVENANCE_MAX,
    )
    chart: ArchivedChart = Field(description="What Chart.yaml says. Checked before the chart is used.")


class ChartArchive(Model):
    """A packaged chart that was uploaded. XApps refer to it; it cannot be changed."""

    metadata: Metadata
    spec: ChartArchiveSpec
