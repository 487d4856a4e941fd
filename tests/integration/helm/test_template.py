"""Rendering without a cluster: errors, warnings, and limits."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.integration.helm.conftest import SIMPLE, MakeChart
from tests.support.charts import chart_archive
from tests.support.schema_messages import SCHEMA_MESSAGES
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.errors import ChartInvalid, HelmError, HelmTimeout, ValuesInvalid
from xapp_operator.helm import engine as engine_module
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.requests import TemplateRequest

pytestmark = pytest.mark.integration

EATS_MEMORY = '{{- $x := "x" }}{{- range until 40 }}{{- $x = print $x $x }}{{- end }}a: {{ len $x }}'
EATS_TIME = "a: {{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"


def request(chart: Path, **options: Any) -> TemplateRequest:
    given = {"name": "hello", "namespace": "ric", "chart": chart, "values": {}, "kube_version": "v1.36.3", **options}
    return TemplateRequest(**given)


async def test_the_manifest_of_a_chart_is_rendered_for_the_namespace(offline: HelmEngine, chart: MakeChart) -> None:
    rendered = await offline.template(request(chart(), values={"data": {"b": "{{ .Release.Namespace }}"}}))
    assert "# Source: hello/templates/configmap.yaml" in rendered.manifest
    assert "b: '{{ .Release.Namespace }}'" in rendered.manifest
    assert (rendered.notes, rendered.warnings) == ("", ())


async def test_version_and_kinds_of_the_cluster_reach_the_chart(offline: HelmEngine, chart: MakeChart) -> None:
    template = (
        "version: {{ .Capabilities.KubeVersion }}\n"
        'has: {{ .Capabilities.APIVersions.Has "foo.example.com/v1/Foo" }}\n'
        'lacks: {{ .Capabilities.APIVersions.Has "bar.example.com/v1" }}\n'
    )
    versions = (*(f"g{number}.example.com/v1" for number in range(600)), "foo.example.com/v1/Foo")
    rendered = await offline.template(
        request(chart({"templates/a.yaml": template}), kube_version="v1.29.4", api_versions=versions)
    )
    assert "version: v1.29.4\nhas: true\nlacks: false\n" in rendered.manifest


@pytest.mark.parametrize("upgrade", [True, False])
async def test_an_upgrade_is_rendered_as_one(offline: HelmEngine, chart: MakeChart, *, upgrade: bool) -> None:
    archive = chart({"templates/a.yaml": "upgrade: {{ .Release.IsUpgrade }}"})
    rendered = await offline.template(request(archive, upgrade=upgrade))
    assert f"upgrade: {str(upgrade).lower()}" in rendered.manifest


async def test_crds_and_hooks_are_part_of_the_manifest(offline: HelmEngine, chart: MakeChart) -> None:
    hook = "kind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\n"
    rendered = await offline.template(request(chart({**SIMPLE, "crds/a.yaml": "kind: A\n", "templates/h.yaml": hook})))
    assert "kind: A" in rendered.manifest
    assert "kind: Job" in rendered.manifest


async def test_notes_are_included_on_request(offline: HelmEngine, chart: MakeChart) -> None:
    archive = chart({**SIMPLE, "templates/NOTES.txt": "Say {{ .Values.data.a }}."})
    assert (await offline.template(request(archive, notes=True))).notes == "Say one."
    assert (await offline.template(request(archive))).notes == ""


async def test_notes_that_only_this_cluster_could_render_are_left_out(offline: HelmEngine, chart: MakeChart) -> None:
    archive = chart(
        {**SIMPLE, "Chart.yaml": "apiVersion: v2\nname: hello\nversion: 0.1.0\nkubeVersion: '<1.20'\n"}
        | {"templates/NOTES.txt": "for old clusters"}
    )
    rendered = await offline.template(request(archive, notes=True, kube_version="v1.19.0"))
    assert "kind: ConfigMap" in rendered.manifest
    assert rendered.notes == ""


async def test_a_template_that_does_not_parse_is_refused_with_file_and_line(
    offline: HelmEngine, chart: MakeChart
) -> None:
    archive = chart({"templates/a.yaml": "one: 1\n{{ if }}\n"})
    with pytest.raises(ChartInvalid, match=r"hello/templates/a\.yaml does not parse, line 2: missing value for if"):
        await offline.template(request(archive))


async def test_a_template_that_renders_no_yaml_is_refused(offline: HelmEngine, chart: MakeChart) -> None:
    with pytest.raises(ChartInvalid, match=r"hello/templates/a\.yaml renders invalid YAML"):
        await offline.template(request(chart({"templates/a.yaml": "a: b: c\n"})))


@pytest.mark.parametrize(
    ("template", "part"),
    [
        ('{{ fail "set the host" }}', "set the host"),
        ('{{ required "set the host" .Values.host }}', "set the host"),
        ("{{ .Values.a.b.c }}", "nil pointer"),
        ('{{ (lookup "v1" "Secret" "a" "b").data.x.y }}', "nil pointer"),
    ],
)
async def test_templates_that_call_fail_only_warn(
    offline: HelmEngine, chart: MakeChart, template: str, part: str
) -> None:
    rendered = await offline.template(request(chart({"templates/a.yaml": template}), notes=True))
    assert (rendered.manifest, rendered.notes) == ("", "")
    assert part in rendered.warnings[0]


async def test_a_template_that_includes_itself_without_end_is_refused(offline: HelmEngine, chart: MakeChart) -> None:
    template = '{{- define "r" }}{{ include "r" . }}{{ end }}{{ include "r" . }}'
    with pytest.raises(ChartInvalid, match="without end"):
        await offline.template(request(chart({"templates/a.yaml": template})))


async def test_helms_own_warnings_are_passed_on_without_values(offline: HelmEngine, chart: MakeChart) -> None:
    about = "apiVersion: v2\nname: hello\nversion: 0.1.0\ndeprecated: true\n"
    archive = chart({**SIMPLE, "Chart.yaml": about, "values.yaml": "data: {a: one}\nt: {a: {b: s3cr3t}}\n"})
    rendered = await offline.template(request(archive, values={"t": {"a": "x"}}))
    assert rendered.warnings == (
        "this chart is deprecated",
        "cannot overwrite table with non table for hello.t.a",
    )


async def test_each_schema_violation_is_one_error(offline: HelmEngine, chart: MakeChart) -> None:
    schema = {"required": ["must"], "properties": {"port": {"type": "integer"}, "mode": {"enum": ["a", "b"]}}}
    archive = chart({**SIMPLE, "values.schema.json": json.dumps(schema)})
    with pytest.raises(ValuesInvalid) as caught:
        await offline.template(request(archive, values={"port": "x", "mode": "c"}))
    assert {error.field for error in caught.value.errors} == {"values.must", "values.port", "values.mode"}


async def test_violations_are_worded_as_on_the_page_that_edits_values(offline: HelmEngine, chart: MakeChart) -> None:
    rows = SCHEMA_MESSAGES
    schema: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema#"}
    schema["properties"] = {f"v{at}": row["schema"] for at, row in enumerate(rows)}
    archive = chart({**SIMPLE, "values.schema.json": json.dumps(schema)})
    with pytest.raises(ValuesInvalid) as caught:
        await offline.template(request(archive, values={f"v{at}": row["value"] for at, row in enumerate(rows)}))
    said = [(f"values.v{at}{path[1:]}", words) for at, row in enumerate(rows) for path, words in row["says"].items()]
    assert sorted((error.field, error.message) for error in caught.value.errors) == sorted(said)


async def test_values_of_a_subchart_are_named_by_their_whole_path(offline: HelmEngine, chart: MakeChart) -> None:
    schema = json.dumps({"properties": {"port": {"type": "integer"}}})
    subchart = chart_archive({"values.schema.json": schema}, name="sub")
    about = "apiVersion: v2\nname: parent\nversion: 0.1.0\ndependencies: [{name: sub, version: 0.1.0}]\n"
    archive = chart({"Chart.yaml": about, "charts/sub-0.1.0.tgz": subchart}, name="parent")
    with pytest.raises(ValuesInvalid) as caught:
        await offline.template(request(archive, values={"sub": {"port": "x"}}, chart_name="parent"))
    assert [error.field for error in caught.value.errors] == ["values.sub.port"]


@dataclass
class Listener:
    """An HTTP server that serves a schema and records the requested paths."""

    url: str
    requested_paths: list[str] = field(default_factory=list)


@pytest.fixture
async def listener(unused_tcp_port: int) -> AsyncIterator[Listener]:
    found = Listener(f"http://127.0.0.1:{unused_tcp_port}/schema.json")

    async def answer(asking: web.Request) -> web.Response:
        found.requested_paths.append(asking.path)
        return web.json_response({"type": "object", "required": ["never"]})

    application = web.Application()
    application.router.add_get("/schema.json", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    yield found
    await runner.cleanup()


async def test_an_external_schema_is_not_fetched_when_schemas_are_skipped(
    offline: HelmEngine, chart: MakeChart, listener: Listener
) -> None:
    archive = chart({**SIMPLE, "values.schema.json": json.dumps({"$ref": listener.url})})
    rendered = await offline.template(request(archive, skip_schema=True, notes=True))
    assert "kind: ConfigMap" in rendered.manifest
    assert listener.requested_paths == []


@pytest.mark.parametrize(
    ("about", "part"),
    [
        ("kubeVersion: '>=1.99'", ">=1.99"),
        ("type: library", "library"),
        ("dependencies: [{name: sub, version: 0.1.0}]", "missing in charts/"),
    ],
)
async def test_charts_that_cannot_be_installed_are_refused(
    offline: HelmEngine, chart: MakeChart, about: str, part: str
) -> None:
    archive = chart({"Chart.yaml": f"apiVersion: v2\nname: hello\nversion: 0.1.0\n{about}\n"})
    with pytest.raises(ChartInvalid, match=part):
        await offline.template(request(archive))


@pytest.mark.parametrize("content", [b"", b"no archive", chart_archive({})[:100]])
async def test_a_damaged_archive_is_an_error_without_a_local_path(
    offline: HelmEngine, tmp_path: Path, content: bytes
) -> None:
    archive = tmp_path / "damaged.tgz"
    archive.write_bytes(content)
    with pytest.raises(ChartInvalid) as caught:
        await offline.template(request(archive))
    assert str(tmp_path) not in caught.value.message


async def test_nested_nulls_integers_and_floats_arrive_as_helm_reads_them(
    offline: HelmEngine, chart: MakeChart
) -> None:
    archive = chart({"values.yaml": "a: 1\nb: {c: 2, d: 3}\n", "templates/a.yaml": "v: {{ toJson .Values }}"})
    values = {"a": None, "b": {"c": None}, "text": "1e3", "float": 0.5, "int": 9007199254740991}
    rendered = await offline.template(request(archive, values=values))
    assert 'v: {"b":{"d":3},"float":0.5,"int":9007199254740991,"text":"1e3"}' in rendered.manifest


@pytest.fixture
def small(helm_settings: Settings) -> Iterator[HelmEngine]:
    """An engine that limits the memory of helm."""
    engine = HelmEngine(helm_settings.model_copy(update={"helm_memory": 256 * MIB}))
    yield engine
    engine.close()


async def test_a_template_over_the_memory_limit_is_refused_with_the_limit(small: HelmEngine, chart: MakeChart) -> None:
    with pytest.raises(ChartInvalid, match="256 MiB of memory"):
        await small.template(request(chart({"templates/a.yaml": EATS_MEMORY})))


async def test_an_ordinary_chart_fits_into_little_memory(small: HelmEngine, chart: MakeChart) -> None:
    assert (await small.template(request(chart()))).manifest


async def test_a_template_over_the_time_limit_is_refused_with_the_limit(
    offline: HelmEngine, chart: MakeChart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "TEMPLATE_CPU_SECONDS", 1)
    with pytest.raises(ChartInvalid, match="1 s of processor time"):
        await offline.template(request(chart({"templates/a.yaml": EATS_TIME})))


async def test_a_rendering_past_its_deadline_is_a_timeout(offline: HelmEngine, chart: MakeChart) -> None:
    with pytest.raises(HelmTimeout, match=r"0\.5 s"):
        await offline.template(request(chart({"templates/a.yaml": EATS_TIME}), timeout=0.5))


async def test_a_manifest_over_the_output_bound_is_refused(offline: HelmEngine, chart: MakeChart) -> None:
    template = 'a: {{ repeat 17 (repeat 1048576 "x") }}'
    with pytest.raises(ChartInvalid, match="16 MiB"):
        await offline.template(request(chart({"templates/a.yaml": template})))


async def test_a_name_that_looks_like_a_flag_is_refused_as_a_name(
    offline: HelmEngine, chart: MakeChart, tmp_path: Path
) -> None:
    with pytest.raises(HelmError, match="invalid release name"):
        await offline.template(request(chart(), name=f"--output-dir={tmp_path}/out"))
    assert not (tmp_path / "out").exists()


async def test_helm_4_is_recognised(offline: HelmEngine) -> None:
    assert (await offline.version()).startswith("v4.")


async def test_nothing_is_left_in_the_cache_folder(helm_settings: Settings, chart: MakeChart) -> None:
    engine = HelmEngine(helm_settings)
    await engine.template(request(chart()))
    engine.close()
    assert list(helm_settings.cache_dir.joinpath("helm").iterdir()) == []


def test_a_missing_helm_is_an_error_that_names_it(helm_settings: Settings) -> None:
    with pytest.raises(HelmError, match="XAPP_HELM") as caught:
        HelmEngine(helm_settings.model_copy(update={"helm": "no-such-helm"}))
    assert caught.value.permanent
    assert not helm_settings.cache_dir.exists()
