"""Watches the Secrets of the namespaces that hold XApps, as metadata: Helm's release records, and what XApps refer to.

The operator may read Secrets only where a RoleBinding says so. So there is one watch for each namespace, from its first
XApp to its last. Where the RoleBinding is missing, the watch is refused, and begins when somebody creates it. With
`XAPP_SECRETS_WATCH=cluster` and the right to read all Secrets, one watch serves all namespaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import OPERATOR_ACCOUNT, SECRETS_ROLE
from xapp_operator.common.clock import SYSTEM_CLOCK, Clock
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, KubeError
from xapp_operator.helm.releases.release_index import ReleaseKey, RevisionInfo, parse_revision
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS
from xapp_operator.kube.watch.namespaced_watch import NamespacedWatch
from xapp_operator.kube.watch.watch_cache import Subscriber, WatchCache
from xapp_operator.monitor.live_objects import LiveObject, xapp_live_object

HELM_OWNER: Final = "helm"

RevisionEntry: TypeAlias = tuple[ReleaseKey, RevisionInfo]


class OtherSecret(NamedTuple):
    """A Secret that is not one of Helm's; `live` is set if it is an object of an XApp's release."""

    resource_version: str
    live: LiveObject | None


SecretEntry: TypeAlias = RevisionEntry | OtherSecret
"""A revision of a release, or another Secret."""


class SecretWatch:
    """The Secrets of all namespaces that hold XApps."""

    def __init__(
        self,
        kube: KubeClient,
        settings: Settings,
        *,
        on_status: Callable[[str | None], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Prepare without a watch.

        Args:
            kube: the client.
            settings: `secrets_watch` and `namespaces` are used.
            on_status: called with a namespace (None: all) when `is_starting` or `unavailable` has changed there.
            clock: for the times of releases.
        """
        self._kube = kube
        self._clock = clock
        self._cluster_wide = settings.secrets_watch == "cluster" and not settings.namespaces
        self._account = f"{settings.leader_election_namespace}:{OPERATOR_ACCOUNT}"
        self._watch: NamespacedWatch[SecretEntry] = NamespacedWatch(
            self._make_cache, cluster_wide=self._cluster_wide, on_status=self._report_status
        )
        self._on_status = on_status
        self._reported: dict[str | None, tuple[bool, bool]] = {}
        self._ended: list[Callable[[str], None]] = []

    async def stop(self) -> None:
        await self._watch.stop()

    def subscribe(self, subscriber: Subscriber[SecretEntry]) -> None:
        """Call `subscriber` for every change; what is not watched any more counts as deleted."""
        self._watch.subscribe(subscriber)

    def subscribe_ended(self, subscriber: Callable[[str], None]) -> None:
        """Call `subscriber` with each namespace that is not watched any more, after all of its Secrets are deleted."""
        self._ended.append(subscriber)

    def set_needed(self, namespace: str, *, needed: bool) -> None:
        """Begin or end the watch of a namespace; it may be as `needed` already."""
        if needed:
            self._watch.add_namespace(namespace)
        else:
            if self._watch.remove_namespace(namespace):
                for subscriber in self._ended:
                    subscriber(namespace)
            self._reported.pop(namespace, None)

    def is_starting(self, namespace: str) -> bool:
        """Return whether nothing is known yet about the Secrets of a namespace, not even a failure."""
        return not self._watch.is_synced(namespace) and self._watch.failure(namespace) is None

    def is_listed(self, namespace: str) -> bool:
        """Return whether the Secrets of a namespace have been listed, and are watched since then."""
        return self._watch.is_synced(namespace)

    def is_watched(self, namespace: str) -> bool:
        """Return whether every change of a Secret in this namespace arrives here, after an outage at the latest."""
        return self._watch.is_synced(namespace) and not isinstance(self._watch.failure(namespace), AccessDenied)

    def unavailable(self, namespace: str) -> KubeError | None:
        """Return why the releases of a namespace are not known; None when they are, also during an outage."""
        failure = self._watch.failure(namespace)
        if isinstance(failure, AccessDenied):
            return self._explain(namespace, failure)
        return None if self._watch.is_synced(namespace) else failure

    def resource_version(self, namespace: str, name: str) -> str | None:
        """Return the resource version of a Secret, or None if it is not known to exist."""
        found = self._watch.get(namespace=namespace, name=name)
        if found is None:
            return None
        return found.resource_version if isinstance(found, OtherSecret) else found[1].resource_version

    @property
    def last_contact(self) -> float:
        """Return when a watch last had contact with the API server (monotonic seconds)."""
        return self._watch.last_contact

    def _make_cache(self, namespaces: tuple[str, ...], on_status: Callable[[], None]) -> WatchCache[SecretEntry]:
        return WatchCache(
            self._kube,
            SECRETS,
            transform=self._secret_entry,
            namespaces=namespaces,
            metadata_only=True,
            on_status=on_status,
        )

    def _report_status(self, namespace: str | None) -> None:
        name = namespace or ""  # if all are watched, any name will do
        status = (self.is_starting(name), self.unavailable(name) is None)
        if self._reported.get(namespace) != status:
            self._reported[namespace] = status
            self._on_status(namespace)

    def _explain(self, namespace: str, error: AccessDenied) -> AccessDenied:
        """Return the error with what is missing and the command that adds it."""
        if self._cluster_wide:
            return AccessDenied(
                "XAPP_SECRETS_WATCH is cluster, but the operator may not list and watch the Secrets of all namespaces. "
                f"Apply manifests/overlays/cluster-wide-secrets, or unset XAPP_SECRETS_WATCH. {error.message}"
            )
        return AccessDenied(
            f"the operator may not read the Secrets of this namespace, where Helm keeps its releases: the RoleBinding "
            f"{SECRETS_ROLE} is missing. Apply manifests/xapp-namespace to the namespace, or run: kubectl create "
            f"rolebinding {SECRETS_ROLE} --namespace={namespace} --clusterrole={SECRETS_ROLE} "
            f"--serviceaccount={self._account}. {error.message}"
        )

    def _secret_entry(self, secret: JsonObject) -> SecretEntry:
        metadata = obj(secret, "metadata")
        if text(obj(metadata, "labels"), "owner") == HELM_OWNER:  # which anyone can set on any Secret
            revision = parse_revision(secret, now=self._clock.now())
            if revision is not None:
                return revision
        return OtherSecret(text(metadata, "resourceVersion"), xapp_live_object(secret, kind=SECRETS.kind))
