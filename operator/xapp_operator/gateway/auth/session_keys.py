"""The keys of session cookies, which all replicas share through a Secret in the gateway's own namespace.

The gateway reads and creates the Secret as itself: tenants have no rights in that namespace. Each entry of the Secret
is a key, named by the second since 1970 in which it was made. The newest key seals; all of them unseal. To rotate, add
an entry, and remove the old one when no session can be left of it. To end all sessions at once, delete the Secret.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from xapp_operator.api.json import JsonObject, obj
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.config import Settings
from xapp_operator.errors import AccessDenied, AlreadyExists, ApiUnavailable, KubeError, NotFound, Unauthenticated
from xapp_operator.gateway.auth.session_cookies import is_sealed, seal, session_ended_error, unseal
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS
from xapp_operator.telemetry.logs import get_logger

KEY_BYTES: Final = 32
KEY_REFRESH_SECONDS: Final = 30.0
"""How long a replica may still unseal with a removed key, or seal with a key that is no longer the newest."""
KEY_READ_INTERVAL_SECONDS_MIN: Final = 1.0
"""Anyone can make up cookies with unknown keys; together they cause at most one request in this time."""
SECRET_TYPE: Final = "xapp-operator.io/session-keys"  # noqa: S105 - the type of a Secret

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _KeyRing:
    keys: MultiFernet
    read_at: float


class SessionKeys:
    """Seals and opens session cookies with the keys of the Secret, which it creates if it is missing."""

    def __init__(
        self, kube: KubeClient, settings: Settings, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._kube = kube
        self._namespace = settings.session_namespace
        self._name = settings.session_secret
        self._monotonic = monotonic
        self._key_ring: _KeyRing | None = None
        self._reads: SingleFlight[str, _KeyRing] = SingleFlight()

    async def seal(self, token: str, *, expires: int) -> str:
        """Return the cookie value that holds `token` until `expires` (seconds since 1970).

        Raises:
            KubeError: when the keys can be neither read nor created.
        """
        key_ring = await self._get_key_ring(KEY_REFRESH_SECONDS)
        return seal(token, keys=key_ring.keys, expires=expires)

    async def unseal(self, cookie: str) -> str:
        """Return the token in a cookie value.

        Raises:
            SessionEnded: when it has expired, or is not sealed with one of the keys.
            KubeError: when the keys cannot be read and have never been read.
        """
        if not is_sealed(cookie):
            raise session_ended_error()
        received_at = self._monotonic()
        key_ring = await self._get_key_ring(KEY_REFRESH_SECONDS)
        try:
            try:
                token, expires = unseal(cookie, keys=key_ring.keys)
            except InvalidToken:
                # Another replica may have sealed it with a key that has just been added.
                await asyncio.sleep(max(0.0, key_ring.read_at + KEY_READ_INTERVAL_SECONDS_MIN - self._monotonic()))
                key_ring = await self._get_key_ring(self._monotonic() - received_at)
                token, expires = unseal(cookie, keys=key_ring.keys)
        except InvalidToken:
            raise session_ended_error() from None
        if time.time() >= expires:
            raise session_ended_error()
        return token

    async def _get_key_ring(self, max_age_seconds: float) -> _KeyRing:
        key_ring = self._key_ring
        if key_ring is not None and self._monotonic() - key_ring.read_at < max_age_seconds:
            return key_ring
        try:
            return await self._reads.run(self._name, self._read_key_ring)
        except ApiUnavailable:
            if key_ring is None:
                raise
            return key_ring
        except (AccessDenied, Unauthenticated) as error:
            raise KubeError(
                f"the gateway may not get or create the Secret {self._namespace}/{self._name}, which holds the keys of "
                "sessions: give its service account that right, or send a bearer token with each request"
            ) from error

    async def _read_key_ring(self) -> _KeyRing:
        started_at = self._monotonic()
        try:
            secret = await self._kube.get(SECRETS, self._name, namespace=self._namespace)
        except NotFound:
            secret = await self._create_secret()
        keys = _decode_keys(secret)
        if not keys:
            raise KubeError(
                f"the Secret {self._namespace}/{self._name} holds no session key: each entry must be named by a number "
                f"and hold {KEY_BYTES} bytes; delete the Secret, and the gateway creates a new one"
            )
        self._key_ring = _KeyRing(keys=MultiFernet(keys), read_at=started_at)
        return self._key_ring

    async def _create_secret(self) -> JsonObject:
        key = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
        body: JsonObject = {
            "apiVersion": SECRETS.api_version,
            "kind": SECRETS.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "type": SECRET_TYPE,
            "data": {str(int(time.time())): key},
        }
        try:
            created = await self._kube.create(SECRETS, body)
        except AlreadyExists:
            return await self._kube.get(SECRETS, self._name, namespace=self._namespace)
        except NotFound as error:
            raise KubeError(
                f"there is no namespace {self._namespace} to keep session keys in: create it, or name another one in "
                "XAPP_SESSION_NAMESPACE",
            ) from error
        _log.info("session keys created", namespace=self._namespace, name=self._name)
        return created


def _decode_keys(secret: JsonObject) -> list[Fernet]:
    """Return the keys in a Secret, newest first."""
    found: dict[int, Fernet] = {}
    for name, value in obj(secret, "data").items():
        if not (name.isascii() and name.isdecimal() and isinstance(value, str)):
            continue
        try:
            key = base64.b64decode(value, validate=True)
        except binascii.Error:
            continue
        if len(key) == KEY_BYTES:
            found[int(name)] = Fernet(base64.urlsafe_b64encode(key))
    return [found[created_at] for created_at in sorted(found, reverse=True)]
