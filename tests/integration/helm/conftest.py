"""The engine with the real helm, charts from strings, and a namespace for releases."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.localcluster import Binaries, Cluster
from tests.support.charts import chart_archive
from tests.support.helm_requests import no_secrets
from xapp_operator.api.json import JsonObject
from xapp_operator.config.settings import Settings
from xapp_operator.domain.chart_values.yaml_values import dump_values
from xapp_operator.domain.masking.redaction import secret_texts
from xapp_operator.helm.engine import HelmEngine
from xapp_operator.helm.requests import ReleaseRequest, RollbackRequest, TestRequest, UninstallRequest

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  {{- toYaml .Values.data | nindent 2 }}
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Values.app }}}}
  template:
    metadata: {labels: {app: {{ .Values.app }}}}
    spec: {containers: [{name: main, image: example.com/xapp:{{ .Values.tag }}}]}
"""

HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  annotations: {helm.sh/hook: "%(events)s"}
spec:
  backoffLimit: 0
  template:
    metadata:
      labels: {%(labels)s}
      annotations: {xapp-operator.io/test-complete-after: "%(seconds)ds"}
    spec: {restartPolicy: Never, containers: [{name: main, image: example.com/hook:1}]}
"""

SIMPLE = {"values.yaml": "data: {a: one}\n", "templates/configmap.yaml": CONFIGMAP}
WORKLOAD = {"values.yaml": "app: one\ntag: 1\n", "templates/deployment.yaml": DEPLOYMENT}


def hook(events: str, *, seconds: int = 0, fails: bool = False) -> str:
    """Return a Job that is a hook at `events`; it ends after `seconds`."""
    labels = 'xapp-operator.io/test-fail: "Error"' if fails else ""
    return HOOK % {"events": events, "seconds": seconds, "labels": labels}


class MakeChart(Protocol):
    """Writes a chart and returns its path."""

    def __call__(self, files: Mapping[str, str | bytes] | None = None, **about: str) -> Path: ...


@pytest.fixture
def chart(tmp_path: Path) -> MakeChart:
    numbers = itertools.count()

    def make(files: Mapping[str, str | bytes] | None = None, **about: str) -> Path:
        path = tmp_path / f"chart-{next(numbers)}.tgz"
        path.write_bytes(chart_archive(SIMPLE if files is None else files, **about))
        return path

    return make


@pytest.fixture
def helm_settings(binaries: Binaries, tmp_path: Path) -> Settings:
    return Settings(helm=str(binaries.resolve(["helm"])["helm"]), cache_dir=tmp_path / "cache")


@pytest.fixture
def offline(helm_settings: Settings) -> Iterator[HelmEngine]:
    """An engine without a cluster."""
    engine = HelmEngine(helm_settings)
    yield engine
    engine.close()


@pytest.fixture
def engine(helm_settings: Settings, cluster: Cluster) -> Iterator[HelmEngine]:
    engine = HelmEngine(helm_settings, kubeconfig=str(cluster.kubeconfig))
    yield engine
    engine.close()


@dataclass(frozen=True, slots=True)
class HelmNamespace:
    """One namespace: requests for it, and its objects."""

    cluster: Cluster
    namespace: str
    make_chart: Callable[..., Path]

    def release_request(
        self, name: str = "hello", *, chart: Path | None = None, values: JsonObject | None = None, **options: Any
    ) -> ReleaseRequest:
        options.setdefault("timeout", 60)
        where = chart or self.make_chart()
        options["secrets"] = secret_texts(values or {}) | options.get("secrets", frozenset())
        return ReleaseRequest(
            name=name, namespace=self.namespace, chart=where, values=dump_values(values or {}), **options
        )

    def uninstall_request(self, name: str = "hello", **options: Any) -> UninstallRequest:
        options.setdefault("read_secrets", no_secrets)
        return UninstallRequest(name=name, namespace=self.namespace, timeout=60, **options)

    def rollback_request(self, revision: int, name: str = "hello", **options: Any) -> RollbackRequest:
        options.setdefault("read_secrets", no_secrets)
        return RollbackRequest(name=name, namespace=self.namespace, revision=revision, timeout=60, **options)

    def test_request(self, name: str = "hello", **options: Any) -> TestRequest:
        options.setdefault("timeout", 60)
        options.setdefault("read_secrets", no_secrets)
        return TestRequest(name=name, namespace=self.namespace, **options)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.cluster.kubectl(*arguments, "--namespace", self.namespace, input=stdin)

    def get(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "--output", "json"))
        return found

    def names(self, kind: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.get(kind)["items"]}

    def revision_statuses(self) -> dict[int, str]:
        """Return revision → status of every release record."""
        labels = [item["metadata"]["labels"] for item in self.get("secrets", "--selector", "owner=helm")["items"]]
        return {int(each["version"]): each["status"] for each in labels}

    def create_account(self, name: str, *rights: str) -> str:
        """Create a service account with `rights` like `get,list:configmaps,secrets`; return its user name."""
        self.kubectl("create", "serviceaccount", name)
        for number, right in enumerate(rights):
            verbs, _, resources = right.partition(":")
            role = f"{name}-{number}"
            self.kubectl("create", "role", role, f"--verb={verbs}", f"--resource={resources}")
            self.kubectl("create", "rolebinding", role, f"--role={role}", f"--serviceaccount={self.namespace}:{name}")
        return f"system:serviceaccount:{self.namespace}:{name}"


@pytest.fixture
def helm_namespace(cluster: Cluster, namespace: str, chart: MakeChart) -> HelmNamespace:
    return HelmNamespace(cluster, namespace, chart)
