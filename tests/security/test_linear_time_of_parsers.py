"""Threat: a text of some KB makes a parser work for minutes. Every parser of foreign text is in the table."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.security.growth import assert_linear, repeat
from tests.support.charts import chart_archive
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.charts.archives.archive_reader import ArchiveLimits
from xapp_operator.charts.archives.inspection import inspect_archive
from xapp_operator.charts.chart_request import parse_repository_url, sha256_digits
from xapp_operator.charts.sources.index_parser import IndexRefused, IndexTooLarge, parse_index
from xapp_operator.charts.sources.registry_auth import parse_challenges
from xapp_operator.charts.versions import parse_range, parse_version
from xapp_operator.common.text import escape_input, format_list, quote_input, shorten_line
from xapp_operator.config.settings import MIB, Settings
from xapp_operator.domain.bounded_json import loads_bounded
from xapp_operator.domain.chart_values.values import apply_merge_patch, merge_values, values_digest
from xapp_operator.domain.chart_values.values_places import ValuesPlaces
from xapp_operator.domain.chart_values.values_text import dump_values_text, mask_values_text
from xapp_operator.domain.chart_values.yaml_values import dump_values, load_json, load_values
from xapp_operator.domain.drift import find_differences, with_live_values
from xapp_operator.domain.managed_fields import manages_all, pack_helm_fields
from xapp_operator.domain.masking.redaction import MASK, redact, scrub, secret_texts, unmask
from xapp_operator.domain.masking.text_secrets import mask_secrets
from xapp_operator.domain.replaced_items import find_replaced
from xapp_operator.gateway.catalog.label_selector import parse_label_selector
from xapp_operator.gateway.deploy.forms import read_namespace
from xapp_operator.gateway.http.requests.bodies import decode_json_object
from xapp_operator.gateway.http.requests.origins import host_without_port, is_same_origin
from xapp_operator.gateway.http.requests.query import StrictQuery
from xapp_operator.gateway.http.requests.validation import validate_body
from xapp_operator.gateway.http.responses.problems import redact_path
from xapp_operator.gateway.proxy.location_rewriter import LocationRewriter
from xapp_operator.gateway.proxy.paths import parse_proxy_path
from xapp_operator.gateway.proxy.targets import ProxyTarget
from xapp_operator.gateway.schemas.repositories import RepositoryRequest
from xapp_operator.gateway.xapps.logs.log_responses import LogEventEncoder, parse_event_id
from xapp_operator.gateway.xapps.release.manifest_diff import manifest_diff
from xapp_operator.helm.labelling.manifest_labels import ObjectMetadata, add_metadata
from xapp_operator.helm.manifest import manifest_inventory, split_documents
from xapp_operator.helm.manifest_masking import mask_manifest, mask_notes
from xapp_operator.helm.releases.release_storage import decode_release, parse_release_secret_name
from xapp_operator.helm.results.error_rules import error_from_stderr, is_release_not_found, template_stop_reason
from xapp_operator.helm.results.schema_errors import HEADLINE
from xapp_operator.helm.results.stderr import parse_warnings, presentable_message
from xapp_operator.kube.api_errors import error_from_response
from xapp_operator.kube.watch.watch_events import parse_watch_event

LIMITS: Final = ArchiveLimits.from_settings(Settings(chart_max_bytes=8 * MIB, chart_max_files=100_000))
TARGET: Final = ProxyTarget(
    namespace="apps",
    service="web",
    port="80",
    port_number=80,
    https=False,
    address=("10.0.0.1", 80),
    cluster_ip="10.0.0.1",
)
REWRITER: Final = LocationRewriter(target=TARGET, prefix="/p", path="/a", gateway_hosts=("gateway",))

HELM_TEXTS: Final = (
    *("a", " ", "\n", '"', "Error: ", "\nError: ", "execution error at (", "parse error at (", "Invalid value: {"),
    *('User "', "resource A/a/a not ready. status: ", "level=WARN msg=", '\nlevel=WARN msg="a" ', "/a/", "(", " (a)"),
    *(
        "failed to install CRD a: ",
        "Too long: ",
        "YAML parse error on ",
        'Invalid value: "\\"',
        'no matches for kind "',
    ),
)
YAML_TEXTS: Final = (
    *(
        "[",
        "{",
        "? ",
        "- ",
        "a: ",
        "- - ",
        "&a ",
        "!a ",
        "'",
        '"',
        '"\\',
        "|\n",
        "a\n",
        "\n",
        "#",
        "*a ",
        "%",
        "a: [",
        "---\n",
    ),
    *("a: b\n", "- a\n", "{a: b}, ", "\t", "<<: ", "a: &a\n", "\\u0061", ": ", ",", "!!binary |\n", "? a\n"),
)
JSON_TEXTS: Final = ("[", "{", '"', '"\\', "1", "[1,", '{"a":', "\\u0061", "-", " ", "1e", '"a":1,', "]", "}")
ANY_TEXTS: Final = (
    "a",
    " ",
    "/",
    ":",
    "%",
    "%2e/",
    "../",
    "@",
    "[",
    "&",
    "=",
    ";",
    ",",
    "\\",
    "a=b&",
    "\n",
    ".",
    "\x00",
)


def yaml_index(text: str) -> None:
    try:
        for _ in parse_index(io.BytesIO(text.encode()), max_bytes=8 * MIB):
            pass
    except (IndexRefused, IndexTooLarge):
        pass


def failed_schema(text: str) -> None:
    error_from_stderr(f"Error: {HEADLINE}\nweb:\n{text}", chart="web")


def form_of(text: str) -> None:
    validate_body(decode_json_object(text.encode(), what="form"), RepositoryRequest)


def json_or_nothing(work: Callable[[bytes], object]) -> Callable[[str], None]:
    def run(text: str) -> None:
        try:
            work(text.encode())
        except (ValueError, KeyError):
            return

    return run


def rewritten(text: str) -> None:
    for reference in (text, f"http://gateway/{text}", f"http://10.0.0.1/{text}", f"//{text}"):
        REWRITER.rewrite(reference)


def log_events(text: str) -> None:
    encoder = LogEventEncoder()
    for start in range(0, len(text), 512):
        encoder.feed(text[start : start + 512].encode())
    encoder.finish()


TEXT_PARSERS: Final[dict[str, tuple[Callable[[str], object], tuple[str, ...]]]] = {
    "WWW-Authenticate": (
        lambda text: parse_challenges([text[at : at + 500] for at in range(0, min(len(text), 16_000), 500)]),
        ("a", "basic ", 'a="', 'a="\\', ",", " ", "bearer a=b, "),
    ),
    "range of versions": (parse_range.__wrapped__, (" ", "1", "1 - ", "||", ">", "1.x ", "1-a.", ",")),
    "version": (parse_version, ("1", "1.", "1.2.3-a.", "0")),
    "repository URL": (parse_repository_url, (*ANY_TEXTS, "http://", "http://a@")),
    "digest": (sha256_digits, ("sha256:", "0")),
    "index": (yaml_index, (*YAML_TEXTS, "entries: ", "entries:\n  a:\n  - version: 1.0.0\n")),
    "label selector": (
        lambda text: parse_label_selector("label", text),
        ("a", " ", "a,", "a in (", "!", "a=", "a in (a,"),
    ),
    "error of helm": (error_from_stderr, HELM_TEXTS),
    "error of a schema": (
        failed_schema,
        ("- at '", "- at '/a': b\n", "  - at '/a': 'a'\n", "'\\'", "web:\n", "  ", "- at '': 'anyOf' failed\n"),
    ),
    "template failure": (template_stop_reason, HELM_TEXTS),
    "release not found": (is_release_not_found, HELM_TEXTS),
    "warnings of helm": (
        parse_warnings,
        (*HELM_TEXTS, "level=WARN msg=a\n", 'level=INFO msg="warning: a (', "level=INFO msg=(\n"),
    ),
    "message of helm": (presentable_message, HELM_TEXTS),
    "secrets in a text": (
        lambda text: mask_secrets(text, lambda _: MASK),
        (
            *(*HELM_TEXTS, *YAML_TEXTS, "password: ", "--token ", "://a:b@"),
            *("password:'", "password:''", "password:'\\''", "password:''\\''\n", "password:'\\''\n", "a:b@tcp("),
            *("<password>", "<password><![CDATA[", "<password>a</", "<a>a</a>", "auth: a:b\n", "cookie: a=b\n"),
            *('password="""', "password: <<EOT\n", "value: <<EOT\nname: password\n", "password='a'", "{password: "),
        ),
    ),
    "values file": (lambda text: load_values(text, source="values", max_bytes=8 * MIB), YAML_TEXTS),
    "masked values file": (mask_values_text, (*YAML_TEXTS, "# a\n", "a: b # c\n", "password: a # a\n")),
    "places of values": (lambda text: ValuesPlaces(text).find("values.a.b"), YAML_TEXTS),
    "JSON": (lambda text: load_json(text, source="body"), JSON_TEXTS),
    "JSON of a body": (lambda text: decode_json_object(text.encode(), what="body"), JSON_TEXTS),
    "JSON that is nested too deep": (json_or_nothing(loads_bounded), (*JSON_TEXTS, "[[]],", '{"a":"')),
    "watch event": (json_or_nothing(parse_watch_event), JSON_TEXTS),
    "error of the API server": (
        lambda text: error_from_response(422, text.encode(), path="/a"),
        (*JSON_TEXTS, *ANY_TEXTS),
    ),
    "manifest": (
        mask_manifest,
        (*YAML_TEXTS, "kind: A\n---\n", "kind: Secret\ndata:\n  a: b\n---\n"),
    ),
    "notes": (lambda text: mask_notes(text, secrets=("password",)), HELM_TEXTS),
    "documents": (split_documents, YAML_TEXTS),
    "inventory": (manifest_inventory, YAML_TEXTS),
    "labels of a manifest": (
        lambda text: add_metadata(text, ObjectMetadata({"a": "b"}, {})),
        (*YAML_TEXTS, "kind: A\nmetadata:\n  name: a\n---\n"),
    ),
    "diff": (lambda text: manifest_diff(text, text[::-1]), ("kind: A\nmetadata: {name: a}\nb: c\n---\n", "a\nb\n")),
    "diff of one object": (
        lambda text: manifest_diff(f"kind: A\nx:\n{text}", f"kind: A\ny: 1\nx:\n{text[1:]}"),
        ("- a\n", "- a\n- b\n", "- abcdef\n"),
    ),
    "name of a release record": (parse_release_secret_name, ("sh.helm.release.v1.", ".v1", "1")),
    "release record": (
        lambda text: decode_release({"data": {"release": base64.b64encode(base64.b64encode(text.encode())).decode()}}),
        (*JSON_TEXTS, "a"),
    ),
    "query": (
        lambda text: StrictQuery(text.encode("ascii", "replace")).allow_only(("page", "per_page")),
        (*ANY_TEXTS, "pag", "page&"),
    ),
    "proxy path": (
        lambda text: parse_proxy_path(
            b"/api/xapps/a/a/api/" + text.encode(), segments=("api", "xapps", "a", "a", "api")
        ),
        ANY_TEXTS,
    ),
    "redacted path": (redact_path, (*ANY_TEXTS, "/api/xapps/a/a/proxy/")),
    "Host": (host_without_port, ANY_TEXTS),
    "Origin": (lambda text: is_same_origin(f"https://{text}", text), ANY_TEXTS),
    "Location": (rewritten, (*ANY_TEXTS, "http://", "//", "/%2e%2e")),
    "Last-Event-ID": (parse_event_id, ("0", "2001-01-01T00:00:00.000000000Z", "#1")),
    "log": (log_events, ("a", "\n", "\r", "2001-01-01T00:00:00Z a\n", "2001-01-01T00:00:00.1Z \r\r\n")),
    "form": (form_of, JSON_TEXTS),
    "quoted input": (quote_input, ANY_TEXTS),
    "escaped input": (escape_input, ANY_TEXTS),
    "line": (lambda text: shorten_line(text, 500), ANY_TEXTS),
}
"""Functions over a text, with what is repeated to make them slow."""


