"""Generated requests to every operation of the OpenAPI document get a documented response, and never a 500.

Operations come from the served document, so new routes are included. Half of the requests match its schemas, half
violate them; many name objects that exist. Responses that stream without an end have their own tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, Final, TypeAlias

import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode, Response
from schemathesis.core.errors import InvalidSchema
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok, Result
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.integration.gateway.caller_factory import CallerFactory
from tests.integration.gateway.conftest import settings_for
from tests.integration.gateway.gateway_client import XAPP_NAME, GatewayClient, ready_status
from tests.localcluster import Cluster
from tests.localcluster.waiting import wait_until
from tests.support.apiserver import REPOSITORIES, ApiServer
from tests.support.chart_server import ChartServer
from tests.support.charts import chart_archive
from tests.support.gateway import GatewayServer, serve_gateway
from tests.support.helm_user import HelmUser
from tests.support.vendor_charts import drax_chart

pytestmark = [pytest.mark.integration, pytest.mark.fuzz]

Operation: TypeAlias = APIOperation[Any, Any, Any, Any]
AnyCase: TypeAlias = Case[Any]

PROFILE: Final = hypothesis.settings()
EXAMPLES: Final = PROFILE.max_examples // 12
"""Of each kind, for each operation."""

PROXIED_EXAMPLES: Final = PROFILE.max_examples // 25
"""One handler serves all methods of the proxy."""

CALL_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 60.0
BY_HAND: Final = "by-hand"
REPOSITORY: Final = "acme"
EXPECTED_STATUSES: Final = {
    *("list_xapps", "show_xapp", "list_repositories", "show_repository", "list_charts", "list_versions"),
    *("list_services", "healthz", "readyz"),
}
"""Operations that must have been seen to succeed, or the state below is not what it should be."""

EVENT_STREAM: Final = "text/event-stream"
CHECKS: Final = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ORDER: Final = ("get", "head", "options", "post", "put", "patch", "delete")
"""What is there is looked at before it is changed and removed."""

PROXIED: Final = ("/api/xapps/{namespace}/{name}/proxy/", "/api/xapps/{namespace}/{name}/api/")
NO_BACKEND: Final = frozenset({502, 503, 504})
"""What a proxied request may get, and no other: no container of these xApps runs."""


@dataclass(slots=True)
class FuzzRun:
    """Requests to one gateway; `statuses` are the returned ones by operation."""

    gateway: GatewayServer
    namespace: str
    headers: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    faults: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Try every operation of the document."""
        with self.gateway.client() as http:
            document = http.get("/api/v1/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document)
        operations = [_usable(result) for result in schema.get_all_operations()]
        assert {_id(operation) for operation in operations} >= EXPECTED_STATUSES
        with requests.Session() as session:
            session.trust_env = False
            session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # no request depends on another
            for operation in sorted(operations, key=lambda each: ORDER.index(each.method.lower())):
                if _content(operation) != {EVENT_STREAM}:
                    self._send_example(operation, session)
                    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                        self._fuzz_operation(operation, mode, session)

    def _send_example(self, operation: Operation, session: requests.Session) -> None:
        """Send a request for an existing object, without parameters."""
        if operation.method.lower() == "get":
            known = known_to(operation.path, self.namespace)
            names = [parameter.name for parameter in operation.path_parameters]
            for at in range(len(known["name"])):
                values = {name: known.get(name, ("x",)) for name in names}
                placed = {name: found[at % len(found)] for name, found in values.items()}
                self._send(operation.Case(path_parameters=placed), session)

    def _fuzz_operation(self, operation: Operation, mode: GenerationMode, session: requests.Session) -> None:
        known = known_to(operation.path, self.namespace)

        @hypothesis.settings(
            max_examples=PROXIED_EXAMPLES if operation.path.startswith(PROXIED) else EXAMPLES,
            derandomize=PROFILE.derandomize,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(case=operation.as_strategy(mode), choice=st.integers(0, 3), at=st.integers(0, 7))
        def attempt(case: AnyCase, choice: int, at: int) -> None:
            if choice:  # otherwise all values are generated
                use_namespace(case, self.namespace)
            if choice > 1:
                use_known_names(case, known, at=at)
            self._send(case, session)

        try:
            attempt()
        except Unsatisfiable:
            return  # no value violates the schema, or none matches it

    def _send(self, case: AnyCase, session: requests.Session) -> None:
        if isinstance(case.query, dict):
            case.query.pop("follow", None)
        response = case.call(
            base_url=self.gateway.url,
            headers=self.headers,
            session=session,
            timeout=CALL_SECONDS,
            allow_redirects=False,
        )
        operation = _id(case.operation)
        self.statuses[operation].add(response.status_code)
        self._check_response(case, response)

    def _check_response(self, case: AnyCase, response: Response) -> None:
        proxied = case.operation.path.startswith(PROXIED)
        if proxied and "sandbox" in "".join(response.headers.get("content-security-policy", ())):
            return  # the body comes from the xApp
        problems: list[str] = []
        if response.status_code >= 500 and not (proxied and response.status_code in NO_BACKEND):
            problems.append("a server error")
        try:
            case.validate_response(response, checks=CHECKS, headers=self.headers)
        except FailureGroup as group:
            problems += [str(each) for each in group.exceptions]
        if problems:
            what = f"{case.operation.label}: {response.status_code}"
            shown = (f"answered {response.content[:300]!r}", f"to {case.as_curl_command()[:600]}")
            self.faults.append("\n  ".join([what, *problems, *shown]))

    def check(self) -> None:
        """Fail with the first problem of each operation and status, and if an operation never found its object."""
        first: dict[str, str] = {}
        for fault in self.faults:
            first.setdefault(fault.partition("\n")[0], fault)
        if first:
            pytest.fail("\n\n".join(first.values()), pytrace=False)
        assert {operation for operation in EXPECTED_STATUSES if 200 not in self.statuses[operation]} == set()


def _usable(result: Result[Operation, InvalidSchema]) -> Operation:
    assert isinstance(result, Ok), result
    return result.ok()


def _id(operation: Operation) -> str:
    name: str = operation.definition.raw["operationId"]
    return name


def _content(operation: Operation) -> set[str]:
    answers: dict[str, dict[str, Any]] = operation.definition.raw["responses"]
    return {media for status, answer in answers.items() if status == "200" for media in answer.get("content", {})}


def known_to(path: str, namespace: str) -> dict[str, tuple[str, ...]]:
    """Return path parameters that name existing objects."""
    names = (REPOSITORY,) if path.startswith("/api/repositories") else (XAPP_NAME, BY_HAND)
    return {
        "namespace": (namespace,),
        "name": names,
        "chart": ("hello",),
        "service": (f"{BY_HAND}-api",),
        "port": ("http", "8080", "0", "x"),
        "path": ("", "a/b", "a%2Fb"),
    }


def use_namespace(case: AnyCase, namespace: str) -> None:
    """Replace the namespace of a request by that of this test."""
    for part in (case.path_parameters, case.body, case.body.get("xAppForm") if isinstance(case.body, dict) else None):
        if isinstance(part, dict) and "namespace" in part:
            part["namespace"] = namespace


def use_known_names(case: AnyCase, known: Mapping[str, tuple[str, ...]], *, at: int) -> None:
    """Let a request name existing objects."""
    for name in case.path_parameters or {}:
        if name in known:
            case.path_parameters[name] = known[name][at % len(known[name])]
    if isinstance(case.body, dict) and "name" in case.body:
        case.body["name"] = known["name"][at % len(known["name"])]


@pytest.fixture
def charts() -> Iterator[ChartServer]:
    with ChartServer() as server:
        server.add("hello", "0.1.0", chart_archive())
        server.add("hello", "0.2.0", chart_archive(version="0.2.0"))
        yield server


@pytest.fixture
def seeded_gateway(cluster: Cluster, client: GatewayClient, charts: ChartServer, tmp_path: Path) -> str:
    """A namespace with an XApp, an xApp known only by its labels, and a repository."""
    client.deploy()
    client.write_status(ready_status())
    HelmUser(cluster, client.namespace, tmp_path).install(BY_HAND, drax_chart())
    repository = {"name": REPOSITORY, "namespace": client.namespace, "url": charts.url}
    answer = client.http.post("/api/repositories", json=repository)
    assert answer.status_code == 201, answer.text
    return client.namespace


def create_fixtures(gateway: GatewayServer, namespace: str, headers: dict[str, str]) -> None:
    """Wait until `gateway` knows the objects of the namespace."""
    paths = [f"/api/xapps/{namespace}/{name}" for name in (XAPP_NAME, BY_HAND)]
    paths.append(f"/api/repositories/{namespace}/{REPOSITORY}")
    with gateway.client(headers=headers) as http:
        wait_until(
            lambda: all(http.get(path).status_code == 200 for path in paths), timeout=WAIT_SECONDS, what="the state"
        )


def test_every_response_to_an_admin_is_documented(
    cluster: Cluster, seeded_gateway: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Confined to the namespace, so that generated requests create nothing elsewhere.
    settings = settings_for(
        cluster,
        tmp_path_factory.mktemp("fuzz"),
        namespaces=(seeded_gateway,),
        wait_max_seconds=0.1,
        fetch_timeout_seconds=30,
    )
    with serve_gateway(settings) as gateway:
        create_fixtures(gateway, seeded_gateway, {})
        fuzz = FuzzRun(gateway, seeded_gateway)
        fuzz.run()
    fuzz.check()


def test_every_response_to_a_viewer_is_documented(
    authenticated_gateway: GatewayServer, caller_factory: CallerFactory, seeded_gateway: str, api: ApiServer
) -> None:
    headers = {"Authorization": f"Bearer {caller_factory.create_account('viewer', 'view')}"}
    create_fixtures(authenticated_gateway, seeded_gateway, headers)
    before = api.names(REPOSITORIES.format(seeded_gateway))
    fuzz = FuzzRun(authenticated_gateway, seeded_gateway, headers)
    fuzz.run()
    fuzz.check()
    assert api.names(REPOSITORIES.format(seeded_gateway)) == before
