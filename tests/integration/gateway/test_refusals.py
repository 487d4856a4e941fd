"""Invalid input: a 4xx that names the field and the rule, leaves nothing behind and shows no internals."""

from __future__ import annotations

import io
import json
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.integration.gateway.gateway_client import DEPLOYMENT, NO_OBJECTS, GatewayClient, multipart_files
from tests.support.apiserver import NAMESPACES, ApiServer
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive, tar_gz
from tests.support.gateway import GatewayServer
from tests.support.openapi_contract import OpenApiContract

pytestmark = pytest.mark.integration

CHART_YAML = "apiVersion: v2\nname: hello\nversion: 0.1.0\n"
MEMORY_HOG_TEMPLATE = '{{- $x := "x" }}{{- range until 40 }}{{- $x = print $x $x }}{{- end }}a: {{ len $x }}'
INSIDE = re.compile(r"Traceback|File \"|/tmp/|/var/|/work|site-packages|\.py\b|uploads-|0x[0-9a-f]{8}")


@pytest.fixture(scope="module")
def shared_namespace(api: ApiServer) -> Iterator[str]:
    """One namespace for all tests, because nothing is ever written to it."""
    name = "gateway-refusals"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    yield name
    api.delete(f"{NAMESPACES}/{name}")


@pytest.fixture(scope="module")
def client(gateway: GatewayServer, api: ApiServer, shared_namespace: str) -> Iterator[GatewayClient]:
    with gateway.client(event_hooks={"response": [OpenApiContract.from_gateway(gateway).check_response]}) as http:
        yield GatewayClient(http=http, api=api, namespace=shared_namespace, uploads=gateway.gateway.upload_folder)


@dataclass(frozen=True, slots=True)
class BadRequest:
    """One bad request: how it differs from a good one, and its error.

    `form` is sent as it is unless it is a dict, which changes the good form (None removes a field).
    """

    status: int
    wrong_field: str | None
    detail: str = ""
    form: object = field(default_factory=dict)
    file: bytes | None = field(default_factory=chart_archive)
    values: str | bytes | None = None
    query: dict[str, str] = field(default_factory=dict)


def archive_with(member: tarfile.TarInfo, content: bytes = b"") -> bytes:
    """Return a chart with one more archive member of any type."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        about = tarfile.TarInfo("hello/Chart.yaml")
        about.size = len(CHART_YAML)
        archive.addfile(about, io.BytesIO(CHART_YAML.encode()))
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, *, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type = kind
    found.linkname = target
    return found


def gzip_bomb() -> bytes:
    """Return a chart of some KiB that unpacks to 64 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = tarfile.TarInfo("hello/templates/zeros.txt")
    head.size = 64 * 1024 * 1024
    pieces = [packer.compress(head.tobuf()), *(packer.compress(bytes(1024 * 1024)) for _ in range(64)), packer.flush()]
    return b"".join(pieces)


def chart_of(template: str, **files: str) -> bytes:
    return chart_archive({"templates/a.yaml": template, **files})


def about(text: str, **files: str | bytes) -> bytes:
    """Return a chart with that Chart.yaml."""
    return tar_gz({"hello/Chart.yaml": text, **{f"hello/{path}": content for path, content in files.items()}})


SCHEMA = chart_archive({"values.schema.json": '{"required": ["must"], "properties": {"port": {"type": "integer"}}}'})
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)

