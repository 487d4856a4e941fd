"""Clients that call the gateway through its node port with the token of a service account."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.e2e.incluster.installation import DEADLINE_SECONDS, PORT, Installation
from tests.localcluster import KubectlFailed
from tests.localcluster.waiting import wait_until

NAMESPACE = "ric-xapps"
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Caller:
    """A service account in the xApps' namespace. Every request opens a new connection."""

    system: Installation
    http: httpx.Client

    @classmethod
    @contextmanager
    def with_role(
        cls, installation: Installation, account: str, *, role: str | None, tls: ssl.SSLContext | None = None
    ) -> Iterator[Caller]:
        """Create the account, bind the role to it in the namespace, and request a token; with `tls`, call by HTTPS."""
        kubectl = installation.cluster.kubectl
        manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": _account(account, role=role)})
        kubectl("-n", NAMESPACE, "apply", "--server-side", "-f", "-", input=manifests)
        if role is not None:
            wait_until(
                lambda: _can_create_xapps(installation, account), timeout=DEADLINE_SECONDS, what="RBAC", interval=0.2
            )
        token = kubectl("-n", NAMESPACE, "create", "token", account).strip()
        with httpx.Client(
            base_url=f"{'https' if tls else 'http'}://{installation.cluster.node_address}:{PORT}",
            headers={"Authorization": f"Bearer {token}"},
            limits=httpx.Limits(max_keepalive_connections=0),
            timeout=_ANSWER_SECONDS,
            trust_env=False,
            verify=tls or True,
        ) as http:
            yield cls(installation, http)

    def upload(self, name: str, archive: bytes) -> httpx.Response:
        """Deploy an uploaded chart as the xApp acme-ran-<name>."""
        form = {
            "xAppName": name,
            "organization": "acme",
            "team": "ran",
            "version": "0.1.0",
            "owner": "jane",
            "method": "Upload Chart",
            "namespace": NAMESPACE,
        }
        file = {"file": ("chart.tgz", archive)}
        return self.http.post("/api/deployment/xapp", data={"xAppForm": json.dumps(form)}, files=file)

    def xapps(self) -> dict[str, dict[str, Any]]:
        """Return the records of all xApps by name."""
        answer = self.http.get("/api/xapps", params={"per_page": 100, "namespace": NAMESPACE})
        answer.raise_for_status()
        return {record["name"]: record for record in answer.json()["content"]}

    def wait_ready(self, *names: str) -> dict[str, dict[str, Any]]:
        """Wait until these xApps are ready, and return the records of all."""

        def ready() -> dict[str, dict[str, Any]] | None:
            found = self.xapps()
            return found if all(name in found and found[name]["ready"] for name in names) else None

        return wait_until(ready, timeout=DEADLINE_SECONDS, what=f"{', '.join(names)} to be ready", interval=0.5)

    def remove_all(self) -> None:
        """Delete all xApps and wait for it."""
        self.system.cluster.kubectl("delete", "xapps", "--all", "-n", NAMESPACE, f"--timeout={DEADLINE_SECONDS:.0f}s")


@dataclass(slots=True)
class ListPoller:
    """A client that requests the list in a loop, and repeats a failed request once, immediately."""

    http: httpx.Client
    answered: int = 0
    repeated: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Poll during the block."""
        ended = threading.Event()

        def poll() -> None:
            while not ended.is_set():
                first = self._request_list()
                if first:
                    self.repeated.append(first)
                    again = self._request_list()
                    if again:
                        self.failed.append(again)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _request_list(self) -> str | None:
        """Request the list once, and return the error, if any."""
        try:
            answer = self.http.get("/api/xapps")
        except httpx.HTTPError as error:
            return repr(error)
        self.answered += 1
        return None if answer.status_code == httpx.codes.OK else f"{answer.status_code} {answer.text}"


def _can_create_xapps(installation: Installation, account: str) -> bool:
    """Return whether RBAC already applies: the gateway would cache a refusal for seconds."""
    who = f"--as=system:serviceaccount:{NAMESPACE}:{account}"
    try:
        installation.cluster.kubectl("auth", "can-i", "create", "xapps.xapp-operator.io", who, "-n", NAMESPACE)
    except KubectlFailed:
        return False
    return True


def _account(name: str, *, role: str | None) -> list[dict[str, object]]:
    metadata = {"name": name, "namespace": NAMESPACE}
    account: dict[str, object] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    if role is None:
        return [account]
    group = "rbac.authorization.k8s.io"
    return [
        account,
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    ]
