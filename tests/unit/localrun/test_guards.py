"""What is refused before anything is started."""

import os
import socket
from pathlib import Path

import pytest

from tests.localrun.guards import RunRefused, check_port_free, only_one


def test_a_second_run_is_told_that_one_is_running_and_by_which_process(tmp_path: Path) -> None:
    with (
        only_one(tmp_path),
        pytest.raises(RunRefused, match=rf"already running in this checkout \(process {os.getpid()}\)"),
    ):
        only_one(tmp_path).__enter__()


def test_the_next_run_may_start_when_the_first_has_ended(tmp_path: Path) -> None:
    with only_one(tmp_path):
        pass
    with only_one(tmp_path):
        pass


def test_a_taken_port_is_named_with_the_mend() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RunRefused, match=f"port {port} on 127.0.0.1 is taken.*PORT="):
            check_port_free(port)
    check_port_free(port)
