"""Values as text: comments, order and 64-bit integers survive; errors and warnings name lines; layers are shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient
from tests.integration.gateway.test_releases import registered, report
from tests.support.apiserver import ARCHIVES, SECRETS, XAPPS, JsonObject
from tests.support.charts import archive_name, chart_archive
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart
from xapp_operator.domain.masking.redaction import MASK

pytestmark = pytest.mark.integration

CONFIGMAPS: Final = "/api/v1/namespaces/{}/configmaps"
YAML: Final = "application/yaml"
KEPT: Final = "xapp-operator.io/values-text"
LARGEST: Final = 9223372036854775807
SMALLEST: Final = -9223372036854775808
DEFAULTS: Final = "# of the chart\nreplicas: 1 # pods\ngreeting: hello\nglobal:\n  kubeIp: none\n"
SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "ports": {"type": "array", "items": {"type": "integer"}}},
}
TEMPLATE: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
CHART: Final = chart_archive(
    {"values.yaml": DEFAULTS, "values.schema.json": json.dumps(SCHEMA), "templates/configmap.yaml": TEMPLATE}
)
TEXT: Final = (
    "# mine, password: of-the-owner\n"
    "zeta: 1   # first although last\n"
    "\n"
    "token: of-the-owner\n"
    f"cell: {LARGEST}\n"
    f"other: {SMALLEST}\n"
    "alpha: 'two' # of-the-owner\n"
)
SHOWN: Final = TEXT.replace("token: of-the-owner", f'token: "{MASK}"').replace("of-the-owner", MASK)
VALUES: Final[JsonObject] = {
    "zeta": 1,
    "token": "of-the-owner",
    "cell": LARGEST,
    "other": SMALLEST,
    "alpha": "two",
}


@pytest.fixture
def deployed(client: GatewayClient) -> GatewayClient:
    client.deploy(CHART, values=TEXT)
    return client


def path(client: GatewayClient, name: str = XAPP_NAME) -> str:
    return f"/api/xapps/{client.namespace}/{name}/config"


def put(client: GatewayClient, text: str | bytes, *, media: str = YAML, **query: str) -> httpx.Response:
    return client.http.put(path(client), content=text, headers={"Content-Type": media}, params=query)


def text_of(client: GatewayClient, name: str = XAPP_NAME) -> str:
    answer = client.http.get(path(client, name), headers={"Accept": YAML})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/yaml; charset=utf-8")
    assert "Accept" in answer.headers["Vary"]
    return answer.text


def stored(client: GatewayClient) -> tuple[JsonObject, str | None]:
    xapp = client.xapp()
    return xapp["spec"]["values"], xapp["metadata"].get("annotations", {}).get(KEPT)


def layers_of(client: GatewayClient) -> dict[str, str | None]:
    return {each["from"]: each["text"] for each in client.http.get(path(client)).json()["layers"]}


def test_a_values_file_is_shown_as_it_was_written_with_secrets_masked(deployed: GatewayClient) -> None:
    assert stored(deployed) == (VALUES, SHOWN)
    assert text_of(deployed) == SHOWN
    assert layers_of(deployed)["yours"] == SHOWN


@pytest.mark.parametrize("media", [YAML, "text/yaml; charset=utf-8", "application/x-yaml"])
def test_the_shown_text_can_be_edited_and_sent_back(deployed: GatewayClient, media: str) -> None:
    edited = SHOWN.replace("'two'", "three").replace("# mine", "# still mine")
    answer = put(deployed, edited, media=media)
    assert answer.status_code == 202, answer.text
    assert stored(deployed) == ({**VALUES, "alpha": "three"}, edited)
    assert text_of(deployed) == edited
    assert deployed.xapp()["metadata"]["generation"] == 2


def test_the_lines_of_a_form_are_kept_as_they_were_typed(client: GatewayClient) -> None:
    """Browsers end each of them with CRLF."""
    client.deploy(CHART, values=TEXT.replace("\n", "\r\n"))
    assert stored(client) == (VALUES, SHOWN)


def test_a_change_of_comments_only_is_no_upgrade(deployed: GatewayClient) -> None:
    edited = f"{SHOWN}# another comment\n"
    assert put(deployed, edited).status_code == 202
    assert text_of(deployed) == edited
    assert deployed.xapp()["metadata"]["generation"] == 1


@pytest.mark.parametrize("number", [LARGEST, SMALLEST, 2**53 + 1, LARGEST - 1])
def test_64_bit_integers_keep_their_digits(client: GatewayClient, number: int) -> None:
    client.deploy(CHART, values="a: 1\n")
    sends: list[Callable[[], httpx.Response]] = [
        lambda: put(client, f"a: {number}\n"),
        lambda: client.http.put(path(client), content=f'{{"values": {{"a": {number}}}}}'),
        lambda: client.http.patch(path(client), content=f'{{"a": {number}}}'),
    ]
    for send in sends:
        assert put(client, "a: 2\n").status_code == 202
        assert send().status_code == 202
        assert stored(client)[0] == {"a": number}
        assert text_of(client) == f"a: {number}\n"
        assert json.loads(client.http.get(path(client)).content)["values"] == {"a": number}


def test_a_number_that_differs_only_beyond_a_float_is_a_change(client: GatewayClient) -> None:
    client.deploy(CHART, values=f"a: {LARGEST}\n")
    assert put(client, f"a: {LARGEST - 1}\n").status_code == 202
    assert stored(client)[0] == {"a": LARGEST - 1}
    assert client.http.patch(path(client), content=f'{{"a": {LARGEST - 2}}}').status_code == 202
    assert stored(client)[0] == {"a": LARGEST - 2}


@pytest.mark.parametrize("number", [LARGEST + 1, SMALLEST - 1, 2**64 - 1, 10**30])
def test_a_whole_number_that_kubernetes_cannot_hold_is_refused_with_its_line(
    deployed: GatewayClient, number: int
) -> None:
    refused = put(deployed, f"# one\na:\n  - b\n  - {number}\n")
    assert refused.status_code == 422, refused.text
    (error,) = refused.json()["errors"]
    assert (error["field"], error["line"], error["column"]) == ("values", 4, 5)
    assert "64 bits" in error["message"]
    as_json = deployed.http.put(path(deployed), content=f'{{"values": {{"a": {number}}}}}')
    assert (as_json.status_code, "64 bits" in as_json.text) == (422, True)
    form = deployed.deployment_form(xAppName="other")
    part = deployed.post_deployment(form, file=CHART, values=f"a: {number}\n")
    assert (part.status_code, part.json()["errors"][0]["line"]) == (422, 1)
    assert stored(deployed) == (VALUES, SHOWN)


@pytest.mark.parametrize(
    ("text", "field", "line", "column"),
    [
        ("a: 1\nb: [\n", "values", 3, 1),
        ("a: 1\na: 2\n", "values", 2, 1),
        ("a: 1\nreplicas: many\n", "values.replicas", 2, 1),
        ("# x\nports:\n  - 1\n  - two\n", "values.ports[1]", 4, 5),
        (f"a: 1\nb:\n  c: {MASK}\n", "values.b.c", 3, 3),
        ('a: 1\nb: "\\u0007"\n', "values.b", 2, 1),
        ("a: \x07\n", "values", 1, 1),
        (b"a: 1\nb: \xff\n", "values", 2, 1),
    ],
)
def test_an_error_about_values_has_line_and_column(
    deployed: GatewayClient, text: str | bytes, field: str, line: int, column: int
) -> None:
    sends: list[Callable[[], httpx.Response]] = [
        lambda: put(deployed, text),
        lambda: put(deployed, text, dryRun="true"),
        lambda: deployed.put_deployment(deployed.deployment_form(), values=text),
    ]
    for send in sends:
        refused = send()
        assert refused.status_code == 422, refused.text
        error = refused.json()["errors"][0]
        assert (error["field"], error["line"], error["column"]) == (field, line, column)
    as_json: Any = deployed.http.put(path(deployed), json={"values": {"replicas": "many"}})
    assert "line" not in as_json.json()["errors"][0], "there is no text"


def test_a_dry_run_warns_of_each_number_that_helm_rounds(deployed: GatewayClient) -> None:
    text = f"even: 9007199254740994\na:\n  - {LARGEST}\n  - '{LARGEST}'\nb: {SMALLEST}\nc: 9007199254740993\n"
    rounded = [each for each in put(deployed, text, dryRun="true").json()["warnings"] if "rounds" in each]
    assert [each.partition(" is a")[0] for each in rounded] == ["line 3: values.a[0]", "line 6: values.c"]
    assert str(LARGEST) not in str(rounded)
    answer = deployed.http.patch(path(deployed), content=f'{{"c": {LARGEST}}}', params={"dryRun": "true"})
    assert any(each.startswith("values.c is a number that helm rounds") for each in answer.json()["warnings"])
    form = deployed.deployment_form(xAppName="other")
    preview = deployed.post_deployment(form, file=CHART, values=f"a: {LARGEST}\n", dryRun="true")
    assert any(each.startswith("line 1: values.a is a number") for each in preview.json()["warnings"])


def test_values_that_others_changed_are_shown_without_the_old_text(deployed: GatewayClient) -> None:
    deployed.api.patch(f"{XAPPS.format(deployed.namespace)}/{XAPP_NAME}", {"spec": {"values": {"zeta": 5}}})
    assert text_of(deployed).splitlines()[0] == "alpha: two"
    assert "zeta: 5" in text_of(deployed)
    assert layers_of(deployed)["yours"] == text_of(deployed)


@pytest.mark.parametrize("forged", ["a: [", "token: of-the-owner\n", f"a: 1\nb: {MASK}\n", "\x1b[31m", "a: &a [*a]\n"])
def test_a_text_that_does_not_say_what_the_values_say_is_not_shown(deployed: GatewayClient, forged: str) -> None:
    deployed.api.patch(f"{XAPPS.format(deployed.namespace)}/{XAPP_NAME}", {"metadata": {"annotations": {KEPT: forged}}})
    assert text_of(deployed) == (f"alpha: two\ncell: {LARGEST}\nother: {SMALLEST}\ntoken: {MASK}\nzeta: 1\n")


def test_a_patch_and_json_drop_the_text_and_an_upgrade_without_values_keeps_it(deployed: GatewayClient) -> None:
    assert deployed.put_deployment(deployed.deployment_form(owner="joe")).status_code == 202
    assert stored(deployed) == (VALUES, SHOWN)
    assert deployed.http.patch(path(deployed), content='{"zeta": 1}').status_code == 202
    assert stored(deployed) == (VALUES, SHOWN), "nothing has changed"
    assert deployed.http.patch(path(deployed), content='{"zeta": 2}').status_code == 202
    assert stored(deployed) == ({**VALUES, "zeta": 2}, None)


def test_a_long_text_is_not_kept_and_a_dry_run_says_so(deployed: GatewayClient) -> None:
    text = "# " + "x" * 65 * 1024 + "\na: 1\n"
    assert any("not kept" in each for each in put(deployed, text, dryRun="true").json()["warnings"])
    assert put(deployed, text).status_code == 202
    assert stored(deployed) == ({"a": 1}, None)
    assert text_of(deployed) == "a: 1\n"


def test_a_text_beyond_the_limit_is_refused(deployed: GatewayClient) -> None:
    refused = put(deployed, "# " + "x" * 1024 * 1024)
    assert refused.status_code == 413, refused.text


def test_values_can_be_emptied(deployed: GatewayClient) -> None:
    assert not any("not kept" in each for each in put(deployed, "{}\n", dryRun="true").json()["warnings"])
    assert put(deployed, "{}\n").status_code == 202
    assert (stored(deployed), text_of(deployed)) == (({}, None), "")


def test_comments_without_values_can_be_edited(client: GatewayClient) -> None:
    client.deploy(CHART, values="# none yet\n")
    assert put(client, "# still none\n").status_code == 202
    assert (stored(client)[0], text_of(client)) == ({}, "# still none\n")


@pytest.mark.parametrize("text", ["", " \n\n", "# zeta: 1\n", "---\n# none\n", "null\n"])
def test_a_body_without_values_does_not_remove_the_values(deployed: GatewayClient, text: str) -> None:
    for query in ({}, {"dryRun": "true"}):
        refused = put(deployed, text, **query)
        assert refused.status_code == 422, refused.text
        (error,) = refused.json()["errors"]
        assert (error["field"], "send {} to remove all values" in error["message"]) == ("values", True)
    assert stored(deployed) == (VALUES, SHOWN)


def test_json_is_the_answer_unless_yaml_is_preferred(deployed: GatewayClient) -> None:
    for accept in ("*/*", "application/json, application/yaml", "application/yaml;q=0.1, application/json", "nonsense"):
        answer = deployed.http.get(path(deployed), headers={"Accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    answer = deployed.http.get(path(deployed), headers={"Accept": "text/yaml, */*"})
    assert answer.text == SHOWN
    again = deployed.http.get(path(deployed), headers={"Accept": YAML, "If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_the_text_of_a_labelled_xapp_is_what_helm_was_given(client: GatewayClient, helm_user: HelmUser) -> None:
    helm_user.install("by-hand", drax_chart(), greeting="hi")
    registered(client, "by-hand")
    assert text_of(client, "by-hand") == "greeting: hi\n"


def values_from(client: GatewayClient) -> list[JsonObject]:
    secret = base64.b64encode(b"# hidden comment\ngreeting: from-the-secret\nreplicas: 7\nonly: {here: [x]}\n").decode()
    client.api.create(SECRETS.format(client.namespace), {"metadata": {"name": "s"}, "data": {"v": secret}})
    shown = "# shared\nreplicas: 3\napiToken: of-the-owner\n"
    client.api.create(CONFIGMAPS.format(client.namespace), {"metadata": {"name": "c"}, "data": {"v": shown}})
    return [{"kind": "ConfigMap", "name": "c", "key": "v"}, {"kind": "Secret", "name": "s", "key": "v"}]


def test_the_layers_say_where_values_come_from(client: GatewayClient, caller_factory: CallerFactory) -> None:
    client.deploy(CHART, values="# mine\ngreeting: hi\n", valuesFrom=values_from(client))
    found = client.http.get(path(client)).json()
    assert [each["from"] for each in found["layers"]] == ["chart", "address", "ConfigMap/c", "Secret/s", "yours"]
    layers = layers_of(client)
    assert layers["chart"] == DEFAULTS
    assert layers["ConfigMap/c"] == f'# shared\nreplicas: 3\napiToken: "{MASK}"\n'
    assert layers["yours"] == "# mine\ngreeting: hi\n"
    address = found["effective"]["global"]["kubeIp"]
    assert layers["address"] == f"global:\n  kubeIp: {address}\n"
    assert found["effective"] == {
        "replicas": MASK,
        "greeting": "hi",
        "global": {"kubeIp": address},
        "apiToken": MASK,
        "only": {"here": [MASK]},
    }
    assert "hidden" not in (layers["Secret/s"] or "")
    assert "from-the-secret" not in json.dumps(found)
    with caller_factory.client_with_token(caller_factory.create_account("viewer", "view")) as viewer:
        seen = viewer.http.get(path(viewer)).json()
        assert layers_of(viewer) == {**layers, "Secret/s": None, "ConfigMap/c": layers["ConfigMap/c"]}
        assert seen["effective"] is None


def test_without_its_archive_the_defaults_come_from_the_release(client: GatewayClient, helm_user: HelmUser) -> None:
    client.deploy(CHART, values="greeting: hi\n")
    helm_user.install(XAPP_NAME, CHART)
    report(client, 1)
    archive = f"{ARCHIVES.format(client.namespace)}/{archive_name(CHART)}"
    client.api.delete(archive)
    layers = layers_of(client)
    assert (layers["chart"] or "").splitlines()[0] == "global:"
    assert client.http.get(path(client)).json()["effective"]["replicas"] == 1


def test_a_values_file_that_is_not_valid_is_an_unknown_layer(client: GatewayClient) -> None:
    client.api.create(CONFIGMAPS.format(client.namespace), {"metadata": {"name": "c"}, "data": {"v": "a: 1\n"}})
    client.deploy(CHART, valuesFrom=[{"kind": "ConfigMap", "name": "c", "key": "v"}])
    client.api.patch(f"{CONFIGMAPS.format(client.namespace)}/c", {"data": {"v": "a: ["}})
    assert layers_of(client)["ConfigMap/c"] is None
    assert client.http.get(path(client)).json()["effective"] is None
