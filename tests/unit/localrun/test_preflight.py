"""Checks before `make run` starts anything."""

import os
import socket
from pathlib import Path

import pytest

from tests.localrun.preflight import PreflightFailed, check_port_free, run_lock


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    with (
        run_lock(tmp_path),
        pytest.raises(PreflightFailed, match=rf"already running in this checkout \(process {os.getpid()}\)"),
    ):
        run_lock(tmp_path).__enter__()


def test_the_lock_is_released_when_the_run_ends(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass


def test_a_port_in_use_is_refused_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PreflightFailed, match=f"port {port} on 127.0.0.1 is in use.*PORT="):
            check_port_free(port)
    check_port_free(port)
