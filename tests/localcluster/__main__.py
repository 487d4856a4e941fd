"""The command line: ``python -m tests.localcluster up|down|status|kubeconfig|load|run|tools``."""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from tests.localcluster.binaries import Binaries
from tests.localcluster.cluster import (
    DEFAULT_DIRECTORY,
    ClusterFailed,
    ClusterNotRunning,
    ClusterRunning,
    LocalCluster,
)
from tests.localcluster.gobuild import BuildFailed
from tests.localcluster.node_choice import NODE_CHOICES, choose_nodes
from tests.localcluster.progress import print_progress
from tests.localcluster.realnode.namespaces import NamespacesFailed
from tests.localcluster.tools import ALL_TOOLS, TOOLS
from tests.localcluster.waiting import DeadlineExceeded

_INTERRUPTED = 130
_EXPECTED_ERRORS = (
    BuildFailed,
    ClusterFailed,
    ClusterNotRunning,
    ClusterRunning,
    DeadlineExceeded,
    NamespacesFailed,
    ValueError,
)


def main(arguments: list[str]) -> int:
    """Run one command and return the exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _raise_keyboard_interrupt)
    try:
        return _tools(options.names) if options.command == "tools" else _run(options)
    except _EXPECTED_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    if options.command in {"up", "run"}:
        nodes = choose_nodes(options.node, folder=options.dir, simulated=options.nodes)
        cluster = LocalCluster(options.dir, nodes=nodes)
    else:
        cluster = LocalCluster(options.dir)
    match options.command:
        case "up":
            return _up(cluster, foreground=options.foreground)
        case "load":
            cluster.load_image(options.archive)
            return 0
        case "down":
            return _down(cluster)
        case "status":
            return _status(cluster)
        case "kubeconfig":
            print(cluster.connect().kubeconfig)
            return 0
        case _:
            with cluster as access:
                return subprocess.run(options.argv, env=access.env, check=False).returncode


def _tools(names: list[str]) -> int:
    for name, path in Binaries().resolve(names or TOOLS).items():
        print(f"{name}\t{path}")
    return 0


def _up(cluster: LocalCluster, *, foreground: bool) -> int:
    begin = time.monotonic()
    access = cluster.start(detached=not foreground)
    print_progress(f"ready after {time.monotonic() - begin:.1f} s: {access.server}")
    if access.node_address:
        print_progress(f"real node: {access.node_address}")
    print_progress(f"export KUBECONFIG={access.kubeconfig}")
    if foreground:
        try:
            signal.pause()
        finally:
            cluster.stop()
    return 0


def _down(cluster: LocalCluster) -> int:
    begin = time.monotonic()
    stopped = cluster.stop()
    print_progress(f"stopped in {time.monotonic() - begin:.1f} s" if stopped else "no cluster was running")
    return 0


def _status(cluster: LocalCluster) -> int:
    state = cluster.state()
    print(f"server\t{state.server}")
    if state.node_address:
        print(f"node\t{state.node_address}")
    for name, identity in {"supervisor": state.supervisor, **state.processes}.items():
        print(f"{name}\t{identity.pid}\t{'running' if identity.alive else 'ended'}")
    return 0


def _raise_keyboard_interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.localcluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    descriptions = {
        "up": "start a cluster and leave it running",
        "down": "stop it; also cleans up after a crash",
        "status": "tell what runs",
        "kubeconfig": "print the path of the administrator's kubeconfig",
        "load": "bring an image (the tar of an OCI layout) to the real node",
        "run": "start a cluster, run a command with KUBECONFIG set, stop the cluster",
    }
    for name, description in descriptions.items():
        command = commands.add_parser(name, help=description, description=description)
        command.add_argument("--dir", type=Path, default=DEFAULT_DIRECTORY, help="folder of the cluster")
        if name in {"up", "run"}:
            command.add_argument("--nodes", type=int, default=2, help="number of simulated nodes")
            command.add_argument(
                "--node",
                choices=NODE_CHOICES,
                help="a real node besides: never, always, or where it can be (default: $NODE)",
            )
        if name == "load":
            command.add_argument("archive", type=Path, metavar="IMAGE")
        if name == "up":
            command.add_argument("--foreground", action="store_true", help="stay, and stop the cluster on Ctrl-C")
        if name == "run":
            command.add_argument("argv", nargs="+", metavar="COMMAND")
    tools = commands.add_parser("tools", help="find, download or build the programs and print where they are")
    tools.add_argument(
        "names", nargs="*", choices=[[], *ALL_TOOLS], metavar="NAME", help="default: all but a real node's"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
