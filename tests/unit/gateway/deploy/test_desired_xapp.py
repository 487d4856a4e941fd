"""What an upgrade writes back of the XApp that it read."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.domain.bounded_json import loads_bounded
from xapp_operator.domain.chart_values.yaml_values import MAX_DEPTH
from xapp_operator.errors import ValuesInvalid
from xapp_operator.gateway.deploy.desired_xapp import desired_upgrade
from xapp_operator.gateway.deploy.forms import validate_form
from xapp_operator.gateway.deploy.submission import Submission
from xapp_operator.gateway.deploy.values_input import SentValues

FORM: JsonObject = {
    "xAppName": "hello",
    "organization": "O-RAN Alliance",
    "team": "ran",
    "version": "0.2.1",
    "owner": "jane",
    "method": "Remote Chart Repository",
    "chartName": "hello",
    "url": "https://charts.example.com",
    "repoName": "acme",
    "namespace": "ric-xapps",
}


def xapp_with_values(levels: int) -> Any:
    spec = orjson.dumps(FORM)[:-1] + b',"values":' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"
    return loads_bounded(b'{"metadata":{"name":"hello"},"spec":' + spec + b"}")


def submission(values: SentValues | None) -> Submission:
    return Submission(validate_form({**FORM, "owner": "joe"}, settings=Settings()), values, None)


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 600, 1_500])
def test_values_that_were_not_read_in_full_are_not_written_back(levels: int) -> None:
    current = xapp_with_values(levels)
    with pytest.raises(ValuesInvalid, match="more than 100 levels deep"):
        desired_upgrade(current, submission(None))
    assert desired_upgrade(current, submission(SentValues({"b": 2}))).spec["values"] == {"b": 2}


def test_values_that_were_read_in_full_are_kept() -> None:
    current = xapp_with_values(MAX_DEPTH)
    spec = desired_upgrade(current, submission(None)).spec
    assert (spec["owner"], spec["values"]) == ("joe", current["spec"]["values"])
