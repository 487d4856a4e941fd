"""Values that change for ever: the first change is deployed at once, and no XApp upgrades without a bound."""

from __future__ import annotations

from tests.support.fakes.histories import History, run_history
from tests.unit.histories.test_release_inputs import create_values, replace_secret, secret
from xapp_operator.config import Settings

SOURCE = [{"kind": "Secret", "name": "values"}]


def upgrades(history: History) -> int:
    return sum(step.command == "upgrade" for step in history.helm_steps)


def change(history: History, number: int) -> None:
    replace_secret(history, secret("values", values__yaml=f"text: number {number}\n"))


def test_values_that_change_for_ever_are_deployed_less_and_less_often(settings: Settings) -> None:
    async def play(history: History) -> None:
        create_values(history, "values", "text: number 0\n")
        history.create(valuesFrom=SOURCE)
        await history.cluster.wait(10.0)
        change(history, 1)
        await history.cluster.wait(5.0)
        assert upgrades(history) == 1, history.describe()
        for number in range(2, 120):
            change(history, number)
            await history.cluster.wait(1.0)
        assert 4 <= upgrades(history) <= 10, history.describe()
        assert "change again and again" in (history.cluster.condition("Ready") or {})["message"]
        before = upgrades(history)
        history.edit(values={"tag": "two"})
        await history.cluster.wait(5.0)
        assert upgrades(history) == before + 1
        change(history, 1000)

    history = run_history(settings, play)
    assert history.outcome.startswith("Ready")
    newest = [step.what for step in history.helm_steps][-1]
    assert '"text": "number 1000"' in newest
