"""The command behind `make run`: ``python -m tests.localrun``, with `--help` for its options."""

import argparse
import sys
from pathlib import Path

from tests.localcluster import BuildFailed, ClusterFailed, ClusterRunning, KubectlFailed
from tests.localcluster.waiting import DeadlineExceeded
from tests.localrun.console import Console
from tests.localrun.dashboard import DashboardFailed
from tests.localrun.preflight import PreflightFailed
from tests.localrun.samples import SampleFailed
from tests.localrun.services import ServiceFailed
from tests.localrun.session import Options, Session
from tests.localrun.signals import StopRequested, handle_stop_signals

_EXPECTED_ERRORS = (
    BuildFailed,
    ClusterFailed,
    ClusterRunning,
    DashboardFailed,
    DeadlineExceeded,
    KubectlFailed,
    PreflightFailed,
    SampleFailed,
    ServiceFailed,
    ValueError,
)


_PORT_MAX = 65535


def main(arguments: list[str]) -> int:
    """Run until a stop is requested. Return 0 then, or 1 if the start failed."""
    options = _read_options(arguments)
    console = Console()
    session = Session(options, console=console)
    failure = None
    with handle_stop_signals() as signals:
        try:
            session.start()
            console.print(session.summary)
            session.run_until_stopped()
        except StopRequested:
            console.progress("stop requested")
        except _EXPECTED_ERRORS as error:
            failure = error
        finally:
            signals.ignore()
            session.close()
    if failure:
        print(f"error: {failure}", file=sys.stderr, flush=True)
        return 1
    console.progress("stopped")
    return 0


def _read_options(arguments: list[str]) -> Options:
    defaults = Options()
    parser = argparse.ArgumentParser(prog="python -m tests.localrun", description=__doc__)
    parser.add_argument("--cluster", choices=["local", "kind", "current"], default=defaults.cluster)
    parser.add_argument("--auth", choices=["none", "kubernetes"], default=defaults.auth)
    parser.add_argument("--port", type=_port, default=defaults.port, help="of the gateway, on loopback")
    parser.add_argument("--folder", type=Path, default=defaults.folder, help="for keys, logs and data")
    parser.add_argument("--cache", type=Path, default=defaults.cache, help="for charts, kept between runs")
    parser.add_argument("--dashboard", action="store_true", help="build the dashboard, beside the cluster's programs")
    chosen = parser.parse_args(arguments)
    return Options(**vars(chosen))


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a port: use a number from 1 to {_PORT_MAX}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