FORM = {
    "missing": BadRequest(400, "xAppForm", "is missing", form=None),
    "empty": BadRequest(400, None, "xAppForm", form=""),
    "not JSON": BadRequest(400, None, "line 1", form="{'xAppName': 1}"),
    "not UTF-8": BadRequest(400, None, "xAppForm", form=b'{"owner": "\xff"}'),
    "a list": BadRequest(422, None, "object", form="[]"),
    "a text": BadRequest(422, None, "object", form='"hello"'),
    "a key twice": BadRequest(422, "xAppForm", "twice", form='{"owner": "a", "owner": "b"}'),
    "NaN": BadRequest(400, None, "JSON", form='{"owner": NaN}'),
    "no field": BadRequest(422, "xAppForm.xAppName", "required", form="{}"),
    "a number for a text": BadRequest(422, "xAppForm.owner", "string", form={"owner": 1}),
    "a list for a text": BadRequest(422, "xAppForm.team", "string", form={"team": ["ran"]}),
    "a text for a number": BadRequest(422, "xAppForm.maxHistory", "number", form={"maxHistory": "5"}),
    "a text for a boolean": BadRequest(422, "xAppForm.suspend", "true or false", form={"suspend": "true"}),
    "an object too many": BadRequest(422, "xAppForm.upgrade.when", "", form={"upgrade": {"when": "now"}}),
    "a wrong method": BadRequest(422, "xAppForm.method", "Remote Chart Repository", form={"method": "upload"}),
    "an unknown field": BadRequest(422, "xAppForm.xappname", "xAppName", form={"xappname": "hello"}),
    "values in the form": BadRequest(422, "xAppForm.values", "part values", form={"values": {"a": 1}}),
    "an archive in the form": BadRequest(
        422, "xAppForm.archive", "part file", form={"archive": {"secretRef": {"name": "s"}}}
    ),
    "an empty name": BadRequest(422, "xAppForm.xAppName", "1", form={"xAppName": ""}),
    "a name of signs": BadRequest(422, "xAppForm.xAppName", "letter or digit", form={"xAppName": "___"}),
    "a name over the limit": BadRequest(422, "xAppForm.xAppName", "253", form={"xAppName": "x" * 254}),
    "an organization over the limit": BadRequest(422, "xAppForm.organization", "253", form={"organization": "x" * 254}),
    "a version with a v": BadRequest(422, "xAppForm.version", "dotted numeric", form={"version": "v1"}),
    "a version with a line break": BadRequest(422, "xAppForm.version", "control characters", form={"version": "1\n"}),
    "an upper-case namespace": BadRequest(422, "xAppForm.namespace", "63", form={"namespace": "RIC"}),
    "a namespace over the limit": BadRequest(422, "xAppForm.namespace", "63", form={"namespace": "x" * 64}),
    "a namespace that leaves its path": BadRequest(
        422, "xAppForm.namespace", "63", form={"namespace": "../kube-system"}
    ),
    "a timeout of another kind": BadRequest(422, "xAppForm.timeout", "24h", form={"timeout": "5 minutes"}),
    "a timeout too long": BadRequest(422, "xAppForm.timeout", "24h", form={"timeout": "25h"}),
    "a history too long": BadRequest(422, "xAppForm.maxHistory", "100", form={"maxHistory": 101}),
    "a release name over the limit": BadRequest(422, "xAppForm.releaseName", "53", form={"releaseName": "x" * 54}),
    "chartVersion with an upload": BadRequest(422, "xAppForm.chartVersion", "forbidden", form={"chartVersion": "1"}),
    "too large": BadRequest(413, "xAppForm", "65,536", form=json.dumps({"owner": "x" * 70_000})),
    "deep": BadRequest(400, None, "", form="[" * 20_000 + "]" * 20_000),
}

REMOTE: dict[str, Any] = {
    "method": "Remote Chart Repository",
    "chartName": "hello",
    "url": "https://charts.example.com",
    "repoName": "charts",
}
METHOD = {
    "a file with a remote chart": BadRequest(422, "file", "remote", form=REMOTE),
    "no file with an upload": BadRequest(422, "file", "required", file=None),
    "no url": BadRequest(422, "xAppForm.url", "required", form={**REMOTE, "url": None}, file=None),
    "no chartName": BadRequest(422, "xAppForm.chartName", "required", form={**REMOTE, "chartName": None}, file=None),
    "no repoName": BadRequest(422, "xAppForm.repoName", "required", form={**REMOTE, "repoName": None}, file=None),
    "a url of another kind": BadRequest(422, "xAppForm.url", "https://", form={**REMOTE, "url": "ftp://a"}, file=None),
    "a url without a host": BadRequest(422, "xAppForm.url", "host", form={**REMOTE, "url": "https://"}, file=None),
    "a url with a password": BadRequest(
        422, "xAppForm.url", "credentials", form={**REMOTE, "url": "https://u:hunter2@a.example"}, file=None
    ),
    "a chartVersion that is no range": BadRequest(
        422, "xAppForm.chartVersion", ">=0.2", form={**REMOTE, "chartVersion": "<<"}, file=None
    ),
    "a version that no chart can have": BadRequest(
        422, "xAppForm.chartVersion", "its default", form={**REMOTE, "version": "1.2.3.4"}, file=None
    ),
    "a repoName of signs": BadRequest(
        422, "xAppForm.repoName", "lower-case", form={**REMOTE, "repoName": "A_b"}, file=None
    ),
}

