"""Versions are selected, and archives understood, like in the real Helm."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.charts.conftest import Helm
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.unit.charts.tar_archives import chart_with, header, member
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.inspection import inspect_archive
from xapp_operator.charts.versions import parse_range
from xapp_operator.config.settings import MIB
from xapp_operator.errors import ChartInvalid, FormInvalid

pytestmark = pytest.mark.integration

LIMITS = ArchiveLimits(packed_bytes=MIB, unpacked_bytes=20 * MIB, max_files=5000, document_bytes=MIB)
VERSIONS = "2.1.0-rc.1 2.0.0 1.10.0 1.9.1 1.9.0 1.9.0-beta.2 1.2.3+build 0.3.0 0.2.10 0.2.9 0.0.4 0.0.3"
RANGES = (
    "2.0.0; v2.0.0; =1.9.0; 1.9; 1; 0; 1.2.3; 1.2.3+other; ^1; ^1.2; ^0.2; ^0.2.9; ^0.0; ^0.0.3; ^0; ~1; ~1.9; ~1.9.0; "
    "~>0.2.9; ~0; *; 1.x; 1.9.x; x; >1; >1.9; >1.9.0; >=1.9.0; >=0.2 <1; >=0.2,<1; <1.9; <=1.9; <=1; !=2.0.0; !=2.x; "
    "!=1.9.x <2; 0.2 - 0.3; 1.2.3 - 1.9; 9 || ^0.2; 1.9.0-beta.1; ~1.9.0-beta; >=2.1.0-0; >2; <0; 1.9.0-beta.2; 1 2; "
    "1, <1.10; latest; >>1; 1.2.3.4; a - b; 1 ||; >=2 || 9.0.0-0; 9.0.0-0 || >=2; >=2 <3.0.0-0"
)
NEWEST_FIRST = VERSIONS.split()


@pytest.fixture(scope="module")
def repository() -> Iterator[ChartServer]:
    with ChartServer() as server:
        for version in NEWEST_FIRST:
            server.add("hello", version, chart_archive(version=version))
        yield server


@pytest.mark.parametrize("wanted", RANGES.split("; "))
def test_the_version_is_the_one_that_helm_chooses(wanted: str, helm: Helm, repository: ChartServer) -> None:
    shown = helm("show", "chart", "hello", "--repo", repository.url, "--version", wanted)
    theirs = yaml.safe_load(shown.stdout)["version"] if shown.returncode == 0 else None
    try:
        ours = parse_range(wanted).select(NEWEST_FIRST)
    except FormInvalid:
        ours = None
    assert ours == theirs, shown.stderr


SUBCHART = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
DEPENDENT = "apiVersion: v2\nname: hello\nversion: 0.1.0\ndependencies: [{name: sub, version: 1.0.0, alias: other}]\n"


@pytest.mark.parametrize(
    "archive",
    [
        chart_archive(),
        chart_archive({"Chart.yaml": "name: hello\nversion: 1\n"}),
        chart_archive({"Chart.yaml": "name: hello\nversion: v1.2\nappVersion: 1.10\n", "values.yaml": "a: 22:22\n"}),
        chart_archive({"values.yaml": "a: 1\na: 2\n"}),
        chart_archive({"Chart.yaml": DEPENDENT, "charts/sub/Chart.yaml": SUBCHART}),
        chart_archive({"Chart.yaml": DEPENDENT, "charts/sub-1.0.0.tgz": chart_archive(name="sub", version="1.0.0")}),
        chart_archive(
            {
                "Chart.yaml": "name: hello\nversion: 0.1.0\n",
                "requirements.yaml": "dependencies: [{name: sub, version: 1.x.x, repository: ''}]\n",
                "charts/sub/Chart.yaml": SUBCHART,
            }
        ),
        chart_archive({"charts/.hidden": "", "charts/_notes": "", "charts/sub-1.0.0.tgz.prov": ""}),
        chart_archive({"values.schema.json": '{"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}'}),
        chart_with(
            member("hello/link", kind=tarfile.SYMTYPE, target="values.yaml"), member("hello/dir/", kind=tarfile.DIRTYPE)
        ),
        chart_with(member("hello\\values.yaml", b"a: b\n")),
        chart_with(member("hello/./templates/./cm.yaml", b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")),
    ],
)
def test_an_accepted_archive_loads_in_helm(archive: bytes, helm: Helm, tmp_path: Path) -> None:
    info = inspect_archive(archive, limits=LIMITS)
    packed = tmp_path / "chart.tgz"
    packed.write_bytes(archive)
    rendered = helm("template", "release", packed)
    assert rendered.returncode == 0, rendered.stderr
    shown = yaml.safe_load(helm("show", "chart", packed).stdout)
    assert (shown["name"], str(shown["version"])) == (info.name, info.version)
    assert str(shown.get("appVersion", "")) == info.app_version


@pytest.mark.parametrize(
    "archive",
    [
        chart_archive({"Chart.yaml": DEPENDENT}),
        chart_archive({"Chart.yaml": DEPENDENT, "charts/other/Chart.yaml": SUBCHART.replace("sub", "other")}),
        chart_archive({"charts/README.md": "hi"}),
        chart_archive({"Chart.yaml": "name: hello\nversion: 1.2.3.4\n"}),
        chart_archive({"Chart.yaml": "apiVersion: v2\nname: hello\nversion: 1.0.0\ntype: library\n"}),
        chart_archive({"values.yaml": "- a\n"}),
        chart_with(member("hello/../../x")),
        chart_with(member("beside")),
    ],
)
def test_an_archive_that_helm_cannot_install_is_refused(archive: bytes, helm: Helm, tmp_path: Path) -> None:
    with pytest.raises(ChartInvalid):
        inspect_archive(archive, limits=LIMITS)
    packed = tmp_path / "chart.tgz"
    packed.write_bytes(archive)
    assert helm("template", "release", packed).returncode != 0


SCHEMA = b'{"required": ["missing"]}'


@pytest.mark.parametrize(
    "hidden",
    [
        member("hello/x\\values.schema.json", SCHEMA),
        header(b"values.schema.json", size=b"%011o\0" % len(SCHEMA), magic=b"ustar  \0", prefix=b"hello")
        + SCHEMA.ljust(512, b"\0"),
        header(
            b"values.schema.json",
            size=b"%011o\0" % len(SCHEMA),
            magic=b"ustar\0",
            prefix=b"hello/" + b"." * 1 + b"/." * 62 + b"0" * 24,
            trailer=b"tar\0",
        )
        + SCHEMA.ljust(512, b"\0"),
    ],
)
def test_every_schema_that_helm_sees_is_found(hidden: bytes, helm: Helm, tmp_path: Path) -> None:
    archive = chart_with(hidden)
    packed = tmp_path / "chart.tgz"
    packed.write_bytes(archive)
    assert "missing" in helm("template", "release", packed).stderr
    try:
        assert inspect_archive(archive, limits=LIMITS).schema == {"required": ["missing"]}
    except ChartInvalid:
        return


@pytest.mark.parametrize("schema", ['{"properties": {"a": {"$ref": "URL"}}}', '{"$schema": "URL"}'])
def test_helm_fetches_an_external_schema_unless_schemas_are_skipped(schema: str, helm: Helm, tmp_path: Path) -> None:
    with ChartServer() as elsewhere:
        archive = chart_archive({"values.schema.json": schema.replace("URL", f"{elsewhere.url}/x.json")})
        packed = tmp_path / "chart.tgz"
        packed.write_bytes(archive)
        assert inspect_archive(archive, limits=LIMITS).external_refs
        assert helm("template", "release", packed, "--skip-schema-validation").returncode == 0
        assert not elsewhere.requests
        helm("template", "release", packed)
        assert elsewhere.requests["/x.json"]
