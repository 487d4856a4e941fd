"""Creates the namespace of an xApp, and what XApps need in it, with the token of the caller.

The content is that of manifests/xapp-namespace, which a test compares.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import OPERATOR_ACCOUNT, SECRETS_ROLE
from xapp_operator.config.settings import Settings
from xapp_operator.errors import AccessDenied, AlreadyExists, FieldError, KubeError, NotFound
from xapp_operator.gateway.auth.callers import Caller
from xapp_operator.gateway.deploy.forms import FORM_PART
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import NAMESPACES, ROLE_BINDINGS, SERVICE_ACCOUNTS, XAPPS, Resource
from xapp_operator.telemetry.logs import get_logger

POD_SECURITY_LABEL: Final = "pod-security.kubernetes.io/{mode}"
_DEPLOYER_ROLE: Final = "xapp-deployer"
"""The ClusterRole of manifests/base that the service account of helm has in a namespace."""

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class XAppNamespaces:
    """Finds and creates namespaces. `kube` only looks whether one exists; all writes use the token of the caller."""

    kube: KubeClient
    settings: Settings

    async def exists(self, name: str) -> bool:
        """Return whether there is a namespace `name`."""
        try:
            await self.kube.get(NAMESPACES, name, metadata_only=True)
        except NotFound:
            return False
        return True

    async def ensure(self, caller: Caller, name: str, cleanup: AsyncExitStack) -> None:
        """Create the namespace `name` if it is missing; `cleanup` deletes it again if a later step fails.

        Raises:
            AccessDenied: when the namespace is missing and the caller may not create it.
        """
        if await self.exists(name):
            return
        uid = await _create_namespace(caller.client, self._body(name), dry_run=False)
        if uid is not None:
            cleanup.push_async_callback(self._delete_created, caller.client, name, uid=uid)
            for resource, body in needed_objects(self.settings, name):
                await _create_needed(caller.client, resource, body)

    async def preview(self, caller: Caller, name: str) -> str:
        """Return the warning about a missing namespace; nothing is created. Raises as `ensure`."""
        await _create_namespace(caller.client, self._body(name), dry_run=True)
        return f"the namespace {name} does not exist and would be created"

    def _body(self, name: str) -> JsonObject:
        level = self.settings.namespace_pod_security
        # Charts that need more than `restricted` run, and their authors are told so.
        modes: JsonObject = {"enforce": level, "warn": "restricted"}
        labels: JsonObject = {POD_SECURITY_LABEL.format(mode=mode): modes[mode] for mode in modes}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}

    async def _delete_created(self, client: KubeClient, name: str, *, uid: str) -> None:
        try:
            if not (await self.kube.list(XAPPS, namespace=name)).items:
                await client.delete(NAMESPACES, name, uid=uid)
        except KubeError as error:
            _log.warning("namespace not deleted", namespace=name, error=error.message)


def needed_objects(settings: Settings, namespace: str) -> list[tuple[Resource, JsonObject]]:
    """Return what a namespace needs so that helm can act as its service account, and the operator can read releases.

    It is nothing if helm acts otherwise.
    """
    account = settings.default_service_account
    if account is None:
        return []
    return [
        (
            SERVICE_ACCOUNTS,
            {
                "apiVersion": SERVICE_ACCOUNTS.api_version,
                "kind": SERVICE_ACCOUNTS.kind,
                "metadata": {"name": account, "namespace": namespace},
                "automountServiceAccountToken": False,
            },
        ),
        _role_binding(account, role=_DEPLOYER_ROLE, account=account, account_namespace=namespace, namespace=namespace),
        _role_binding(
            SECRETS_ROLE,
            role=SECRETS_ROLE,
            account=OPERATOR_ACCOUNT,
            account_namespace=settings.leader_election_namespace,
            namespace=namespace,
        ),
    ]


def _role_binding(
    name: str, *, role: str, account: str, account_namespace: str, namespace: str
) -> tuple[Resource, JsonObject]:
    return ROLE_BINDINGS, {
        "apiVersion": ROLE_BINDINGS.api_version,
        "kind": ROLE_BINDINGS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": ROLE_BINDINGS.group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": SERVICE_ACCOUNTS.kind, "name": account, "namespace": account_namespace}],
    }


async def _create_needed(client: KubeClient, resource: Resource, body: JsonObject) -> None:
    """Create an object that XApps need, if the caller may.

    Otherwise an administrator or a controller of the cluster may create it later. Until then, the conditions of the
    XApp name what is missing.
    """
    try:
        await client.create(resource, body)
    except AlreadyExists:
        return
    except AccessDenied as error:
        metadata = obj(body, "metadata")
        _log.info(
            "namespace lacks an object that XApps need",
            namespace=text(metadata, "namespace"),
            kind=resource.kind,
            name=text(metadata, "name"),
            error=error.message,
        )


async def _create_namespace(client: KubeClient, body: JsonObject, *, dry_run: bool) -> str | None:
    """Create a namespace with the caller's token; return its uid, or None if it exists already."""
    name = text(obj(body, "metadata"), "name")
    try:
        return text(obj(await client.create(NAMESPACES, body, dry_run=dry_run), "metadata"), "uid")
    except AlreadyExists:
        return None
    except AccessDenied as error:
        message = (
            f"the namespace {name} does not exist and you may not create namespaces: ask an administrator to create it"
        )
        raise AccessDenied(
            message, errors=(FieldError(f"{FORM_PART}.namespace", message),), missing=error.missing
        ) from None
