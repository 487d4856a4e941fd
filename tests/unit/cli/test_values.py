"""Values on the command line mean what they mean to helm, and a change of one leaves the rest of a text alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway
from tests.unit.cli.conftest import Xapp
from xapp_operator.api.json import Json, JsonObject
from xapp_operator.cli.errors import CliError
from xapp_operator.cli.values_input import parse_settings, values_text
from xapp_operator.cli.values_patch import patch_text

TEXT = """\
# mine
replicas: 2 # two
log:
  level: "info"   # or debug
  file: null
list: [1, 2]
big: 9007199254740993
"""


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("a=1", 1),
        ("a=9007199254740993", 9007199254740993),
        ("a=true", True),
        ("a=null", None),
        ("a=", ""),
        ("a=text", "text"),
        ("a=a # b", "a # b"),
        ("a=22:22", "22:22"),
        ("a=2020-01-01", "2020-01-01"),
        ("a=1=2", "1=2"),
        ("a=[1, b]", [1, "b"]),
        ("a={b: 1}", {"b": 1}),
    ],
)
def test_a_value_is_read_as_in_a_values_file(setting: str, value: Json) -> None:
    assert parse_settings([setting], []) == {"a": value}


def test_dots_nest_and_strings_stay_strings() -> None:
    assert parse_settings(["a.b.c=1", r"a.d\.e=2"], ["a.b.f=3"]) == {"a": {"b": {"c": 1, "f": "3"}, "d.e": 2}}


@pytest.mark.parametrize("setting", ["a", "=1", "a..b=1", "a[0]=1", "a={", "a=[1"])
def test_what_is_no_setting_is_refused(setting: str) -> None:
    with pytest.raises(CliError):
        parse_settings([setting], [])


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"replicas": 3}, TEXT.replace("replicas: 2", "replicas: 3")),
        ({"log": {"level": "debug"}}, TEXT.replace('"info"', "debug")),
        ({"log": {"level": "on"}}, TEXT.replace('"info"', '"on"')),
        ({"log": {"file": "/tmp/x"}}, TEXT.replace("null", "/tmp/x")),
        ({"added": {"a": 1}}, f"{TEXT}added:\n  a: 1\n"),
        (
            {"replicas": 1, "big": 2, "new": True},
            TEXT.replace("2 # two", "1 # two").replace("9007199254740993", "2") + "new: true\n",
        ),
    ],
)
def test_a_change_leaves_the_rest_of_the_text(patch: JsonObject, expected: str) -> None:
    assert patch_text(TEXT, patch) == expected


@pytest.mark.parametrize("patch", [{"replicas": None}, {"log": {"new": 1}}, {"list": [3]}, {"log": 1}])
def test_what_cannot_be_done_in_the_text_is_left_to_the_gateway(patch: JsonObject) -> None:
    assert patch_text(TEXT, patch) is None


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x\n", "{a: 1}", "- 1\n", "a: 1\na: 2\n", "a: |\n  text\n", "a: [\n"])
def test_a_text_with_other_means_is_never_broken(text: str) -> None:
    changed = patch_text(text, {"a": 5})
    assert changed in {None, "{a: 5}"}


def test_config_set_sends_the_text_if_it_has_comments(gateway: StandInGateway, xapp: Xapp) -> None:
    path = "/api/xapps/n/a"
    gateway.reply(f"{path}/spec", Reply({"uid": "u", "generation": 3}))
    record = Reply({"name": "a", "namespace": "n"}, status=202)
    gateway.reply(f"{path}/config", Reply(TEXT.encode()), record)
    gateway.reply(path, record)
    assert xapp("config", "set", "n/a", "replicas=3", "--gateway", gateway.url).code == 0
    assert gateway.requests[-1].method == "PUT"
    assert gateway.requests[-1].body.decode() == TEXT.replace("replicas: 2", "replicas: 3")
    assert gateway.requests[-1].headers["If-Match"] == '"u/3"'
    gateway.reply(f"{path}/config", Reply(b"replicas: 2\n"), record)
    assert xapp("config", "set", "n/a", "replicas=3", "--gateway", gateway.url).code == 0
    assert (gateway.requests[-1].method, gateway.requests[-1].body) == ("PATCH", b'{"replicas": 3}')


def test_config_set_takes_what_deploy_takes(gateway: StandInGateway, xapp: Xapp) -> None:
    path = "/api/xapps/n/a"
    gateway.reply(f"{path}/spec", Reply({"uid": "u", "generation": 3}))
    gateway.reply(f"{path}/config", Reply(b"replicas: 2\n"), Reply({"name": "a", "namespace": "n"}, status=202))
    gateway.reply(path, Reply({"name": "a", "namespace": "n"}))
    options = ("log.level=debug", "--set", "replicas=3", "--set", "old=null", "--set-string", "port=80")
    assert xapp("config", "set", "n/a", *options, "--gateway", gateway.url).code == 0
    patch = {"log": {"level": "debug"}, "replicas": 3, "old": None, "port": "80"}
    assert (gateway.requests[-1].method, json.loads(gateway.requests[-1].body)) == ("PATCH", patch)


def test_files_without_values_are_sent_as_an_empty_object(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# none\n")
    assert values_text([str(tmp_path / "empty.yaml")] * 2, [], []) == b"{}\n"
