"""The requests to the API server that starting a cluster needs, without a client library."""

import http.client
import json
import ssl
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

_TIMEOUT_SECONDS = 30.0
_CONFLICT = 409


class ApiError(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class ApiClient:
    """An HTTPS client of one API server, as the administrator."""

    def __init__(self, *, server: str, authority: Path, token: str) -> None:
        address = urllib.parse.urlsplit(server)
        self._host, self._port = address.hostname or "", address.port or 443
        self._tls = ssl.create_default_context(cafile=str(authority))
        self._token = token

    def get(self, path: str) -> Mapping[str, object] | None:
        """Return the object at ``path``, or None if it does not exist or the server does not answer yet."""
        try:
            return self._request("GET", path)
        except (ApiError, OSError, http.client.HTTPException):
            return None

    def responds(self, path: str) -> bool:
        """Return whether a GET of ``path`` succeeds."""
        try:
            self._send("GET", path)
        except (ApiError, OSError, http.client.HTTPException):
            return False
        return True

    def create(self, path: str, manifest: Mapping[str, object]) -> None:
        """Create an object in the collection at ``path`` unless it exists. Raises ApiError, OSError."""
        try:
            self._request("POST", path, manifest)
        except ApiError as error:
            if error.status != _CONFLICT:
                raise

    def _request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, object] | None:
        answer: object = json.loads(self._send(method, path, body))
        return answer if isinstance(answer, dict) else None

    def _send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> str:
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=_TIMEOUT_SECONDS, context=self._tls)
        try:
            connection.request(
                method,
                path,
                body=None if body is None else json.dumps(body),
                headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            text = str(answer.read(), "utf-8", "replace")
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            raise ApiError(answer.status, text[:500])
        return text
