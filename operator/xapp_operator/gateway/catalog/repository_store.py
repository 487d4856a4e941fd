"""The store of saved ChartRepositories: their entries, filters and watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from xapp_operator.api.chart_repository import ChartRepositorySpec
from xapp_operator.api.conditions import READY
from xapp_operator.api.json import JsonObject, integer, items, obj, pack_json, text
from xapp_operator.charts.chart_request import OCI
from xapp_operator.config.settings import Settings
from xapp_operator.gateway.catalog.change_times import spec_changed_at
from xapp_operator.gateway.catalog.object_store import FilterValues, WatchedStore
from xapp_operator.gateway.catalog.store_history import SortKey
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES

REPOSITORY_SORTS: Final = ("created", "name")
"""What the list sorts by, in the order of `RepositoryEntry.sort_keys`; the first is the default."""


@dataclass(frozen=True, slots=True)
class RepositoryEntry:
    """One ChartRepository as the gateway keeps it; `record_json` is its record in the list."""

    namespace: str
    name: str
    uid: str
    spec: ChartRepositorySpec
    record_json: bytes
    sort_keys: tuple[SortKey, ...]
    search_text: str

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory its texts take."""
        return len(self.record_json) + len(self.search_text)

    @property
    def is_oci(self) -> bool:
        """Tell whether it is a registry, which has no index."""
        return self.spec.url.startswith(f"{OCI}://")


def build_repository_entry(raw: JsonObject) -> RepositoryEntry:
    spec = ChartRepositorySpec.model_validate(obj(raw, "spec"))
    metadata, status = obj(raw, "metadata"), obj(raw, "status")
    name, namespace, uid = (text(metadata, field) for field in ("name", "namespace", "uid"))
    condition = next((each for each in items(status, "conditions") if text(each, "type") == READY), None)
    generation = integer(metadata, "generation")
    observed = integer(status, "observedGeneration", -1) >= generation
    record: JsonObject = {
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "generation": generation,
        "updatedAt": spec_changed_at(metadata),
        "url": spec.url,
        "type": spec.url.partition("://")[0].replace("https", "http"),
        "charts": status.get("charts"),
        "lastFetched": status.get("lastFetched"),
        "ready": observed and text(condition, "status") == "True" and "deletionTimestamp" not in metadata,
        "message": (text(condition, "message") or None) if observed else None,
        "interval": spec.interval,
        "hasCredentials": spec.secret_ref is not None,
        "hasCaBundle": spec.ca_secret_ref is not None,
        "insecureSkipTLSVerify": spec.insecure_skip_tls_verify,
        "allowPlainHTTP": spec.allow_plain_http,
        "verify": None
        if spec.verify is None
        else {"provider": spec.verify.provider, "secretRef": {"name": spec.verify.secret_ref.name}},
    }
    return RepositoryEntry(
        namespace=namespace,
        name=name,
        uid=uid,
        spec=spec,
        record_json=pack_json(record),
        sort_keys=((text(metadata, "creationTimestamp"), uid), (name, uid)),
        search_text=f"{name}\n{spec.url}".casefold(),
    )


class RepositoryFilters(NamedTuple):
    """The filters of the list of repositories."""

    namespace: FilterValues = ()
    search: FilterValues = ()

    def predicate(self) -> Callable[[RepositoryEntry], bool] | None:
        if not self.search:
            return None
        searches = tuple(each.casefold() for each in self.search)
        return lambda entry: any(each in entry.search_text for each in searches)


WatchedRepositories: TypeAlias = WatchedStore[RepositoryEntry]


def watch_repositories(kube: KubeClient, settings: Settings) -> WatchedRepositories:
    return WatchedStore(
        kube,
        settings,
        CHART_REPOSITORIES,
        sorts=REPOSITORY_SORTS,
        build_entry=build_repository_entry,
        plural_name="chart repositories",
    )