FILE = {
    "0 bytes": BadRequest(422, "file", "", file=b""),
    "not gzip": BadRequest(422, "file", "gzip", file=b"PK\x03\x04 a zip"),
    "gzip cut short": BadRequest(422, "file", "", file=chart_archive()[:-20]),
    "not tar": BadRequest(422, "file", "", file=zlib.compress(b"x" * 2000, wbits=31)),
    "no Chart.yaml": BadRequest(422, "file", "Chart.yaml", file=tar_gz({"hello/values.yaml": ""})),
    "a Chart.yaml that is no YAML": BadRequest(422, "file", "Chart.yaml", file=about("a: [")),
    "a version that is no SemVer": BadRequest(
        422, "file", "version", file=about("apiVersion: v2\nname: a\nversion: x.y\n")
    ),
    "two dots": BadRequest(422, "file", "..", file=archive_with(member("hello/../../etc/passwd"), b"x")),
    "an absolute path": BadRequest(422, "file", "", file=archive_with(member("/etc/passwd"), b"x")),
    "a link to outside": BadRequest(
        422, "file", "link", file=archive_with(member("hello/a", tarfile.SYMTYPE, target="../../etc/passwd"))
    ),
    "a hard link to outside": BadRequest(
        422, "file", "/etc/passwd", file=archive_with(member("hello/a", tarfile.LNKTYPE, target="/etc/passwd"))
    ),
    "a device": BadRequest(422, "file", "", file=archive_with(member("hello/null", tarfile.CHRTYPE))),
    "a pipe": BadRequest(422, "file", "", file=archive_with(member("hello/pipe", tarfile.FIFOTYPE))),
    "a bomb": BadRequest(422, "file", "20,971,520", file=gzip_bomb()),
    "5,001 files": BadRequest(
        422, "file", "5,000", file=chart_archive({f"templates/{at}.txt": "" for at in range(5000)})
    ),
    "over 1 MiB": BadRequest(413, "file", "1,048,576", file=b"\x1f\x8b" + bytes(1024 * 1024)),
    "a library": BadRequest(422, "file", "library", file=about(CHART_YAML + "type: library\n")),
    "dependencies that are not vendored": BadRequest(
        422, "file", "redis", file=about(CHART_YAML + "dependencies: [{name: redis, version: 1.x, repository: x}]\n")
    ),
    "a template that does not parse": BadRequest(422, "file", "line 1", file=chart_of("{{ if }}")),
    "a template that renders no YAML": BadRequest(422, "file", "YAML", file=chart_of("a: b: c")),
    "a template that calls itself": BadRequest(
        422, "file", "without end", file=chart_of('{{ define "r" }}{{ include "r" . }}{{ end }}{{ include "r" . }}')
    ),
    "a template that eats memory": BadRequest(422, "file", "MiB of memory", file=chart_of(MEMORY_HOG_TEMPLATE)),
    "a chart for another cluster": BadRequest(422, "file", "1.20", file=about(CHART_YAML + "kubeVersion: <1.20\n")),
}

VALUES = {
    "not YAML": BadRequest(422, "values", "line 2", values="a: [1"),
    "a list": BadRequest(422, "values", "object", values="- 1"),
    "a text": BadRequest(422, "values", "object", values="hello"),
    "an alias bomb": BadRequest(422, "values", "alias", values=ALIASES),
    "a key twice": BadRequest(422, "values", "line 2", values="a: 1\na: 2\n"),
    "two documents": BadRequest(422, "values", "document", values="a: 1\n---\nb: 1\n"),
    "not UTF-8": BadRequest(422, "values", "UTF-8", values=b"a: \xff"),
    "deep": BadRequest(422, "values", "100", values="a: " + "[" * 200 + "]" * 200),
    "over the cap": BadRequest(413, "values", "1,048,576", values="a: " + "x" * 1024 * 1024),
    "a mask without a value": BadRequest(422, "values.password", "value itself", values='password: "••••••"'),
    "against the schema": BadRequest(422, "values.port", "", values="must: 1\nport: eighty", file=SCHEMA),
    "less than the schema wants": BadRequest(422, "values.must", "", file=SCHEMA),
}

QUERY = {
    "an unknown parameter": BadRequest(400, "dryrun", "dryRun", query={"dryrun": "true"}),
    "a dryRun of another kind": BadRequest(400, "dryRun", "true or false", query={"dryRun": "yes"}),
    "a wait of another kind": BadRequest(400, "wait", "300", query={"wait": "long"}),
    "a negative wait": BadRequest(400, "wait", "300", query={"wait": "-1"}),
    "a wait too long": BadRequest(400, "wait", "300", query={"wait": "301"}),
    "a wait without end": BadRequest(400, "wait", "300", query={"wait": "inf"}),
}

ALL = {
    f"{kind}: {name}": bad
    for kind, table in {"form": FORM, "method": METHOD, "file": FILE, "values": VALUES, "query": QUERY}.items()
    for name, bad in table.items()
}


def send(client: GatewayClient, bad: BadRequest) -> httpx.Response:
    form = client.deployment_form(**bad.form) if isinstance(bad.form, dict) else bad.form
    return client.post_deployment(form, file=bad.file, values=bad.values, **bad.query)


def assert_refused(client: GatewayClient, answer: httpx.Response, bad: BadRequest) -> None:
    problem = answer.json()
    assert answer.status_code == bad.status, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert bad.detail in problem["detail"]
    if bad.wrong_field is not None:
        assert bad.wrong_field in [each["field"] for each in problem["errors"]]
    assert not INSIDE.search(answer.text)
    assert "hunter2" not in answer.text
    left = client.existing_objects()
    if left != NO_OBJECTS:
        client.delete_objects()
    assert left == NO_OBJECTS


