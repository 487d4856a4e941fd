"""What answers of a server mean that are not those of a gateway: another program, or a proxy in front of the gateway.

They say nothing about an xApp. A 404 of another program must not look like an xApp that is gone. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from xapp_operator.cli.errors import CliError

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"
"""What each error of a gateway has (RFC 9457)."""
PAGE_MEDIA_TYPE: Final = "text/html"
OF_A_PROXY: Final = frozenset({502, 503, 504})
MEND: Final = "check the address, or name another with --gateway"


class ConnectionLost(CliError):
    """The gateway did not answer, or not completely."""


def is_answer_of_a_gateway(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether a response can come from a gateway: it sends no pages, no redirections, and errors of one type."""
    media_type = headers.get("content-type", "")
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return not media_type.startswith(PAGE_MEDIA_TYPE)
    return media_type.startswith(PROBLEM_MEDIA_TYPE)


def foreign_answer(status: int, headers: Mapping[str, str], *, url: str, found_by: str) -> CliError:
    """Return the error for an answer that is not one of a gateway.

    Args:
        status: its status.
        headers: its headers.
        url: the address of the gateway.
        found_by: where the address comes from.
    """
    where = f"{url} ({found_by})"
    shown = f"{status} {status_phrase(status)}".rstrip()
    if status in OF_A_PROXY:
        return ConnectionLost(f"what is in front of the gateway at {where} does not reach it: it answers {shown}")
    if location := headers.get("location"):
        return CliError(f"{where} answers {shown} and leads to {location}: name the address there with --gateway")
    return CliError(f"no xapp gateway answers at {where}: what is there answers {shown}; {MEND}")


def status_phrase(status: int) -> str:
    """Return the words for a status of HTTP, empty for an unknown one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
