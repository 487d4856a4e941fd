"""A wrong command line: what was refused, the rule, and what to write instead."""

from __future__ import annotations

import pytest

from tests.support.stand_in_gateway import Reply, StandInGateway, page
from tests.unit.cli.conftest import Xapp

CASES = [
    ("-n ns list", "the option -n stands before the command: options follow it, as in `xapp list -n …`"),
    ("--no-color config get a", "the option --no-color stands before the command: options follow it, as in"),
    ("config -n ns get a", "the option -n stands before the command: options follow it, as in `xapp config get -n …`"),
    ("--version", "`xapp` has no option --version: write `xapp version`"),
    ("--nothing", "`xapp` has no option --nothing: options follow a command"),
    ("listt", "`xapp` has no command 'listt': did you mean list? See `xapp --help`"),
    ("config nothing", "`xapp config` has no command 'nothing': see `xapp config --help`"),
    ("list --nothing", "`xapp list` has no option --nothing: see `xapp list --help`"),
    ("list --namespac=a", "`xapp list` has no option --namespac: did you mean --namespace"),
    ("list --limit two", "--limit cannot be 'two': write a whole number of at least 1"),
    ("list --limit 0", "--limit cannot be '0': write a whole number of at least 1"),
    ("retry a --timeout nan", "--timeout cannot be 'nan': write a number of at least 1 and at most 604800"),
    ("retry a --timeout inf", "--timeout cannot be 'inf': write a number of at least 1 and at most 604800"),
    ("list -o xml", "--output cannot be 'xml': write one of table, wide, json, yaml, name"),
    ("completion tcsh", "SHELL cannot be 'tcsh': write one of bash, zsh, fish"),
    ("get", "NAME is missing: write `xapp get NAME`"),
    ("call a GET", "PATH is missing: write `xapp call NAME METHOD PATH`"),
    ("rollback a two", "REVISION cannot be 'two': write a whole number of at least 1"),
    ("rollback a 1 2", "`xapp rollback` does not take that many words: write `xapp rollback NAME [REVISION]`"),
    ("list -n", "the option -n needs a value: write `-n NAMESPACE`"),
    ("list --quiet=yes", "the option --quiet takes no value: leave out '=' and what follows it"),
    ("list -A=true", "an option that takes no value has one behind '=': leave it out"),
]


@pytest.mark.parametrize(("words", "message"), CASES)
def test_a_usage_error_says_what_to_write(xapp: Xapp, words: str, message: str) -> None:
    done = xapp(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {message}")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("words", ["login http://127.0.0.1:1 sesame", "list --tokne sesame", "--token sesame list"])
def test_a_usage_error_shows_no_token(xapp: Xapp, words: str) -> None:
    done = xapp(*words.split())
    assert done.code == 2
    assert "sesame" not in done.err


def test_a_usage_error_is_in_the_name_of_the_plugin(monkeypatch: pytest.MonkeyPatch, xapp: Xapp) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/kubectl-xapp"])
    assert "write `kubectl xapp get NAME`" in xapp("get").err


def test_short_options_take_an_equals_sign_as_those_of_kubectl(gateway: StandInGateway, xapp: Xapp) -> None:
    gateway.reply("/api/xapps", Reply(page({"namespace": "ric", "name": "a"})))
    done = xapp("list", "-n=ric", "-o=name", "--gateway", gateway.url)
    assert (done.code, done.out) == (0, "ric/a\n")
    assert gateway.requests[0].query["namespace"] == ["ric"]


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("get", "Usage: xapp get [OPTIONS] NAME\n"),
        ("rollback", "Usage: xapp rollback [OPTIONS] NAME [REVISION]\n"),
        ("login", "Usage: xapp login [OPTIONS] [URL]\n"),
        ("delete", "Usage: xapp delete [OPTIONS] [NAME...]\n"),
        ("config set", "Usage: xapp config set [OPTIONS] NAME [KEY=VALUE...]\n"),
    ],
)
def test_usage_lines_bracket_what_is_optional(xapp: Xapp, command: str, usage: str) -> None:
    assert usage in xapp(*command.split(), "--help").out
