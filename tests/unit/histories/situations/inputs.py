"""Charts and values: where they come from."""

from __future__ import annotations

from tests.support.charts import chart_archive, chart_archive_manifest
from tests.support.fakes.api_server import Target
from tests.support.fakes.histories import CONFIGMAP, History
from tests.support.fakes.operator import NAMESPACE
from tests.support.fakes.value_secrets import create_values, replace_secret, secret
from tests.unit.histories.situations.actions import (
    Play,
    change,
    install,
    store,
)


async def read_values_from_objects(history: History) -> None:
    sources = [
        {"kind": "Secret", "name": "later"},
        {"kind": "ConfigMap", "name": "settings", "optional": True},
        {"kind": "Secret", "name": "never", "optional": True},
    ]
    await install(history, 30.0, valuesFrom=sources, serviceAccountName="robot")
    create_values(history, "later", "text: later\n")
    await history.cluster.wait(20.0)
    config = {"metadata": {"name": "settings"}, "data": {"values.yaml": "text: [", "tag": "one"}}
    history.cluster.server.create(Target("", "v1", "configmaps", NAMESPACE), config)
    await history.cluster.wait(20.0)
    target = Target("", "v1", "configmaps", NAMESPACE, "settings")
    change(history, target, {"data": {"values.yaml": "text: settings\n"}})
    await history.cluster.wait(20.0)
    replace_secret(history, secret("later", values__yaml="more: 1\n"))
    await history.cluster.wait(20.0)
    history.note("kubectl deletes settings")
    history.cluster.server.delete(target, {})
    await history.cluster.wait(20.0)


async def ask_for_another_chart(history: History) -> None:
    gone = {"chartArchiveRef": {"name": "gone"}, "digest": None}
    await install(history, 60.0, archive=gone)
    first = store(history, cm=CONFIGMAP)
    second = store(history, version="0.2.0", cm=CONFIGMAP)
    for archive in (first, second, {**first, "digest": "sha256:" + "0" * 64}, first):
        history.edit(archive=archive)
        await history.cluster.wait(20.0)
    history.edit(namespace="elsewhere")
    await history.cluster.wait(20.0)
    history.edit(namespace=NAMESPACE)
    await history.cluster.wait(20.0)


async def skip_a_schema(history: History) -> None:
    files = {
        "values.yaml": "tag: one\n",
        "templates/cm.yaml": CONFIGMAP,
        "values.schema.json": '{"$ref": "https://schemas.example.com/values.json"}',
    }
    stored = chart_archive_manifest(chart_archive(files), namespace=NAMESPACE)
    history.cluster.create(stored)
    chart = {"chartArchiveRef": {"name": stored["metadata"]["name"]}, "digest": stored["spec"]["digest"]}
    await install(history, archive=chart)


async def install_large_values(history: History) -> None:
    await install(history, values={"tag": "one", "large": "x" * 70_000})
    history.cluster.helm.pause = 5.0
    history.set_tag("two")
    await history.cluster.wait(60.0)


PLAYS: tuple[Play, ...] = (
    read_values_from_objects,
    ask_for_another_chart,
    skip_a_schema,
    install_large_values,
)
