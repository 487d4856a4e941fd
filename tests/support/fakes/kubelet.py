"""A kubelet in memory, for pods that end by themselves: it does what the stages of the test cluster do.

See `tests/localcluster/stages/pods.yaml` for the label and the annotation.
"""

from __future__ import annotations

import asyncio

from tests.support.fakes.api_server import FakeApiServer, Target
from tests.support.fakes.json_patch import Json

FAILS = "xapp-operator.io/test-fail"
COMPLETES_AFTER = "xapp-operator.io/test-complete-after"


def run_pods(server: FakeApiServer) -> None:
    """End each pod of the server, as its label and its annotation say, from now on."""

    def start(plural: str, body: Json) -> None:
        metadata = body["metadata"]
        if plural != "pods" or "status" in body:
            return
        seconds = float(metadata.get("annotations", {}).get(COMPLETES_AFTER, "0s").removesuffix("s"))
        asyncio.get_running_loop().call_later(seconds, _end, server, metadata)

    server.on_stored.append(start)


def _end(server: FakeApiServer, metadata: Json) -> None:
    body = server.find("pods", metadata["name"], namespace=metadata["namespace"])
    if body is None or body["metadata"]["uid"] != metadata["uid"]:
        return
    fails = FAILS in body["metadata"].get("labels", {})
    terminated = {"exitCode": 1, "reason": "Error"} if fails else {"exitCode": 0, "reason": "Completed"}
    containers = [{"name": each["name"], "state": {"terminated": terminated}} for each in body["spec"]["containers"]]
    status = {"phase": "Failed" if fails else "Succeeded", "containerStatuses": containers}
    target = Target("", "v1", "pods", metadata["namespace"], metadata["name"], "status")
    server.patch(target, {"status": status})
