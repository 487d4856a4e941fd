"""Texts of others cannot control a terminal."""

from __future__ import annotations

import json

import pytest
import yaml
from rich.console import Console

from xapp_operator.api.json import JsonObject
from xapp_operator.cli.output.documents import to_json, to_yaml
from xapp_operator.cli.output.tables import Cell, Column, Field, Row, layout_fields, layout_table
from xapp_operator.cli.output.visible_text import is_harmless, on_lines, on_one_line

ATTACKS = ["\x1b[2J", "\x1b]0;title\x07", "a\rb", "\x9b31m", "a\u202eb", "\u2066x", "\x08", "\x7f", "\ud800", "\ufeff"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_control_character_is_left(attack: str) -> None:
    assert on_one_line(attack).isprintable()
    assert is_harmless(on_lines(attack))


def test_lines_and_tabs_stay_in_texts_of_several_lines() -> None:
    assert on_lines("a\tb\r\nc\n") == "a\tb\nc\n"
    assert on_one_line("a\tb\nc") == "a b c"
    assert on_one_line("größe — 大") == "größe — 大"


@pytest.mark.parametrize("attack", ATTACKS)
def test_documents_have_the_same_data_and_no_control_characters(attack: str) -> None:
    record: JsonObject = {"message": attack, "big": 9223372036854775807, "list": [None, True, 1.5]}
    assert json.loads(to_json([record])) == [record]
    assert is_harmless(to_json([record]))
    assert is_harmless(to_yaml(record))
    if "\ud800" not in attack:
        assert yaml.safe_load(to_yaml(record)) == record
        assert yaml.safe_load(to_yaml([record, record])) == [record, record]


def test_yaml_keeps_texts_that_look_like_something_else() -> None:
    record: JsonObject = {"a": "1e3", "b": "on", "c": "2020-01-01", "d": "line\nline\n", "e": ""}
    assert yaml.safe_load(to_yaml([record])) == [record]


def test_a_table_cuts_flexible_columns_to_the_width() -> None:
    columns = (Column("NAME"), Column("MESSAGE", flexible=True))
    rows: list[Row] = [("acme-ran-hello", "x" * 200), ("b", Cell("大" * 60, "red"))]
    lines = layout_table(columns, rows, width=60)
    assert all(line.cell_len <= 60 for line in lines)
    assert lines[1].plain.startswith("acme-ran-hello  xxx")
    assert lines[1].plain.endswith("…")


def test_columns_of_text_are_left_out_before_names_are_cut() -> None:
    columns = (Column("NAME"), Column("MESSAGE", flexible=True), Column("TEAM", flexible=True), Column("AGE"))
    lines = layout_table(columns, [("acme-ran-hello-world", "m" * 50, "t" * 30, "5m")], width=45)
    assert [line.plain for line in lines] == [
        "NAME                  MESSAGE             AGE",
        f"acme-ran-hello-world  {'m' * 17}…  5m",
    ]
    assert lines[0].plain.split() == ["NAME", "MESSAGE", "AGE"]
    narrow = layout_table(columns, [("acme-ran-hello-world", "m" * 50, "t" * 30, "5m")], width=30)
    assert narrow[1].plain == "acme-ran-hello-world  5m"


def test_other_columns_are_left_out_before_names_are_cut() -> None:
    columns = (
        Column("NAMESPACE", names=True),
        Column("NAME", names=True),
        Column("PHASE"),
        Column("AGE"),
        Column("MESSAGE", flexible=True),
    )
    rows: list[Row] = [
        ("ric-xapps", "acme-ran-hello-world", "Deployed", "5m", "m" * 50),
        ("ric-xapps", "acme-ran-kpi-store", "Failed", "5m", ""),
    ]
    lines = layout_table(columns, rows, width=44)
    assert [line.plain.rstrip() for line in lines] == [
        "NAMESPACE  NAME                  PHASE",
        "ric-xapps  acme-ran-hello-world  Deployed",
        "ric-xapps  acme-ran-kpi-store    Failed",
    ]
    narrow = layout_table(columns, rows, width=30)
    assert narrow[0].plain.split() == ["NAMESPACE", "NAME"]
    assert all(line.cell_len <= 30 for line in narrow)


def test_a_field_is_wrapped_and_not_cut() -> None:
    message = "the pod hello cannot start: the image example.com/hello:1 is not there"
    rows: list[Field] = [("Phase", Cell("Failed", "red")), ("Message", message), ("Digest", "a" * 50)]
    console = Console()
    lines = [line.plain.rstrip() for line in layout_fields(rows, console=console, width=40)]
    assert lines == [
        "FIELD    VALUE",
        "Phase    Failed",
        "Message  the pod hello cannot start: the",
        "         image example.com/hello:1 is",
        "         not there",
        f"Digest   {'a' * 31}",
        f"         {'a' * 19}",
    ]
    assert layout_fields(rows, console=console, width=None)[2].plain == f"Message  {message}"


def test_a_table_without_a_terminal_is_not_cut() -> None:
    lines = layout_table((Column("NAME"), Column("MESSAGE", flexible=True)), [("a", "x" * 500)], width=None)
    assert "x" * 500 in lines[1].plain


def test_a_table_fits_a_very_narrow_terminal() -> None:
    columns = tuple(Column(f"COLUMN{index}") for index in range(4))
    lines = layout_table(columns, [("a" * 40, "b" * 40, "c" * 40, "d" * 40)], width=40)
    assert all(line.cell_len <= 40 for line in lines)


def test_a_table_reads_no_markup() -> None:
    lines = layout_table((Column("NAME"),), [("[red]x[/red]",)], width=None)
    assert lines[1].plain == "[red]x[/red]"
