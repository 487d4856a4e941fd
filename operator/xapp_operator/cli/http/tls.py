"""Which certificates the command line trusts."""

from __future__ import annotations

import ssl
from pathlib import Path

from xapp_operator.cli.errors import UsageError


def tls_context(ca: Path | None, *, ca_data: str | None = None, verify: bool = True) -> ssl.SSLContext:
    """Return a context that trusts the authorities of the system, and those in `ca` (PEM) or `ca_data`.

    Raises UsageError if `ca` cannot be read.
    """
    context = ssl.create_default_context()
    try:
        if ca is not None:
            context.load_verify_locations(cafile=str(ca))
        if ca_data is not None:
            context.load_verify_locations(cadata=ca_data)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise UsageError(f"{ca or 'the CA bundle'} has no readable PEM certificates: {error}") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
