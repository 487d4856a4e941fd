"""What a shell, its files and its environment do to a command ends in a message, never in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import PROGRAM, TIMEOUT_SECONDS
from tests.support.stand_in_gateway import Reply, StandInGateway, page

MESSAGE = "größe ✓ 日本"


def run(
    gateway: StandInGateway, home: Path, *arguments: str | bytes, redirection: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run `xapp` in a shell of its own, with `redirection` behind it."""
    gateway.reply("/api/xapps", Reply(page({"namespace": "n", "name": "a", "message": MESSAGE})))
    kept = {key: value for key, value in os.environ.items() if key in {"PATH", "PYTHONPATH"}}
    return subprocess.run(
        ["bash", "-c", f'"$0" -c "$PROGRAM" "$@" {redirection}', sys.executable, *arguments],
        capture_output=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
        env={**kept, "HOME": str(home), "XAPP_GATEWAY": gateway.url, "PROGRAM": PROGRAM, **environment},
    )


@pytest.mark.parametrize("output", ["table", "json", "yaml", "name"])
def test_a_full_disk_is_an_error(gateway: StandInGateway, tmp_path: Path, output: str) -> None:
    done = run(gateway, tmp_path, "list", "-o", output, redirection="> /dev/full")
    assert (done.returncode, done.stderr) == (1, b"error: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_stop_no_command(gateway: StandInGateway, tmp_path: Path, redirection: str) -> None:
    done = run(gateway, tmp_path, "list", redirection=redirection)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("output", ["table", "json"])
def test_characters_that_an_encoding_lacks_are_escaped(
    gateway: StandInGateway, tmp_path: Path, output: str, encoding: str
) -> None:
    done = run(gateway, tmp_path, "list", "-o", output, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert MESSAGE.encode(encoding, "backslashreplace") in done.stdout


@pytest.mark.parametrize(
    "arguments", [("get", b"n/\xff"), ("list", "--search", b"\xff"), (b"\xff",), ("list", "-n", b"\xff")]
)
def test_words_that_are_not_utf_8_are_a_usage_error(
    gateway: StandInGateway, tmp_path: Path, arguments: tuple[str | bytes, ...]
) -> None:
    done = run(gateway, tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: word {len(arguments)} of the command line is not UTF-8: names and texts must be\n".encode()
    )


@pytest.mark.parametrize("proxy", ["nonsense://x", "socks5://127.0.0.1:1", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_named(gateway: StandInGateway, tmp_path: Path, proxy: str) -> None:
    done = run(gateway, tmp_path, "list", "--gateway", "https://gateway.invalid", ALL_PROXY=proxy)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: a proxy of your environment cannot be used for https://gateway.invalid: set")
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_ends_early_gets_no_noise(gateway: StandInGateway, tmp_path: Path) -> None:
    done = run(gateway, tmp_path, "list", redirection="| head -c 1")
    assert (done.stdout, done.stderr) == (b"N", b"")


def test_ctrl_c_while_the_program_loads_is_no_traceback() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from xapp_operator.cli.main import main\n"
        "sys.exit(main(['version', '--client']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=TIMEOUT_SECONDS)
    assert (done.returncode, done.stderr) == (130, b"")


def test_certificates_for_a_gateway_without_tls_have_no_effect(gateway: StandInGateway, tmp_path: Path) -> None:
    done = run(gateway, tmp_path, "list", "-o", "name", "--ca", "ca.pem")
    assert (done.returncode, done.stdout) == (0, b"n/a\n")
    assert b"warning: --ca has no effect: the gateway at http://127.0.0.1" in done.stderr
