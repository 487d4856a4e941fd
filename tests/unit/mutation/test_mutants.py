"""Which mutants a module has, and what identifies one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.accepted import as_entry, read_accepted
from tests.mutation.mutants import mutants_of_text


def changes(statement: str) -> set[str]:
    """Return the mutants of a statement in a function, each as the statement that stands there instead."""
    return {mutant.key.after for mutant in mutants_of_text(f"def f(a, b, c):\n    {statement}\n", "m.py")}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a == b", {"x = a != b"}),
        ("x = a is None", {"x = a is not None"}),
        ("x = a < b <= c", {"x = a <= b <= c", "x = a < b < c"}),
        ("x = a and b", {"x = a or b", "x = a", "x = b"}),
        ("x = not a", {"x = a"}),
        ("x = a if b else c", {"x = a if not b else c"}),
        ("x = [each for each in a if each]", {"x = [each for each in a if not each]"}),
        ("x = a + b", {"x = a - b"}),
        ("x = 3", {"x = 4", "x = 2"}),
        ("x = True", {"x = False"}),
        ("if a: b = c", {"if not a: ..."}),
        ("f(a)", {"pass"}),
        ("raise a", {"pass"}),
        ("return a", {"return None"}),
        ("a.b = c", {"pass"}),
        ("a += b", {"pass", "a -= b"}),
        ("while a: break", {"while not a: ...", "pass"}),
        ("for each in a: continue", {"pass"}),
        ("return None", set()),
        ("return False", {"return True"}),
        ("_log.info(a)", set()),
        ("assert_never(a)", set()),
        ("if TYPE_CHECKING: f(a)", set()),
        ("x = a + 'text'", set()),
        ("x: Literal[1] = a", set()),
    ],
)
def test_a_statement_has_these_mutants(statement: str, expected: set[str]) -> None:
    assert changes(statement) == expected


def test_defaults_are_changed_and_docstrings_are_not() -> None:
    mutants = mutants_of_text('"""Text."""\ndef f(*, a=False):\n    """Text."""\n', "m.py")
    assert [mutant.key.after for mutant in mutants] == ["def f(*, a=True): ..."]


def test_a_mutant_changes_one_place_of_the_text() -> None:
    text = "def f(a):\n    # why\n    return (a < 3)  # ä\n"
    found = {mutant.diff() for mutant in mutants_of_text(text, "m.py")}
    assert "-    return (a < 3)  # ä\n+    return ((a <= 3))  # ä" in found


def test_the_key_survives_a_shift_of_lines_and_tells_equal_statements_apart() -> None:
    text = "class C:\n    def f(self):\n        self.g()\n        self.g()\n"
    keys = [mutant.key for mutant in mutants_of_text(text, "m.py")]
    assert [(key.scope, key.before, key.number) for key in keys] == [("C.f", "self.g()", 1), ("C.f", "self.g()", 2)]
    assert [mutant.key for mutant in mutants_of_text(f"import os\n\n\n{text}", "m.py")] == keys


def test_only_what_is_in_a_function_has_a_function() -> None:
    text = "X = 1\n\n\nclass C:\n    Y = 2\n\n    @property\n    def f(self):\n        def g():\n            return 3\n"
    functions: dict[str, set[object]] = {}
    for mutant in mutants_of_text(text, "m.py"):
        functions.setdefault(mutant.key.before, set()).add(mutant.function)
    assert functions == {"X = 1": {None}, "Y = 2": {None}, "return 3": {("C.f", 7)}}


def test_every_accepted_mutant_exists_and_has_a_reason() -> None:
    accepted = read_accepted()
    assert accepted.stale() == []


def test_an_entry_of_the_file_is_read_back_as_its_key(tmp_path: Path) -> None:
    keys = [
        mutant.key
        for mutant in mutants_of_text("class C:\n    def f(self):\n        self.g()\n        self.g()\n", "m.py")
    ]
    written = tmp_path / "accepted.yaml"
    written.write_text("".join(f"{as_entry(key)}\n  reason: it is idempotent\n" for key in keys))
    assert read_accepted(written).reasons == dict.fromkeys(keys, "it is idempotent")


def test_an_entry_without_a_reason_is_refused(tmp_path: Path) -> None:
    written = tmp_path / "accepted.yaml"
    written.write_text("- {module: m.py, before: x = 1, after: x = 2}\n")
    with pytest.raises(ValueError, match="no reason"):
        read_accepted(written)
