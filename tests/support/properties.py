"""Property tests: how many examples they run, and how often the antecedent of an implication has to hold.

"An uninstall is of our own release only" proves nothing while no example is an uninstall. Such a property calls
`occurred` where its antecedent holds and is decorated with `must_occur`, above `given`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec

from hypothesis import settings

P = ParamSpec("P")

_occurrences: ContextVar[Counter[str]] = ContextVar("occurrences")


def examples(factor: int) -> settings:
    """Return settings for `factor` times as many examples as the active profile runs."""
    return settings(max_examples=factor * settings().max_examples)


def occurred(antecedent: str) -> None:
    """Count one example for which the antecedent holds; only inside a test decorated with `must_occur`."""
    _occurrences.get()[antecedent] += 1


def must_occur(**at_least: int) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Fail a property, once it has passed, unless each antecedent held in `at_least` examples."""

    def decorate(test: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            counts: Counter[str] = Counter()
            token = _occurrences.set(counts)
            try:
                test(*args, **kwargs)
            finally:
                _occurrences.reset(token)
            rare = {name: counts[name] for name, least in at_least.items() if counts[name] < least}
            assert not rare, f"the antecedent held in too few examples to prove anything: {rare}, wanted {at_least}"

        return run

    return decorate
