"""The setting of the recognised label sets, and the errors for invalid ones."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from xapp_operator.config.settings import Settings
from xapp_operator.label_sets import DRAX_LABEL_SET, LabelSet


def parse_label_sets(text: str) -> tuple[LabelSet, ...]:
    return Settings(label_sets=text).label_sets


def test_the_drax_set_is_on_by_default() -> None:
    assert Settings().label_sets == (DRAX_LABEL_SET,)
    assert parse_label_sets(f"[{DRAX_LABEL_SET}]") == (DRAX_LABEL_SET,)


@pytest.mark.parametrize("text", ["", "  ", "[]"])
def test_an_empty_setting_leaves_only_the_operators_labels(text: str) -> None:
    assert parse_label_sets(text) == ()


def test_a_selector_may_have_several_terms() -> None:
    (found,) = parse_label_sets('[{"selector": "acme.io/kind=xapp,live,acme.io/empty="}]')
    assert found.required_labels == (("acme.io/kind", "xapp"), ("live", None), ("acme.io/empty", ""))
    assert (found.name, found.component) == ("", "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("drax/role=xapp", "it is not JSON. Write a list such as"),
        ("[" * 10, "it is not JSON"),
        ('{"selector": "a"}', "it must be a list of at most 8 sets"),
        (f"[{','.join(['{}'] * 9)}]", "at most 8 sets"),
        ('["a"]', "set 1 must have a selector"),
        ('[{"selector": "a"}, {"name": "b"}]', "set 2 must have a selector"),
        ('[{"selector": ""}]', "set 1 must have a selector"),
        ('[{"selector": "a", "names": "b"}]', "may have name and component"),
        ('[{"selector": "a", "name": 1}]', "set 1: selector, name and component must be strings"),
        ('[{"selector": ["a"]}]', "set 1: selector, name and component must be strings"),
        ('[{"selector": "a in (b, c)"}]', "its selector must be a comma-separated list of key=value or key"),
        ('[{"selector": "a!=b"}]', "its selector must be a comma-separated list"),
        ('[{"selector": "a=b, c"}]', "without spaces"),
        ('[{"selector": "a=b,"}]', "its selector must be a comma-separated list"),
        ('[{"selector": "a==b"}]', "its selector must be a comma-separated list"),
        ('[{"selector": "-a"}]', "its selector must be a comma-separated list"),
        ('[{"selector": "a/b/c"}]', "its selector must be a comma-separated list"),
        ('[{"selector": "a", "name": "a b"}]', "set 1: its name must be the key of a label"),
        ('[{"selector": "a", "component": "/b"}]', "set 1: its component must be the key of a label"),
    ],
)
def test_an_invalid_setting_is_refused_with_the_rule(text: str, sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_label_sets(text)
    assert sentence in str(refused.value)
    (problem,) = refused.value.errors()
    assert problem["loc"] == ("label_sets",)
