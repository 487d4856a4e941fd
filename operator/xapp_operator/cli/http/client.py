"""The one client of the gateway: requests, errors, whole lists, streams."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Final, Self

import httpx

from xapp_operator.api.json import Json, JsonObject, integer, items, obj
from xapp_operator.cli.errors import CliError, UsageError
from xapp_operator.cli.http.addresses import leads_to_loopback
from xapp_operator.cli.http.foreign_answers import ConnectionLost, foreign_answer, is_answer_of_a_gateway
from xapp_operator.cli.http.problems import Problem, problem_of
from xapp_operator.cli.http.tls import tls_context

CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 90.0
"""A dry run with the cluster can take this long."""
STREAM_SILENCE_SECONDS: Final = 45.0
"""The gateway sends a comment every 15 seconds."""
RESPONSE_MAX_BYTES: Final = 256 * 1024 * 1024
ERROR_MAX_BYTES: Final = 1024 * 1024
PER_PAGE: Final = 100
SNAPSHOT_TRIES: Final = 2
INCOMPLETE: Final = (
    "the list may lack items: it changed while it was read, or the replicas of the gateway do not share walks through "
    "lists. Configure session persistence for the gateway, or read at most 100 items with --limit"
)
OTHER_NAME: Final = frozenset({62, 64})
"""OpenSSL: a certificate that is valid for other host names, or for other addresses."""

Parameters = Mapping[str, str | int | list[str]]
Filters = dict[str, str | int | list[str]]
Part = tuple[str | None, bytes] | tuple[str | None, bytes, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response without an error."""

    status: int
    headers: httpx.Headers
    body: bytes
    no_gateway: CliError
    """What to raise if the body is not one of a gateway."""

    def json(self) -> Json:
        """Return the decoded body."""
        try:
            value: Json = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise self.no_gateway from error
        return value

    def object(self) -> JsonObject:
        """Return the decoded body, which must be an object."""
        value = self.json()
        if not isinstance(value, dict):
            raise CliError("the gateway answers something else than an object: is it another version?")
        return value


