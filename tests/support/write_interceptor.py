"""Stops a write of the operator, or of its helm, in the API server, while a test does something to the operator."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.localcluster import Cluster
from tests.localcluster.pki import Authority
from tests.localcluster.waiting import wait_until
from tests.support.http_server import QuietServer

RESOURCES: Final = {
    "": ["secrets", "configmaps", "services"],
    "apps": ["deployments"],
    "xapp-operator.io": ["xapps", "xapps/status", "chartarchives"],
}
HELD_SECONDS: Final = 30
OF_ARCHIVE: Final = -1
"""In place of a number: the first write of a ChartArchive."""
READY_SECONDS: Final = 30.0

Json = dict[str, Any]


class HeldWrites:
    """Writes that wait in the API server: of each step, that with a number of its own, and what follows it.

    A step is known by a text that the names of its objects contain, and those of no other step. Writes of ChartArchives
    are not counted, because the operator makes one at a time in each namespace: one that waits would hold up all steps.
    """

    def __init__(self, numbers: Mapping[str, int], *, after: bool) -> None:
        self._numbers = dict(numbers)
        self._after = after
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.writes: dict[str, list[str]] = {step: [] for step in numbers}
        """Of each step, each as `UPDATE xapps/status hello`, also those after the release."""
        self.steps: set[str] = set()
        """The steps of which a write waits, or did until the release."""
        self.given_up: set[str] = set()
        """The steps of which a write had to be answered before the release: the API server waits no longer."""

    def release(self) -> None:
        """Answer the writes that wait, and let through what follows."""
        self._released.set()

    def decide(self, name: str, write: str) -> bool:
        """Return whether a write of the object `name` is allowed, when that is known."""
        step = next((each for each in self._numbers if each in name), None)
        is_of_archive = " chartarchives " in write
        if step is None or is_of_archive != (self._numbers[step] == OF_ARCHIVE):
            return True
        with self._lock:
            before = len(self.writes[step])
            self.writes[step].append(write)
            if before < self._numbers[step] or self._released.is_set():
                return True
            self.steps.add(step)
        if not self._released.wait(HELD_SECONDS - 1):
            self.given_up.add(step)
        return self._after or before > max(self._numbers[step], 0)


class WriteInterceptor:
    """A validating webhook for one namespace, asked before each write that is not of a controller or of kubectl.

    It is asked within the request: what it denies is not stored, and what it allows is stored after its answer.
    """

    def __init__(self, cluster: Cluster, namespace: str, folder: Path) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._lock = threading.Lock()
        self._act: Callable[[], None] | None = None
        self._left = 0
        self._allow = True
        self._asked = False
        self._held: HeldWrites | None = None
        pair = Authority(folder / "webhook").issue("webhook", common_name="webhook")
        self._authority = (folder / "webhook" / "ca.crt").read_bytes()
        interceptor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                allowed = interceptor.decide(request)
                answer = {"uid": request["uid"], "allowed": allowed}
                body = json.dumps(
                    {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                pass

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._cluster.kubectl("apply", "-f", "-", input=json.dumps(self._configuration()))
        wait_until(self._is_asked, timeout=READY_SECONDS, what="the API server to ask the webhook")
        return self

    def _is_asked(self) -> bool:
        name = ("create", "configmap", "write-interceptor")
        self._cluster.kubectl("-n", self._namespace, *name, "--dry-run=server")
        return self._asked

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held is not None:
            self._held.release()
        self._cluster.kubectl("delete", "validatingwebhookconfiguration", self._namespace)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def arm(self, act: Callable[[], None], *, write: int, after: bool) -> None:
        """Call `act` at the write with this number (from 0), which is stored afterwards, or not.

        Until then, writes are counted; later ones are let through.
        """
        with self._lock:
            self._act, self._left, self._allow = act, write, after

    def hold(self, numbers: Mapping[str, int], *, after: bool) -> HeldWrites:
        """Hold back writes of several steps until the returned object releases them; see there.

        `numbers` are those of the writes, from 0. Each is stored after the release if `after` is true, and not
        otherwise.
        """
        self._held = HeldWrites(numbers, after=after)
        return self._held

    def decide(self, request: Json) -> bool:
        """Return whether a write is allowed."""
        self._asked = True
        if _is_of_others(request):
            return True
        if self._held is not None:
            return self._held.decide(request["name"], _describe(request))
        with self._lock:
            if self._act is None:
                return True
            self._left -= 1
            if self._left >= 0:
                return True
            act, self._act = self._act, None
            act()
            return self._allow

    def _configuration(self) -> Json:
        rules = [
            {"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": resources}
            for group, resources in RESOURCES.items()
        ]
        hook = {
            "name": "writes.example.com",
            "clientConfig": {
                "url": f"https://127.0.0.1:{self._server.server_port}/",
                "caBundle": base64.b64encode(self._authority).decode(),
            },
            "rules": rules,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
            "failurePolicy": "Fail",
            "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": HELD_SECONDS,
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": self._namespace},
            "webhooks": [hook],
        }


def _is_of_others(request: Json) -> bool:
    """Return whether a controller sent it, or a test with kubectl, or nothing is stored anyway."""
    manager: str = (request.get("options") or {}).get("fieldManager", "")
    deletes_xapp = request["operation"] == "DELETE" and request["resource"]["resource"] == "xapps"
    is_of_system = request["userInfo"]["username"].startswith("system:")
    return request.get("dryRun", False) or deletes_xapp or is_of_system or manager.startswith("kubectl")


def _describe(request: Json) -> str:
    resource = "/".join(filter(None, (request["resource"]["resource"], request.get("subResource"))))
    return f"{request['operation']} {resource} {request['name']}"
