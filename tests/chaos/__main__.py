"""The command line: ``python -m tests.chaos --seed S --rounds N``. Exit code 1 when something was late or lost."""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from tests.chaos.campaign import FAULTS, FaultResult, Plan, run, table
from tests.chaos.system import say
from tests.localcluster.cluster import ROOT

LOGS = ROOT / ".local" / "chaos"
INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    chosen = [each for each in FAULTS if not options.fault or each.name in options.fault]
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    plan = Plan(
        seed=seed, rounds=options.rounds, first_round=options.first_round, xapps=options.xapps, faults=tuple(chosen)
    )
    signal.signal(signal.SIGTERM, _interrupt)
    say(f"seed {seed}, {options.rounds} rounds, {options.xapps} XApps")
    results: dict[str, FaultResult] = {}
    completed = False
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        try:
            run(plan, Path(folder), results)
            completed = True
        except KeyboardInterrupt:
            say("interrupted")
        finally:
            if not completed or any(each.failed for each in results.values()):
                _keep_logs(Path(folder))
            say(f"\nseed {seed}\n{table(results)}")
    lost = [each for result in results.values() for each in result.lost]
    for each in lost:
        say(f"LOST {each}")
    failed = any(each.failed for each in results.values())
    if failed:
        say(f"logs: {LOGS}\nrepeat with: make chaos SEED={seed} ROUNDS={options.rounds}")
        say(f"one round: python -m tests.chaos --seed {seed} --first-round ROUND --rounds 1")
    return INTERRUPTED if not completed else 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="draws the faults; default: a random one, which is printed")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first-round", type=int, default=1, help="number of the first round, to repeat one of a run")
    parser.add_argument("--xapps", type=int, default=20)
    parser.add_argument(
        "--fault", action="append", choices=[each.name for each in FAULTS], help="only this fault; may be repeated"
    )
    return parser


def _keep_logs(folder: Path) -> None:
    shutil.rmtree(LOGS, ignore_errors=True)
    for path in [*folder.glob("*/operator.log"), *folder.glob("cluster/logs/*.log")]:
        target = LOGS / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
