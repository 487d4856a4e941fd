"""What a command works with: the gateway, the caller, the names it was given, and what it prints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import quote, urlsplit

from xapp_operator.api.json import JsonObject, text
from xapp_operator.cli.connection.resolution import Resolution
from xapp_operator.cli.errors import NotFound, UsageError
from xapp_operator.cli.http.client import GatewayClient, Parameters
from xapp_operator.cli.output.console import Format, Output
from xapp_operator.cli.output.tables import Column, Row

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class XAppName:
    """Where an xApp is."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Return its path at the gateway."""
        return f"/api/xapps/{segment(self.namespace)}/{segment(self.name)}"


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a kind of record, and its row. `wide` adds columns."""

    columns: tuple[Column, ...]
    wide: tuple[Column, ...] = ()


class Session:
    """One run of one command."""

    def __init__(self, *, resolution: Resolution, output: Output) -> None:
        self.resolution = resolution
        self.output = output

    def close(self) -> None:
        """Close the connections of the command."""
        if "client" in self.__dict__:
            self.client.close()

    @cached_property
    def client(self) -> GatewayClient:
        """Return the client of the gateway. It sends nothing before the first request."""
        where, who = self.resolution.where, self.resolution.who
        self.warn_of_plain_http(where.url, who.token)
        if self.resolution.ca_option is not None and where.url.startswith("http:"):
            self.output.warning(f"--ca has no effect: the gateway at {where.url} has no TLS, name an https:// address")
        return GatewayClient(url=where.url, found_by=where.found_by, token=who.token, ca=where.ca)

    def warn_of_plain_http(self, url: str, token: str | None) -> None:
        """Print a warning if others on the network could read the token."""
        parts = urlsplit(url)
        if token is not None and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            self.output.warning(f"your token travels to {url} unencrypted: others on the network can read it")

    def namespace(self, option: str | None) -> str | None:
        """Return the namespace of `-n`, or else of the sign-in or the kubeconfig; None for all."""
        return option or self.resolution.namespace

    def required_namespace(self, option: str | None) -> str:
        """Return the namespace. Raises UsageError if none is known."""
        namespace = self.namespace(option)
        if namespace is None:
            raise UsageError("name a namespace with --namespace (-n)")
        return namespace

    def xapp(self, given: str, namespace: str | None) -> XAppName:
        """Return the xApp that NAME or NAMESPACE/NAME means.

        Without a namespace, the xApp is looked up in all namespaces that the caller may list.

        Raises:
            NotFound: there is no such xApp.
            UsageError: several namespaces have one, or two namespaces are given.
        """
        before, slash, name = given.rpartition("/")
        if not name or (slash and (not before or "/" in before)):
            raise UsageError(f"{given!r} is no name of an xApp: write NAME or NAMESPACE/NAME")
        if slash and namespace is not None and namespace != before:
            raise UsageError(f"{given} is not in the namespace {namespace}: leave out one of the two")
        known = before or self.namespace(namespace)
        if known:
            return XAppName(known, name)
        return self._find(name)

    def list_all(self, path: str, params: Parameters | None = None, *, limit: int | None = None) -> list[JsonObject]:
        """Return all items of a list, or the first `limit`. Prints a warning if items may be missing."""
        return self.client.list_all(path, params, limit=limit, on_incomplete=self.output.warning)

    def _find(self, name: str) -> XAppName:
        records = self.client.list_all("/api/xapps", {"search": name, "sort": "name"})
        namespaces = [text(record, "namespace") for record in records if text(record, "name") == name]
        if not namespaces:
            raise NotFound(f"no namespace that you may list has an xApp {name}: see `xapp list -A`")
        if len(namespaces) > 1:
            raise UsageError(f"{name} is in several namespaces ({', '.join(namespaces)}): choose one with --namespace")
        return XAppName(namespaces[0], name)

    def show_records(self, records: list[JsonObject], rows: list[Row], table: Table, output: Format) -> None:
        """Print a list. `rows` have the cells of all columns, those of `wide` at the end."""
        if output in {Format.JSON, Format.YAML}:
            self.output.document([*records], output)
        elif output is Format.NAME:
            self.output.names(records)
        elif not records:
            self.output.note("nothing found")
        else:
            columns = (*table.columns, *table.wide) if output is Format.WIDE else table.columns
            self.output.table(columns, [row[: len(columns)] for row in rows])

    def show_record(self, record: JsonObject, output: Format) -> bool:
        """Print one record if the format is for programs, and return whether it was."""
        if output in {Format.JSON, Format.YAML}:
            self.output.document(record, output)
        elif output is Format.NAME:
            self.output.names([record])
        else:
            return False
        return True


def segment(name: str) -> str:
    """Return a name as one segment of a path. Raises UsageError for what means another path."""
    if name in {".", ".."}:
        raise UsageError(f"{name!r} is no name")
    return quote(name, safe="")
