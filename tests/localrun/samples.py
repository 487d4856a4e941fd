"""The two sample xApps: one uploaded through the gateway, one applied with kubectl."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import yaml

from tests.localcluster import Cluster
from tests.localcluster.realnode.node import NODE_LABELS, NODE_TAINT
from tests.localrun.charts import PackedChart, pack_chart

NAMESPACE = "ric-xapps"
UPLOADED_XAPP = "acme-ran-hello-world"
APPLIED_XAPP = "acme-ran-kpi-store"
REPOSITORY_PORT = 31316
REAL_NODE_VALUES: Mapping[str, object] = {
    "nodeSelector": NODE_LABELS,
    "tolerations": [{"key": NODE_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
}
"""Values that make a sample's pods run only on the real node."""
METADATA_PATH = f"/api/xapps/{NAMESPACE}/{UPLOADED_XAPP}/api/metadata"
"""Where the gateway serves the API of the uploaded sample."""

_REQUEST_SECONDS = 60.0


class SampleFailed(Exception):
    """A sample xApp was refused or cannot become Ready; the message contains the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The files under ``manifests/samples``: two charts, a form with values for one, a manifest for the other."""

    hello_world: PackedChart
    kpi_store: PackedChart
    form: str
    values: bytes
    manifest: str

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read and pack them."""
        return cls(
            hello_world=pack_chart(folder / "charts" / "hello-world"),
            kpi_store=pack_chart(folder / "charts" / "kpi-store"),
            form=(folder / "hello-world.form.json").read_text(),
            values=(folder / "hello-world.values.yaml").read_bytes(),
            manifest=(folder / "kpi-store.yaml").read_text(),
        )

    @property
    def charts(self) -> Sequence[PackedChart]:
        """Both charts."""
        return self.hello_world, self.kpi_store

    def on_real_node(self) -> Self:
        """Return the samples with values that make the pods run on the real node."""
        manifest = yaml.safe_load(self.manifest)
        manifest["spec"]["values"] |= REAL_NODE_VALUES
        return replace(
            self,
            values=self.values + yaml.safe_dump(dict(REAL_NODE_VALUES)).encode(),
            manifest=yaml.safe_dump(manifest, sort_keys=False),
        )

    def manifest_for(self, repository: str) -> str:
        """Return the manifest with the URL of ``repository``."""
        return self.manifest.replace(f"http://127.0.0.1:{REPOSITORY_PORT}", repository)


@dataclass(frozen=True, slots=True)
class XAppRecord:
    """The fields of the gateway's record that `make run` uses."""

    ready: bool
    stalled: bool
    phase: str
    message: str

    @classmethod
    def from_json(cls, answer: str) -> Self:
        """Read the JSON of GET /api/xapps/{namespace}/{name}."""
        raw = json.loads(answer)
        stalled = any(each["type"] == "Stalled" and each["status"] == "True" for each in raw["conditions"] or [])
        return cls(bool(raw["ready"]), stalled, str(raw["phase"] or "Pending"), str(raw["message"] or ""))


class SampleGatewayClient:
    """A client of the gateway, which sends the token, if any, with every request."""

    def __init__(self, url: str, *, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=url, headers=headers, timeout=_REQUEST_SECONDS, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def ready(self) -> bool:
        """Return whether the gateway answers and its caches are synced."""
        try:
            return self._client.get("/readyz").is_success
        except httpx.TransportError:
            return False

    def upload(self, samples: Samples) -> None:
        """Deploy hello-world with form, file and values, or upgrade it if it exists.

        Raises SampleFailed with the gateway's message.
        """
        parts: dict[str, tuple[str | None, str | bytes]] = {
            "xAppForm": (None, samples.form),
            "file": (samples.hello_world.file_name, samples.hello_world.data),
            "values": ("values.yaml", samples.values),
        }
        try:
            answer = self._client.post("/api/deployment/xapp", files=parts)
            if answer.status_code == HTTPStatus.CONFLICT:
                answer = self._client.put(f"/api/deployment/xapp/{NAMESPACE}/{UPLOADED_XAPP}", files=parts)
        except httpx.TransportError as error:
            raise SampleFailed(f"the gateway did not answer the upload of {UPLOADED_XAPP}: {error}") from error
        if answer.status_code != HTTPStatus.ACCEPTED:
            raise SampleFailed(f"the gateway refused {UPLOADED_XAPP} ({answer.status_code}): {answer.text}")

    def record(self, name: str) -> XAppRecord | None:
        """Return the record of a sample, or None while there is none or the gateway restarts."""
        try:
            answer = self._client.get(f"/api/xapps/{NAMESPACE}/{name}")
        except httpx.TransportError:
            return None
        return XAppRecord.from_json(answer.text) if answer.is_success else None


def real_node_patch() -> str:
    """Return a merge patch of an XApp that moves its pods to the real node."""
    return yaml.safe_dump({"spec": {"values": dict(REAL_NODE_VALUES)}}, sort_keys=False)


def delete_samples(cluster: Cluster, *, timeout: float) -> None:
    """Delete the samples and wait for it at most ``timeout`` seconds. Raises KubectlFailed."""
    names = [f"xapp/{name}" for name in (UPLOADED_XAPP, APPLIED_XAPP)]
    cluster.kubectl("delete", *names, "-n", NAMESPACE, "--ignore-not-found", f"--timeout={timeout:.0f}s")
