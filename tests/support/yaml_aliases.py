"""Small YAML whose aliases repeat many values."""

from __future__ import annotations

from xapp_operator.api.json import Json

REPEATED = 100
"""Values of the list that aliases repeat."""


def values_with_aliases(*, lists: int) -> str:
    """Return the lines of a values file that repeats a list of REPEATED values: so often, with the first one."""
    numbers = ",".join(["1"] * REPEATED)
    return f"a: &a [{numbers}]\nl: [{','.join(['*a'] * (lists - 1))}]\n"


def manifest_with_aliases(*, documents: int, lists: int = 99) -> str:
    """Return the manifest of ConfigMaps a0, a1, …, each of which has about `lists` * REPEATED values."""
    values = values_with_aliases(lists=lists)
    return "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{number}}}\n{values}" for number in range(documents)
    )


def count_values(value: Json) -> int:
    """Return the number of scalars, lists and objects in `value`."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_values, members))
