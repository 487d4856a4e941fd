"""What a restart of the operator costs when there are many XApps."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.support.fakes.api_server import target_of
from tests.support.fakes.helm_records import decode_record, encode_record
from tests.support.fakes.histories import STORED_CHART, History, run_history, xapp_body
from tests.support.fakes.json_patch import Json
from tests.support.fakes.operator import NAMESPACE
from xapp_operator.config.settings import Settings

MANY = 1000
ORIGINAL = "original"
"""The XApp that the operator deploys; the others are copies of it."""
COPIED = ("secrets", "configmaps", "deployments", "xapps")
"""The kinds of its objects. Its status names the uid of the Secret, so it comes last."""
DOWN_SECONDS = 10.0
"""Time for the copies of the Deployment to become ready."""


async def deploy_original(history: History) -> None:
    history.cluster.create(STORED_CHART)
    body = xapp_body(xAppName=ORIGINAL)
    history.cluster.create({**body, "metadata": {**body["metadata"], "name": ORIGINAL}})
    await history.settle()


def copy_original(history: History) -> None:
    """Copy all that is stored of the XApp until there are many, as if each of them had been deployed.

    It takes a small part of the time of deploying them. The operator must not run.
    """
    server = history.cluster.server
    originals = [body for plural in COPIED for body in server.all(plural)]
    for number in range(1, MANY):
        uids: dict[str, str] = {}
        for body in originals:
            copied = copy(body, {f'"{old}"': f'"{new}"' for old, new in uids.items()} | {ORIGINAL: f"hello-{number}"})
            target = target_of(copied, namespace=NAMESPACE)
            uids[body["metadata"]["uid"]] = server.create(target, copied)["metadata"]["uid"]
            if "status" in copied:
                server.patch(replace(target, subresource="status"), {"status": copied["status"]})
    keep_chart(history)


def copy(body: Json, texts: dict[str, str]) -> Json:
    """Return a copy of an object with other texts, in its release record too."""
    copied: Json = json.loads(with_texts(json.dumps(body), texts))
    for server_set in ("uid", "resourceVersion", "creationTimestamp"):
        del copied["metadata"][server_set]
    record = decode_record(body)
    if record is not None:
        copied["data"]["release"] = encode_record(json.loads(with_texts(json.dumps(record), texts)))
    return copied


def with_texts(text: str, texts: dict[str, str]) -> str:
    for old, new in texts.items():
        text = text.replace(old, new)
    return text


def keep_chart(history: History) -> None:
    """Let every XApp own the chart, as the operator does with each that it deploys."""
    server = history.cluster.server
    (chart,) = server.all("chartarchives")
    (owner,) = chart["metadata"]["ownerReferences"]
    xapps = [body["metadata"] for body in server.all("xapps")]
    owners = [{**owner, "name": metadata["name"], "uid": metadata["uid"]} for metadata in xapps]
    server.patch(target_of(chart, namespace=NAMESPACE), {"metadata": {"ownerReferences": owners}})


def are_ready(history: History) -> bool:
    names = [body["metadata"]["name"] for body in history.cluster.server.all("xapps")]
    ready = [history.cluster.condition("Ready", name) for name in names]
    return len(ready) == MANY and all(each is not None and each["status"] == "True" for each in ready)


def test_restart_with_many_xapps_writes_nothing_and_runs_no_helm(settings: Settings) -> None:
    async def play(history: History) -> None:
        cluster = history.cluster
        await deploy_original(history)
        cluster.downtime = DOWN_SECONDS
        cluster.restart()
        await cluster.wait(DOWN_SECONDS / 2)
        copy_original(history)
        assert are_ready(history)
        writes, steps, lives = len(cluster.writes), len(cluster.helm.steps), cluster.lives
        await cluster.wait(200.0)
        assert cluster.writes[writes:] == []
        assert (len(cluster.helm.steps), cluster.lives) == (steps, lives + 1)
        last = f"hello-{MANY - 1}"
        cluster.edit({"spec": {"values": {"tag": "two"}}}, last)
        await cluster.wait(20.0)
        assert [(each.command, each.release) for each in cluster.helm.steps[steps:]] == [("upgrade", last)]
        assert are_ready(history)

    run_history(settings, play)
