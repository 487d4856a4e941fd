"""Stops a write of the operator, or of its helm, in the API server, while a test does something to the operator."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Callable
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
READY_SECONDS: Final = 30.0

Json = dict[str, Any]


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
        self.acted = threading.Event()
        self.writes: list[str] = []
        """Since the last call of `arm`, each as `PATCH xapps/status hello`."""
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
        self._cluster.kubectl("delete", "validatingwebhookconfiguration", self._namespace)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def arm(self, act: Callable[[], None], *, write: int, after: bool) -> None:
        """Call `act` at the write with this number (from 0), which is stored afterwards, or not.

        Until then, writes are counted; later ones are let through. `acted` is set when `act` has returned.
        """
        with self._lock:
            self._act, self._left, self._allow = act, write, after
            self.acted.clear()
            self.writes = []

    def disarm(self) -> None:
        """Count no more writes, and let all through."""
        with self._lock:
            self._act = None

    def decide(self, request: Json) -> bool:
        """Return whether a write is allowed."""
        self._asked = True
        if _is_of_others(request):
            return True
        with self._lock:
            if self._act is None:
                return True
            self.writes.append(_describe(request))
            self._left -= 1
            if self._left >= 0:
                return True
            act, self._act = self._act, None
            act()
            self.acted.set()
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
