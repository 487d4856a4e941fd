"""Creates ChartRepositories, and loads them with their credentials and CA bundle for downloads.

The operator acts as itself, the gateway as its caller.
"""

from __future__ import annotations

import base64
import binascii

from xapp_operator.api.chart_repository import ChartRepositorySpec
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import API_VERSION, REPOSITORY_KIND
from xapp_operator.charts.chart_request import BasicCredentials, Repository, RepositoryCredentials, TokenCredentials
from xapp_operator.errors import ChartSourceError, NotFound
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS


async def load_repository(client: KubeClient, spec: ChartRepositorySpec, *, namespace: str) -> Repository:
    """Return the repository that `spec` describes, with the credentials from its Secrets in `namespace`.

    Raises:
        ChartSourceError: when a Secret is missing or incomplete (permanent).
        KubeError: when `client` may not read a Secret.
    """
    secret_names = {reference.name for reference in (spec.secret_ref, spec.ca_secret_ref) if reference is not None}
    secrets = {name: await _read_secret(client, name, namespace=namespace) for name in sorted(secret_names)}
    credentials = bundle = None
    if spec.secret_ref is not None:
        credentials = _credentials(secrets[spec.secret_ref.name], spec.secret_ref.name)
    if spec.ca_secret_ref is not None:
        name, key = spec.ca_secret_ref.name, spec.ca_secret_ref.key
        bundle = secrets[name].get(key)
        if bundle is None:
            raise _unusable_repository(f"Secret {name} has no key {key}: add the CA bundle")
    return Repository(
        url=spec.url,
        credentials=credentials,
        ca_bundle=bundle,
        insecure_skip_tls_verify=spec.insecure_skip_tls_verify,
        interval_seconds=spec.interval_seconds,
        namespace=namespace,
    )


async def create_chart_repository(client: KubeClient, spec: JsonObject, *, namespace: str, name: str) -> JsonObject:
    """Create a ChartRepository with `spec` and return it as stored.

    Raises:
        AlreadyExists: when there is one of that name.
        KubeError: when the cluster refuses it.
    """
    body: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": REPOSITORY_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    return await client.create(CHART_REPOSITORIES, body)


async def _read_secret(client: KubeClient, name: str, *, namespace: str) -> dict[str, str]:
    try:
        data = obj(await client.get(SECRETS, name, namespace=namespace), "data")
    except NotFound:
        raise _unusable_repository(f"Secret {name} does not exist: create it, or remove the reference") from None
    try:
        return {key: base64.b64decode(text(data, key)).decode() for key in data}
    except (binascii.Error, UnicodeDecodeError):
        raise _unusable_repository(f"Secret {name} contains data that is not text: create it again") from None


def _credentials(data: dict[str, str], name: str) -> RepositoryCredentials:
    if token := data.get("token"):
        return TokenCredentials(token)
    if "username" in data and "password" in data:
        return BasicCredentials(data["username"], data["password"])
    raise _unusable_repository(f"Secret {name} needs the keys username and password, or token")


def _unusable_repository(reason: str) -> ChartSourceError:
    return ChartSourceError(f"the ChartRepository cannot be used: {reason}", permanent=True)
