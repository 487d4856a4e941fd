"""The server of stand-ins that speak HTTP."""

from __future__ import annotations

import http.server
import ssl
import sys


class QuietServer(http.server.ThreadingHTTPServer):
    """Handles each request in a thread, and prints no error of a client that only closed the connection."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError | ssl.SSLEOFError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]
