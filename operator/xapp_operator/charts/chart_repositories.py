"""Creates ChartRepositories, and loads them with their credentials and CA bundle for downloads.

The operator acts as itself, the gateway as its caller.
"""

from __future__ import annotations

import asyncio
import base64
import binascii

from yarl import URL

from xapp_operator.api.chart_repository import ChartRepositorySpec, SignatureCheck
from xapp_operator.api.json import JsonObject, obj, text
from xapp_operator.api.names import (
    ANNOTATION_ORIGIN,
    API_VERSION,
    BASIC_AUTH_TYPE,
    REPOSITORY_CREDENTIALS_TYPE,
    REPOSITORY_KIND,
)
from xapp_operator.charts.chart_request import (
    BasicCredentials,
    Repository,
    RepositoryCredentials,
    TokenCredentials,
    format_origin,
    origin,
    parse_repository_url,
    plain_http_refused,
)
from xapp_operator.charts.signatures.trusted_keys import SignatureDemand, read_trusted_keys
from xapp_operator.domain.control_characters import has_control_characters
from xapp_operator.errors import AddressRefused, ChartSourceError, NotFound, SignatureInvalid
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import CHART_REPOSITORIES, SECRETS


async def load_repository(client: KubeClient, spec: ChartRepositorySpec, *, namespace: str) -> Repository:
    """Return the repository that `spec` describes, with the credentials from its Secrets in `namespace`.

    Credentials come only from a Secret that is made for it, and go only to the origin that the Secret names. So nobody
    can send any other Secret to a server of their own, and a new url gets no credentials until the Secret names it.

    Raises:
        ChartSourceError: when a Secret is missing, incomplete, or not for this repository (permanent).
        SignatureInvalid: when the keys that sign its charts cannot be read (permanent).
        AddressRefused: when the url is not valid, or credentials would go over http.
        KubeError: when `client` may not read a Secret.
    """
    credentials = bundle = None
    if spec.secret_ref is not None:
        secret = await _read_secret(client, spec.secret_ref.name, namespace=namespace)
        credentials = _credentials(secret, spec)
    if spec.ca_secret_ref is not None:
        secret = await _read_secret(client, spec.ca_secret_ref.name, namespace=namespace)
        bundle = _decode_key(secret, spec.ca_secret_ref.key)
        if bundle is None:
            raise _unusable_repository(
                f"Secret {spec.ca_secret_ref.name} has no key {spec.ca_secret_ref.key}: add the CA bundle"
            )
    return Repository(
        url=spec.url,
        credentials=credentials,
        ca_bundle=bundle,
        insecure_skip_tls_verify=spec.insecure_skip_tls_verify,
        allow_plain_http=spec.allow_plain_http,
        interval_seconds=spec.interval_seconds,
        signature=await _load_demand(client, spec.verify, namespace=namespace),
        namespace=namespace,
    )


async def create_chart_repository(
    client: KubeClient, spec: JsonObject, *, namespace: str, name: str, dry_run: bool = False
) -> JsonObject:
    """Create a ChartRepository with `spec` and return it as stored, or as it would be with `dry_run`.

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
    return await client.create(CHART_REPOSITORIES, body, dry_run=dry_run)


def configured_repository_deleted(name: str) -> ChartSourceError:
    """Return the error for a ChartRepository that must not be created again from its url alone."""
    return ChartSourceError(
        f"the ChartRepository {name} was deleted. It had more than a url (secretRef, caSecretRef, verify or options of "
        "its connections), so only you can create it again. Create it, or use another repoName.",
        permanent=True,
    )


async def _load_demand(client: KubeClient, check: SignatureCheck | None, *, namespace: str) -> SignatureDemand | None:
    if check is None:
        return None
    name = check.secret_ref.name
    try:
        data = obj(await client.get(SECRETS, name, namespace=namespace), "data")
    except NotFound:
        raise SignatureInvalid(
            f"signatures cannot be checked: Secret {name} in verify does not exist. Create it with the public keys."
        ) from None
    # The API server returns valid base64 only.
    files = {key: base64.b64decode(text(data, key)) for key in data}
    keys = await asyncio.to_thread(read_trusted_keys, files, origin=f"Secret {name}")
    return SignatureDemand(keys, frozenset({check.provider}))


async def _read_secret(client: KubeClient, name: str, *, namespace: str) -> JsonObject:
    try:
        return await client.get(SECRETS, name, namespace=namespace)
    except NotFound:
        raise _unusable_repository(f"Secret {name} does not exist: create it, or remove the reference") from None


def _credentials(secret: JsonObject, spec: ChartRepositorySpec) -> RepositoryCredentials:
    url, name = parse_repository_url(spec.url), text(obj(secret, "metadata"), "name")
    if text(secret, "type") not in (REPOSITORY_CREDENTIALS_TYPE, BASIC_AUTH_TYPE):
        raise _unusable_repository(
            f"Secret {name} does not have the type {REPOSITORY_CREDENTIALS_TYPE} or {BASIC_AUTH_TYPE}, so it is not "
            "read as credentials: create it again with that type"
        )
    if not _is_for(url, text(obj(obj(secret, "metadata"), "annotations"), ANNOTATION_ORIGIN)):
        raise _unusable_repository(
            f"Secret {name} is not for {format_origin(url)}, so it is not sent there: if that is right, set its "
            f"annotation {ANNOTATION_ORIGIN} to {format_origin(url)}"
        )
    if url.scheme == "http" and not spec.allow_plain_http:
        raise plain_http_refused(url)
    if token := _decode_credential(secret, "token"):
        return TokenCredentials(token)
    username, password = _decode_credential(secret, "username"), _decode_credential(secret, "password")
    if username is None or password is None:
        raise _unusable_repository(f"Secret {name} needs the keys username and password, or token")
    return BasicCredentials(username, password)


def _is_for(url: URL, annotation: str) -> bool:
    try:
        named = parse_repository_url(annotation)
    except AddressRefused:
        return False
    return origin(named) == origin(url) and named.path in ("", "/") and not named.query_string and not named.fragment


def _decode_credential(secret: JsonObject, key: str) -> str | None:
    value = _decode_key(secret, key)
    if value is not None and has_control_characters(value):
        name = text(obj(secret, "metadata"), "name")
        raise _unusable_repository(
            f"the key {key} of Secret {name} has a line break or another control character, which no header may have: "
            "create it again without; mind the end, where echo writes a line break and printf does not"
        )
    return value


def _decode_key(secret: JsonObject, key: str) -> str | None:
    data = obj(secret, "data")
    if key not in data:
        return None
    try:
        return base64.b64decode(text(data, key)).decode()
    except (binascii.Error, UnicodeDecodeError):
        name = text(obj(secret, "metadata"), "name")
        raise _unusable_repository(f"the key {key} of Secret {name} is not text: create it again") from None


def _unusable_repository(reason: str) -> ChartSourceError:
    return ChartSourceError(f"the ChartRepository cannot be used: {reason}", permanent=True)