@pytest.mark.parametrize("name", ALL)
def test_bad_input_is_refused_and_leaves_nothing(client: GatewayClient, name: str) -> None:
    assert_refused(client, send(client, ALL[name]), ALL[name])


@pytest.mark.parametrize("name", [name for name in ALL if ALL[name].status == 422][::7])
def test_a_dry_run_refuses_the_same(client: GatewayClient, name: str) -> None:
    bad = ALL[name]
    form = client.deployment_form(**bad.form) if isinstance(bad.form, dict) else bad.form
    assert_refused(client, client.post_deployment(form, file=bad.file, values=bad.values, dryRun="true"), bad)


def test_all_invalid_fields_are_named_at_once(client: GatewayClient) -> None:
    answer = client.post_deployment(
        client.deployment_form(version="v1", owner=None, team=1, namespace="A"), file=chart_archive()
    )
    assert {each["field"] for each in answer.json()["errors"]} == {
        "xAppForm.version",
        "xAppForm.owner",
        "xAppForm.team",
        "xAppForm.namespace",
    }


MALFORMED: dict[str, tuple[int, dict[str, str], bytes]] = {
    "JSON": (415, {"Content-Type": "application/json"}, b"{}"),
    "a web form": (415, {"Content-Type": "application/x-www-form-urlencoded"}, b"xAppForm=1"),
    "no content type": (415, {}, b"xAppForm"),
    "no boundary": (400, {"Content-Type": "multipart/form-data"}, b"--x--"),
    "another boundary": (400, {"Content-Type": "multipart/form-data; boundary=x"}, b"--y\r\n\r\n--y--"),
    "no body": (400, {"Content-Type": "multipart/form-data; boundary=x"}, b""),
    "no end": (
        400,
        {"Content-Type": "multipart/form-data; boundary=x"},
        b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nabc',
    ),
    "a part without a name": (
        400,
        {"Content-Type": "multipart/form-data; boundary=x"},
        b"--x\r\nContent-Type: text/plain\r\n\r\nabc\r\n--x--\r\n",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_body_that_is_not_multipart_is_refused(client: GatewayClient, name: str) -> None:
    status, headers, body = MALFORMED[name]
    answer = client.http.post(DEPLOYMENT, content=body, headers=headers)
    assert_refused(client, answer, BadRequest(status, None, "multipart" if status == 415 else ""))


def test_a_duplicate_part_is_refused(client: GatewayClient) -> None:
    sent = [
        (name, content) for name, content in multipart_files(client.deployment_form(), file=chart_archive()).items()
    ]
    answer = client.http.post(DEPLOYMENT, files=[*sent, sent[0]])
    assert_refused(client, answer, BadRequest(422, "xAppForm", "once"))


def test_a_malformed_part_is_refused(client: GatewayClient) -> None:
    sent = {**multipart_files(client.deployment_form(), file=chart_archive()), "valuesFile": (None, b"a: 1")}
    assert_refused(client, client.http.post(DEPLOYMENT, files=sent), BadRequest(422, "valuesFile", "values"))


def test_a_misnamed_form_part_is_reported_with_the_right_name(client: GatewayClient) -> None:
    sent = multipart_files(client.deployment_form(), file=chart_archive())
    sent["xappForm"] = sent.pop("xAppForm")
    answer = client.http.post(DEPLOYMENT, files=sent)
    assert_refused(client, answer, BadRequest(400, "xappForm", "xAppForm is missing"))
    assert "did you mean 'xAppForm'" in answer.text


REFUSED_SOURCES: dict[str, tuple[str, Callable[[ChartServer], dict[str, Any]], str]] = {
    "no such chart": ("xAppForm.chartName", lambda charts: {"url": charts.url, "chartName": "none"}, "none"),
    "no such version": ("xAppForm.version", lambda charts: {"url": charts.url, "version": "7"}, "0.1.0"),
    "nobody there": ("xAppForm.url", lambda _: {"url": "http://127.0.0.1:9"}, ""),
    "no such host": ("xAppForm.url", lambda _: {"url": "http://charts.invalid"}, ""),
    "a link-local address": ("xAppForm.url", lambda _: {"url": "http://169.254.169.254/"}, ""),
}


@pytest.mark.parametrize("name", REFUSED_SOURCES)
def test_a_dry_run_of_an_unavailable_chart_is_refused(client: GatewayClient, name: str) -> None:
    where, changes, says = REFUSED_SOURCES[name]
    with ChartServer() as charts:
        charts.add("hello", "0.1.0", chart_archive())
        form = client.remote_form("", **changes(charts))
        assert_refused(client, client.post_deployment(form, dryRun="true"), BadRequest(422, where, says))
