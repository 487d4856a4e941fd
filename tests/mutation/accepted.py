"""The mutants that change nothing that a caller can see, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.mutation.mutants import PACKAGE, Key, mutants_of

ACCEPTED = Path(__file__).with_name("accepted.yaml")


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """Equivalent mutants. The key has no line number, so that it stays right when lines move."""

    reasons: dict[Key, str]

    def stale(self) -> list[Key]:
        """Return the keys that no mutant has any more."""
        modules = {key.module for key in self.reasons}
        present = {
            mutant.key for module in modules if (PACKAGE / module).exists() for mutant in mutants_of(PACKAGE / module)
        }
        return sorted(set(self.reasons) - present)


def read_accepted(path: Path = ACCEPTED) -> Accepted:
    """Read the file of accepted mutants: a list of objects with the fields of a key, and a reason for each."""
    reasons: dict[Key, str] = {}
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
        reason = entry.pop("reason", "").strip()
        key = Key(**{"scope": "", "number": 1, **entry})
        if not reason:
            raise ValueError(f"{path.name}: {key} has no reason")
        if key in reasons:
            raise ValueError(f"{path.name}: {key} is there twice")
        reasons[key] = reason
    return Accepted(reasons=reasons)


def as_entry(key: Key) -> str:
    """Return a key as an entry of the file, without its reason."""
    fields = {name: value for name, value in key._asdict().items() if value != {"scope": "", "number": 1}.get(name)}
    return yaml.safe_dump([fields], sort_keys=False, allow_unicode=True, width=10_000).rstrip()