class GatewayClient:
    """A connection to one gateway as one caller.

    Args:
        url: the base URL, without a slash at its end.
        found_by: where the URL comes from, for messages.
        token: the bearer token, or None.
        ca: a file with PEM certificates to trust in addition to those of the system.
    """

    def __init__(self, *, url: str, found_by: str, token: str | None, ca: Path | None) -> None:
        self.url = url
        self.found_by = found_by
        headers = {"User-Agent": f"xapp/{version('xapp-operator')}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            self._http = httpx.Client(
                base_url=url,
                headers=headers,
                verify=tls_context(ca) if url.startswith("https:") else False,
                timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                trust_env=not leads_to_loopback(url),  # a proxy of the environment does not lead to this machine
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise CliError(
                f"a proxy of your environment cannot be used for {url}: set HTTP_PROXY, HTTPS_PROXY and ALL_PROXY to "
                "http:// or https:// addresses, or name the host of the gateway in NO_PROXY"
            ) from error

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Parameters | None = None,
        body: Json | bytes | None = None,
        parts: Mapping[str, Part] | None = None,
        headers: Mapping[str, str] | None = None,
        wait_seconds: float = 0,
        timeout_seconds: float = READ_SECONDS,
    ) -> Answer:
        """Send a request and return the answer.

        Args:
            body: an object that is sent as JSON, or bytes.
            parts: parts of a multipart body, as (file name, content).
            wait_seconds: how long the gateway may take beyond the usual time.

        Raises:
            Problem: the gateway answers with an error.
            CliError: it does not answer.
        """
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        timeout = httpx.Timeout(timeout_seconds + wait_seconds, connect=min(CONNECT_SECONDS, timeout_seconds))
        with (
            self._explained(),
            self._http.stream(
                method,
                path,
                params=dict(params or {}),
                content=content,
                files=dict(parts) if parts else None,
                headers=dict(headers or {}),
                timeout=timeout,
            ) as response,
        ):
            self._raise_refusal(response, path)
            body = _read(response, RESPONSE_MAX_BYTES)
            return Answer(response.status_code, response.headers, body, no_gateway=self._foreign(response))

    def get(self, path: str, **params: str | int) -> JsonObject:
        """Return the object at `path`."""
        return self.request("GET", path, params=params).object()

    def list_all(
        self,
        path: str,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        snapshot: bool = True,
        on_incomplete: Callable[[str], None] | None = None,
    ) -> list[JsonObject]:
        """Return all items of a list, or the first `limit`, in as few requests as possible.

        More than one page comes from one snapshot, so that no item is missed or comes twice. Events have no snapshots.

        Args:
            on_incomplete: called with a warning if the snapshots end before the list does, because each replica of the
                gateway knows only its own. Then the pages are read without a snapshot, and can miss items.

        Raises:
            Problem: the gateway answers with an error; also if the snapshots end and there is no `on_incomplete`.
        """
        filters = dict(params or {})
        read = partial(self._read_pages, path, filters, limit=limit, snapshot=snapshot, on_incomplete=on_incomplete)
        try:
            return read(per_page=PER_PAGE)
        except Problem as problem:
            if problem.status != HTTPStatus.BAD_REQUEST:
                raise
            about = self.get("/api/about")  # the administrator can bound pages, or turn them off
            largest = integer(obj(about, "limits"), "perPage", PER_PAGE)
            if path.rpartition("/")[2] in (about.get("unpaginated") or []):  # type: ignore[operator]
                return self._bare_list(path, filters, limit=limit)
            if largest >= PER_PAGE:
                raise
            return read(per_page=largest)

    def _read_pages(
        self,
        path: str,
        filters: Filters,
        *,
        limit: int | None,
        snapshot: bool,
        on_incomplete: Callable[[str], None] | None,
        per_page: int,
    ) -> list[JsonObject]:
        per_page = per_page if limit is None else min(per_page, limit)
        query: Filters = {**filters, "per_page": per_page}
        if not snapshot or (limit is not None and limit <= per_page):
            return list(islice(self._walk(path, query), limit))
        for tries_left in reversed(range(SNAPSHOT_TRIES)):
            try:
                return list(islice(self._walk(path, {**query, "snapshot": "new"}), limit))
            except Problem as problem:
                if problem.kind != "snapshot-expired" or (tries_left == 0 and on_incomplete is None):
                    raise
        found = list(islice(_without_repetitions(self._walk(path, query)), limit))
        if on_incomplete is not None:
            on_incomplete(INCOMPLETE)
        return found

    def _walk(self, path: str, query: Filters) -> Iterator[JsonObject]:
        """Yield the items of a list. Asks for a page only when its first item is wanted."""
        query = dict(query)
        page = 1
        while True:
            try:
                answer = self.request("GET", path, params=query)
            except Problem as problem:
                # Without a snapshot, the list can become shorter between two pages.
                if page > 1 and "snapshot" not in query and problem.status == HTTPStatus.BAD_REQUEST:
                    return
                raise
            content = answer.object()
            yield from items(content, "content")
            if content.get("is_last_page") is not False:
                return
            if token := answer.headers.get("Snapshot"):
                query["snapshot"] = token
            page += 1
            query["page"] = page

    def _bare_list(self, path: str, filters: Filters, *, limit: int | None) -> list[JsonObject]:
        content = self.request("GET", path, params=filters).json()
        return items({"content": content}, "content")[:limit]

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        params: Parameters | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        silence_seconds: float | None = STREAM_SILENCE_SECONDS,
        raise_errors: bool = True,
    ) -> Iterator[httpx.Response]:
        """Open a response whose body is read piece by piece.

        Raises:
            Problem: unless `raise_errors` is false.
            CliError: the gateway does not answer, or ends within the body.
        """
        timeout = httpx.Timeout(silence_seconds, connect=CONNECT_SECONDS)
        with (
            self._explained(),
            self._http.stream(
                method,
                path,
                params=dict(params or {}),
                content=content,
                headers=dict(headers or {}),
                timeout=timeout,
            ) as response,
        ):
            if raise_errors:
                self._raise_refusal(response, path)
            yield response

    def _raise_refusal(self, response: httpx.Response, path: str) -> None:
        if not is_answer_of_a_gateway(response.status_code, response.headers):
            raise self._foreign(response)
        if response.is_error:
            raise problem_of(response.status_code, _read(response, ERROR_MAX_BYTES, cut=True), path=path)

    def _foreign(self, response: httpx.Response) -> CliError:
        return foreign_answer(response.status_code, response.headers, url=self.url, found_by=self.found_by)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        where = f"the gateway at {self.url} ({self.found_by})"
        try:
            yield
        except httpx.ConnectError as error:
            refused = _certificate_error(error)
            if refused is not None and refused.verify_code in OTHER_NAME:
                raise CliError(
                    f"the certificate of {where} is not valid for '{httpx.URL(self.url).host}': use a name of the "
                    "certificate as the address, with --gateway"
                ) from error
            if refused is not None:
                raise CliError(
                    f"the certificate of {where} is not trusted: pass the certificates of its authority with --ca FILE"
                ) from error
            raise CliError(f"cannot reach {where}: check the address, or name another with --gateway") from error
        except httpx.TimeoutException as error:
            raise ConnectionLost(f"{where} does not answer in time") from error
        except httpx.InvalidURL as error:
            raise UsageError(f"{self.url} is not an address of a gateway") from error
        except httpx.TransportError as error:
            raise ConnectionLost(f"the connection to {where} broke off") from error


def _without_repetitions(records: Iterable[JsonObject]) -> Iterator[JsonObject]:
    seen: set[tuple[str, ...]] = set()
    for record in records:
        identity = _identity(record)
        if identity not in seen:
            seen.add(identity)
            yield record


def _identity(record: JsonObject) -> tuple[str, ...]:
    """Return what tells an item from the others of its list. Revisions and versions of a chart have no name."""
    keys = ("namespace", "name") if "name" in record else ("revision", "version")
    return tuple(str(record.get(key)) for key in keys)


def _read(response: httpx.Response, limit: int, *, cut: bool = False) -> bytes:
    pieces: list[bytes] = []
    size = 0
    for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            if cut:
                break
            raise CliError(f"the answer has more than {limit:,} bytes: ask for less, for example with --limit")
    return b"".join(pieces)


def _certificate_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None
