"""Which chart archives are refused, and how a valid one is described."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.charts import chart_archive, chart_archive_of_size, tar_gz
from tests.support.properties import must_occur, occurred
from tests.unit.charts.tar_archives import CHART_YAML, chart_with, header, member, packed
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.chart_info import ChartInfo
from xapp_operator.charts.archives.inspection import MAX_SUBCHART_DEPTH, inspect_archive
from xapp_operator.config.settings import MIB
from xapp_operator.errors import ChartInvalid

LIMITS = ArchiveLimits(packed_bytes=MIB, unpacked_bytes=20 * MIB, max_files=5000, document_bytes=MIB)
EXTERNAL = json.dumps({"properties": {"a": {"$ref": "http://169.254.169.254/latest"}}})


def inspected(archive: bytes, limits: ArchiveLimits = LIMITS) -> ChartInfo:
    return inspect_archive(archive, limits=limits)


def refusal(archive: bytes, limits: ArchiveLimits = LIMITS) -> str:
    with pytest.raises(ChartInvalid) as caught:
        inspected(archive, limits)
    return caught.value.message


def chart_yaml(*lines: str) -> str:
    return "\n".join(["apiVersion: v2", "name: hello", "version: 0.1.0", *lines]) + "\n"


def subchart(name: str, **files: str) -> dict[str, str]:
    return {f"charts/{name}/Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"} | {
        f"charts/{name}/{path}": content for path, content in files.items()
    }


def test_a_valid_chart_is_described() -> None:
    archive = chart_archive(
        {
            "Chart.yaml": chart_yaml("appVersion: 1.10", "description: Says hello"),
            "values.yaml": "greeting: hello\nat: 22:22\n",
            "values.schema.json": '{"type": "object"}',
            "templates/a.yaml": "a: b\n",
        }
    )
    info = inspected(archive)
    assert (info.name, info.version, info.app_version, info.api_version) == ("hello", "0.1.0", "1.1", "v2")
    assert info.description == "Says hello"
    assert info.digest == hashlib.sha256(archive).hexdigest()
    assert (info.size, info.files) == (len(archive), 4)
    assert info.values["greeting"] == "hello"
    assert info.schema == {"type": "object"}
    assert not info.external_refs
    assert info.dependencies == ()


def test_half_a_surrogate_pair_in_a_schema_is_read_as_helm_reads_it() -> None:
    info = inspected(chart_archive({"values.schema.json": r'{"pattern": "[\ud800-\uDfff]"}'}))
    assert info.schema == {"pattern": "[\ufffd-\ufffd]"}


def test_the_last_of_duplicate_keys_in_a_chart_counts() -> None:
    files = {"Chart.yaml": chart_yaml("description: one", "description: two"), "values.yaml": "a: 1\nb: {c: 2}\na: 3\n"}
    info = inspected(chart_archive(files))
    assert (info.description, info.values) == ("two", {"a": 3, "b": {"c": 2}})


def test_a_description_survives_the_cache() -> None:
    info = inspected(chart_archive({"values.yaml": "big: 12345678901234567890\nnone: null\n", **subchart("sub")}))
    assert ChartInfo.from_json(info.to_json()) == info


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b'{"format": 0}', b"\xff"])
def test_a_damaged_record_of_the_cache_is_ignored(record: bytes) -> None:
    assert ChartInfo.from_json(record) is None


@pytest.mark.parametrize(
    ("archive", "expected_message"),
    [
        (b"", "empty (0 bytes)"),
        (b"name: not an archive\n", "not compressed with gzip"),
        (gzip.compress(b"not a tar archive at all"), "not contain a complete tar archive"),
        (gzip.compress(b"x" * 4096), "not contain a complete tar archive"),
        (chart_archive()[:-4], "damaged or incomplete"),
        (chart_archive()[:-8] + b"\0" * 8, "gzip compression is damaged"),
        (chart_archive()[:30], "damaged or incomplete"),
        (b"\x1f\x8b" + b"\0" * 100, "gzip compression is damaged"),
        (packed([]), "has no files"),
        (tar_gz({"hello/values.yaml": ""}), "there is no Chart.yaml in its first folder"),
        (tar_gz({"./hello/Chart.yaml": CHART_YAML}), "there is no Chart.yaml in its first folder"),
        (tar_gz({"Chart.yaml": CHART_YAML}), '"Chart.yaml" is outside the chart'),
        (chart_with(member("beside.txt")), '"beside.txt" is outside the chart'),
        (chart_with(member("hello/../../etc/passwd")), "has '..' in its path"),
        (chart_with(member("..")), "has '..' in its path"),
        (chart_with(member("hello\\..\\x")), "has '..' in its path"),
        (chart_with(member("hello/x\\values.schema.json")), "mixes '/' and"),
        (chart_with(member("/etc/passwd")), "is an absolute path"),
        (chart_with(member("hello//etc/passwd")), "is an absolute path"),
        (chart_with(member("c:/windows")), "is an absolute path"),
        (chart_with(member("hello/c:/windows")), "is an absolute path"),
        (chart_with(member("/abs/", kind=tarfile.DIRTYPE)), "is an absolute path"),
        (chart_with(member("hello/l", kind=tarfile.SYMTYPE, target="/etc/passwd")), "outside the chart"),
        (chart_with(member("hello/l", kind=tarfile.SYMTYPE, target="../x")), "outside the chart"),
        (chart_with(member("hello/a/l", kind=tarfile.SYMTYPE, target="b/../../../x")), "outside the chart"),
        (chart_with(member("hello/l", kind=tarfile.LNKTYPE, target="hello/../x")), "has '..' in its path"),
        (chart_with(member("hello/l", kind=tarfile.LNKTYPE, target="x")), "outside the chart"),
        (chart_with(member("hello/null", kind=tarfile.CHRTYPE)), '"hello/null" is a device'),
        (chart_with(member("hello/sda", kind=tarfile.BLKTYPE)), '"hello/sda" is a device'),
        (chart_with(member("hello/pipe", kind=tarfile.FIFOTYPE)), "is a named pipe"),
        (chart_with(header(b"hello/sparse", kind=b"S")), "is a sparse file"),
        (chart_with(member("hello/Chart.yaml", CHART_YAML)), '"Chart.yaml" twice'),
        (chart_archive({"Chart.yaml": "name: [\n"}), "Chart.yaml is not YAML: line 2"),
        (chart_archive({"Chart.yaml": "- name\n"}), "Chart.yaml"),
        (chart_archive({"Chart.yaml": ""}), "has no usable name"),
        (chart_archive({"Chart.yaml": "version: 1.0.0\n"}), "has no usable name"),
        (chart_archive({"Chart.yaml": "name: ../x\nversion: 1.0.0\n"}), "has no usable name"),
        (chart_archive({"Chart.yaml": 'name: "a\\nb"\nversion: 1.0.0\n'}), "has no usable name"),
        (chart_archive({"Chart.yaml": "name: {a: b}\nversion: 1.0.0\n"}), '"name" in "Chart.yaml" is not a string'),
        (chart_archive({"Chart.yaml": "name: hello\n"}), "not a SemVer version"),
        (chart_archive({"Chart.yaml": "name: hello\nversion: latest\n"}), 'the version "latest"'),
        (chart_archive({"Chart.yaml": "name: hello\nversion: 1.2.3.4\n"}), 'the version "1.2.3.4"'),
        (chart_archive({"Chart.yaml": chart_yaml("type: library")}), "library chart"),
        (chart_archive({"Chart.yaml": chart_yaml("type: plugin")}), "neither application nor library"),
        (chart_archive({"Chart.yaml": "apiVersion: v3\nname: a\nversion: 1.0.0\n"}), "neither v1 nor v2"),
        (chart_archive({"values.yaml": "a: [\n"}), "values.yaml is not YAML: line 2"),
        (chart_archive({"values.yaml": "- a\n"}), "values.yaml"),
        (chart_archive({"values.schema.json": "{"}), '"values.schema.json" is not JSON'),
        (chart_archive({"values.schema.json": "[" * 100_000}), '"values.schema.json" is not JSON'),
        (chart_archive({"charts/README.md": "hi"}), 'no Chart.yaml in "charts/README.md/"'),
        (chart_archive({"charts/sub.tgz/Chart.yaml": "a: b"}), "is a folder with the name of an archive"),
        (chart_archive({"charts/sub-1.tgz": b"no"}), 'subchart "charts/sub-1.tgz": the chart archive is refused'),
        (chart_archive({"charts/sub/Chart.yaml": "name: sub\n"}), '"charts/sub/Chart.yaml"'),
    ],
    ids=lambda given: given if isinstance(given, str) else "",  # binary content of the archive, not a name
)
def test_an_invalid_chart_is_refused(archive: bytes, expected_message: str) -> None:
    message = refusal(archive)
    assert expected_message in message
    assert re.search(r"\. [A-Z][^.]* .*\.$|lines of `key: value`\.$", message), f"no fix in: {message}"


def test_an_archive_of_the_packed_bound_passes_and_one_byte_more_is_refused() -> None:
    assert inspected(chart_archive_of_size(MIB)).size == MIB
    assert "more than 1,048,576 bytes" in refusal(chart_archive_of_size(MIB + 1))


def test_five_thousand_files_pass_and_one_more_is_refused() -> None:
    files = {f"files/{number}": b"" for number in range(4999)}
    assert inspected(chart_archive(files)).files == 5000
    assert "more than 5,000 files" in refusal(chart_archive({**files, "one": b"more"}))


def test_files_in_nested_archives_count() -> None:
    limits = ArchiveLimits(packed_bytes=MIB, unpacked_bytes=MIB, max_files=5, document_bytes=MIB)
    nested = chart_archive({"a": "", "b": ""}, name="sub")
    assert inspected(chart_archive({"charts/sub-1.tgz": nested}), limits).files == 5
    assert "more than 5 files" in refusal(chart_archive({"charts/sub-1.tgz": nested, "c": ""}), limits)


def test_a_bomb_is_refused_by_the_size_in_its_header() -> None:
    bomb = chart_with(header(b"hello/zeros", size=b"%011o\0" % (4 * 1024 * MIB)))
    assert "unpacks to more than 20,971,520 bytes" in refusal(bomb)


def test_a_bomb_of_many_files_is_refused() -> None:
    assert "unpacks to more than" in refusal(chart_archive({f"f{number}": b"\0" * MIB for number in range(21)}))


def test_a_bomb_of_headers_alone_is_refused() -> None:
    limits = ArchiveLimits(packed_bytes=MIB, unpacked_bytes=MIB, max_files=10, document_bytes=MIB)
    folder = member("hello/folder", kind=tarfile.DIRTYPE)
    assert "unpacks to more than" in refusal(chart_with(*[folder] * 3000), limits)


def test_a_bomb_in_a_nested_archive_is_refused() -> None:
    bomb = chart_archive({"zeros": b"\0" * (20 * MIB)}, name="sub")
    assert "unpacks to more than" in refusal(chart_archive({"charts/sub-1.tgz": bomb}))


def test_endlessly_nested_charts_are_refused() -> None:
    archive = chart_archive()
    for _ in range(MAX_SUBCHART_DEPTH + 1):
        archive = chart_archive({"charts/sub-1.tgz": archive})
    assert f"more than {MAX_SUBCHART_DEPTH} levels" in refusal(archive)


def test_a_parsed_file_has_its_own_limit() -> None:
    assert "at most 1,048,576 bytes" in refusal(chart_archive({"values.yaml": "#" * (MIB + 1)}))
    subcharts: dict[str, str] = {}
    for number in range(5):
        subcharts |= subchart(f"sub{number}", **{"values.schema.json": " " * MIB})
    assert "4,194,304 bytes together" in refusal(chart_archive(subcharts))


def test_links_inside_the_chart_are_allowed() -> None:
    links = [
        member("hello/a/soft", kind=tarfile.SYMTYPE, target="../values.yaml"),
        member("hello/hard", kind=tarfile.LNKTYPE, target="hello/Chart.yaml"),
        member("hello/files/", kind=tarfile.DIRTYPE),
    ]
    assert inspected(chart_with(*links)).files == 3


DEPENDENCY = chart_yaml("dependencies:", "- {name: sub, version: 1.x.x, repository: 'https://example.com'}")


def test_dependencies_that_are_not_vendored_are_refused() -> None:
    message = refusal(chart_archive({"Chart.yaml": DEPENDENCY}))
    assert "dependencies sub are not in its charts/ folder" in message
    assert "helm dependency update" in message


def test_dependencies_of_a_v1_chart_are_read_from_requirements() -> None:
    files = {"Chart.yaml": "name: hello\nversion: 0.1.0\n", "requirements.yaml": "dependencies: [{name: sub}]\n"}
    assert "dependencies sub" in refusal(chart_archive(files))
    info = inspected(chart_archive({**files, **subchart("sub")}))
    assert (info.api_version, info.dependencies) == ("v1", ("sub",))


def test_a_dependency_is_satisfied_by_a_folder_or_an_archive() -> None:
    assert inspected(chart_archive({"Chart.yaml": DEPENDENCY, **subchart("sub")})).dependencies == ("sub",)
    packed_subchart = chart_archive(name="sub", version="1.2.0")
    info = inspected(chart_archive({"Chart.yaml": DEPENDENCY, "charts/sub-1.2.0.tgz": packed_subchart}))
    assert info.dependencies == ("sub",)


def test_a_dependency_is_found_by_its_name_not_its_alias() -> None:
    alias = chart_yaml("dependencies:", "- {name: sub, alias: one}", "- {name: sub, alias: two}")
    assert inspected(chart_archive({"Chart.yaml": alias, **subchart("sub")})).dependencies == ("sub", "sub")
    assert "dependencies sub, sub" in refusal(chart_archive({"Chart.yaml": alias, **subchart("one")}))


def test_a_disabled_dependency_must_be_vendored_too() -> None:
    off = chart_yaml("dependencies:", "- {name: sub, condition: sub.enabled}")
    assert "dependencies sub" in refusal(chart_archive({"Chart.yaml": off, "values.yaml": "sub: {enabled: false}"}))


@pytest.mark.parametrize(
    ("dependencies", "expected_message"),
    [
        ("dependencies: sub", "not a list of objects"),
        ("dependencies: [sub]", "not a list of objects"),
        ("dependencies: [{name: a}, {name: a}]", '"a" twice'),
        ("dependencies: [{name: a, alias: 'b c'}]", 'the alias of "a" in'),
    ],
)
def test_malformed_dependencies_are_refused(dependencies: str, expected_message: str) -> None:
    assert expected_message in refusal(chart_archive({"Chart.yaml": chart_yaml(dependencies), **subchart("a")}))


def test_files_that_helm_skips_under_charts_are_skipped() -> None:
    files = {"charts/.git/x": "", "charts/_notes": "", "charts/sub-1.tgz.prov": "", **subchart("sub")}
    assert inspected(chart_archive(files)).name == "hello"


@pytest.mark.parametrize(
    "schema",
    [
        EXTERNAL,
        '{"$ref": "file:///etc/passwd"}',
        '{"$ref": "other.json"}',
        '{"allOf": [{"$ref": ""}]}',
        '{"\\u0024ref": "http://example.com"}',
        '{"$ref": "http://example.com", "$ref": "#/a"}',
        '{"$dynamicRef": "http://example.com"}',
        '{"$schema": "http://example.com/draft"}',
    ],
)
def test_an_external_schema_reference_is_reported(schema: str) -> None:
    assert inspected(chart_archive({"values.schema.json": schema})).external_refs


@pytest.mark.parametrize(
    "schema",
    [
        "true",
        '{"$ref": "#/definitions/a", "definitions": {"a": {}}}',
        '{"$schema": "http://json-schema.org/draft-07/schema#"}',
        '{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/x"}',
        '{"properties": {"$ref": {"type": "string"}}}',
    ],
)
def test_a_schema_without_external_references_is_used(schema: str) -> None:
    assert not inspected(chart_archive({"values.schema.json": schema})).external_refs


def test_the_schemas_of_subcharts_count() -> None:
    inner = tar_gz({"in/Chart.yaml": "name: in\nversion: 1.0.0\n", "in/values.schema.json": EXTERNAL})
    outer = subchart("sub") | {"charts/sub/charts/in-1.tgz": inner}
    assert inspected(chart_archive(outer)).external_refs
    assert inspected(chart_archive(subchart("sub", **{"values.schema.json": EXTERNAL}))).external_refs


def test_a_refused_name_is_shown_short_and_printable() -> None:
    message = refusal(chart_with(member("/\x1b[31m" + "x" * 500)))
    assert message.isprintable()
    assert len(message) < 250


paths = st.lists(
    st.sampled_from(
        ["hello", "..", ".", "", "charts", "a", "Chart.yaml", "c:", "sub.tgz", "values.schema.json", "x\\y"]
    ),
    min_size=1,
    max_size=6,
).map("/".join)


@must_occur(accepted=10, refused=10)
@given(
    st.lists(st.tuples(paths, st.sampled_from([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE])), max_size=4), paths
)
def test_any_name_is_accepted_or_refused(entries: list[tuple[str, bytes]], target: str) -> None:
    archive = chart_with(*(member(name, kind=kind, target=target) for name, kind in entries))
    try:
        info = inspected(archive)
    except ChartInvalid:
        occurred("refused")
        return
    occurred("accepted")
    for name, _ in entries:
        assert ".." not in name.split("/")
        assert not name.startswith("/")
    assert info.name == "hello"


@must_occur(refused=50)
@given(st.integers(0, 300), st.integers(0, 255))
def test_any_damaged_archive_is_accepted_or_refused(place: int, byte: int) -> None:
    archive = bytearray(chart_archive())
    archive[place % len(archive)] = byte
    try:
        info = inspected(bytes(archive))
    except ChartInvalid:
        occurred("refused")
        return
    assert replace(info, digest="") == replace(inspected(chart_archive()), digest="")


def test_the_sample_charts_are_accepted() -> None:
    samples = Path(__file__).parents[4] / "manifests" / "samples" / "charts"
    charts = [path.parent for path in samples.glob("*/Chart.yaml")]
    assert charts
    for chart in charts:
        files = {str(path.relative_to(chart)): path.read_bytes() for path in chart.rglob("*") if path.is_file()}
        assert inspected(chart_archive(files)).name == chart.name