def members(count: int, make: Callable[[int], Json]) -> dict[str, Json]:
    return {f"k{number}": make(number) for number in range(count)}


def named_items(count: int) -> list[Json]:
    return [{"name": f"n{number}", "password": "s3cr3t"} for number in range(count)]


def same_items(count: int) -> list[Json]:
    return [{"password": "s3cr3t"} for _ in range(count)]


def unmask_list(values: list[Json]) -> None:
    old: dict[str, Json] = {"list": values}
    shown = redact(old)
    shuffled = shown["list"]
    assert isinstance(shuffled, list)
    unmask({"list": [*shuffled[1:], shuffled[0]]}, old)


def chart_with_files(count: int) -> bytes:
    return chart_archive({f"files/{number}": "x" for number in range(count)})


def tar_of_links(count: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for number in range(count):
            link = tarfile.TarInfo(f"hello/{number}")
            link.type, link.linkname = tarfile.SYMTYPE, "a/../" * 20 + "b"
            tar.addfile(link)
    return packed.getvalue()


def items_beside_long_keys(count: int) -> tuple[JsonObject, JsonObject]:
    """Return fields with two items of long names, and an object with many short ones."""
    names = ["a", *(f"{number}".rjust(4 * count, "x") for number in range(2))]
    fields: JsonObject = {"f:list": {f'k:{{"name":"{name}"}}': {} for name in reversed(names)}}
    return fields, {"list": [{"name": "a"} for _ in range(count // 4)]}


def items_with_wide_keys(count: int) -> tuple[JsonObject, JsonObject]:
    """Return fields with an item of many keys, and an object with many items that have the first of them."""
    keys: JsonObject = {f"k{number}": 0 for number in range(count)}
    return {"f:list": {f"k:{json.dumps(keys)}": {}}}, {"list": [{"k0": 0} for _ in range(count // 4)]}


def kept_fields_of_an_item(count: int) -> tuple[JsonObject, JsonObject, list[tuple[str, ...]]]:
    """Return an object with one item, a live one with many, and pointers into that item."""
    live: JsonObject = {"list": [{"name": f"{number}"} for number in range(count)]}
    return {"list": [{"name": "none"}]}, live, [("list", "0", f"{number}") for number in range(count // 16)]


def ignored_items(count: int) -> tuple[JsonObject, list[tuple[str, ...]]]:
    """Return an object with many items, and pointers to all of them."""
    return {"list": [{"a": number} for number in range(count // 2)]}, [("list", f"{n}") for n in range(count // 2)]


def containers_with_arguments(count: int) -> tuple[JsonObject, JsonObject]:
    """Return an object with a renamed container that has more arguments, and what an apply would make of it."""
    arguments: list[Json] = [f"--{number}" for number in range(count // 2)]
    more: list[Json] = [*arguments, *(f"--more-{number}" for number in range(count // 2))]
    fields: JsonObject = {"f:spec": {"f:containers": {'k:{"name":"renamed"}': {".": {}}}}}
    metadata: JsonObject = {"managedFields": [{"manager": "jane", "operation": "Update", "fieldsV1": fields}]}
    renamed: JsonObject = {"name": "renamed", "args": more}
    live: JsonObject = {"metadata": metadata, "spec": {"containers": [renamed]}}
    return live, {**live, "spec": {"containers": [renamed, {"name": "main", "args": arguments}]}}


def find_renamed_container(states: tuple[JsonObject, JsonObject]) -> None:
    live, desired = states
    find_replaced(live, {"spec": {"containers": [{"name": "main"}]}}, desired=desired)


def data_of_many_managers(count: int) -> JsonObject:
    """Return a ConfigMap with many keys of helm, and many other managers of one of them."""
    fields: JsonObject = {"f:data": {f"f:{number}": {} for number in range(count // 4)}}
    entries: list[Json] = [{"manager": "helm", "operation": "Apply", "fieldsV1": fields}]
    for number in range(count // 16):
        entries.append({"manager": f"m{number}", "operation": "Apply", "fieldsV1": {"f:data": {"f:1": {}}}})
    return {"metadata": {"managedFields": entries}, "data": {f"{number}": "" for number in range(count // 4)}}


STRUCTURES: Final[dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]]] = {
    "masks of values": (lambda n: members(n // 16, lambda _: {"password": "s3cr3t"}), redact),
    "texts of secrets": (lambda n: members(n // 16, lambda k: {"password": f"s3cr3t-{k}"}), secret_texts),
    "masks that come back in a list of names": (lambda n: named_items(n // 32), unmask_list),
    "masks that come back in a list of equals": (lambda n: same_items(n // 32), unmask_list),
    "masks that come back in a text": (
        lambda n: "password: a\n" * (n // 12),
        lambda text: unmask({"a": mask_secrets(text, lambda _: MASK) + "x: 1\n"}, {"a": text}),
    ),
    "merged values": (lambda n: members(n // 8, lambda k: k), lambda values: merge_values(values, values)),
    "merge patch": (lambda n: members(n // 8, lambda _: None), lambda values: apply_merge_patch(values, values)),
    "digest of values": (lambda n: members(n // 8, lambda k: k), values_digest),
    "dumped values": (lambda n: members(n // 8, lambda _: "\u2028"), dump_values),
    "values as text": (lambda n: members(n // 8, lambda k: f"1e{k}\n"), dump_values_text),
    "unknown fields of a form": (
        lambda n: json.dumps(members(n // 8, lambda k: k)),
        form_of,
    ),
    "fields of a form": (lambda n: members(n // 8, lambda k: k), read_namespace),
    "fields of many managers": (data_of_many_managers, pack_helm_fields),
    "replaced items beside many managers": (
        data_of_many_managers,
        lambda live: find_replaced(live, {"data": live["data"]}, desired=live),
    ),
    "live values of an item": (kept_fields_of_an_item, lambda states: with_live_values(*states)),
    "differences that are ignored": (
        ignored_items,
        lambda states: find_differences(states[0], {"list": []}, ignored=states[1]),
    ),
    "fields of items beside long keys": (items_beside_long_keys, lambda states: manages_all(*states)),
    "fields of items with wide keys": (items_with_wide_keys, lambda states: manages_all(*states)),
    "replaced items of lists": (containers_with_arguments, find_renamed_container),
    "listed items": (lambda n: ["a"] * n, lambda found: format_list(found, total=len(found))),
    "secrets in a text": (lambda n: "a" * n, lambda text: scrub(text, ("aaaa", "b" * 100, text[: len(text) // 2]))),
    "files of a chart": (lambda n: chart_with_files(n // 64), lambda data: inspect_archive(data, limits=LIMITS)),
    "links of a chart": (lambda n: tar_of_links(n // 64), lambda data: inspect_archive(data, limits=LIMITS)),
    "gzip members of a chart": (
        lambda n: gzip.compress(b"") * (n // 16),
        lambda data: inspect_archive(data, limits=LIMITS),
    ),
}
"""Functions over other input: what makes input of a size, and the function."""


@pytest.mark.parametrize("name", TEXT_PARSERS)
def test_a_parser_takes_linear_time(name: str) -> None:
    parse, units = TEXT_PARSERS[name]
    for unit in units:
        assert_linear(parse, repeat("", unit), what=f"{name} of {unit!r} again and again")


@pytest.mark.parametrize("name", STRUCTURES)
def test_work_on_a_structure_takes_linear_time(name: str) -> None:
    make, work = STRUCTURES[name]
    assert_linear(work, make, what=name)
