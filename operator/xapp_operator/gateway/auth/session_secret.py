"""The Secret that all replicas share: the keys of session cookies, and the sessions that were signed out.

The gateway reads and writes the Secret as itself, in its own namespace, where tenants have no rights. An entry whose
name is a number is a key, named by the second since 1970 in which it was made. The newest key seals; every key unseals.
A key that is too old gets a successor, and is removed when no session can be left of it. To end all sessions at once,
delete the Secret.

A request that a cookie signs in needs a state of the Secret that is at most STATE_SECONDS old. Signing out waits for as
long after its write, so that no replica accepts the session afterwards.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from cryptography.fernet import Fernet

from xapp_operator.api.json import Json, JsonObject, obj, text
from xapp_operator.common.single_flight import SingleFlight
from xapp_operator.config.settings import Settings
from xapp_operator.errors import (
    AccessDenied,
    AlreadyExists,
    ApiOverloaded,
    ApiUnavailable,
    Conflict,
    KubeError,
    NotFound,
    Unauthenticated,
)
from xapp_operator.gateway.auth.session_revocations import Revocation, Revocations
from xapp_operator.kube.client import KubeClient
from xapp_operator.kube.resources import SECRETS
from xapp_operator.telemetry.logs import get_logger

KEY_BYTES: Final = 32
STATE_SECONDS: Final = 1.0
STALE_STATE_SECONDS: Final = 300.0
"""Age up to which a state counts while the API server is away, as for access reviews. A 429 is no such outage: a caller
can bring it about for one replica, to go on with a session that was signed out on another."""
CLOCK_SKEW_SECONDS: Final = 300
WRITE_ATTEMPTS: Final = 8
ROTATION_RETRY_SECONDS: Final = 60.0
REVOCATIONS_ENTRY: Final = "revocations"
SECRET_TYPE: Final = "xapp-operator.io/session-keys"  # noqa: S105 - the type of a Secret

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SessionState:
    """The Secret as it was read at `read_at`, in seconds of the monotonic clock."""

    keys: Mapping[int, Fernet]
    revocations: Revocations
    read_at: float

    @property
    def newest_key(self) -> int:
        return max(self.keys)


class SessionSecret:
    """Reads and writes the Secret, and creates it if it is missing."""

    def __init__(self, kube: KubeClient, settings: Settings, *, monotonic: Callable[[], float]) -> None:
        self._kube = kube
        self._namespace = settings.session_namespace
        self._name = settings.session_secret
        self._session_max_seconds = settings.session_max_seconds
        self._key_seconds = settings.session_key_seconds
        self._monotonic = monotonic
        self._state: SessionState | None = None
        self._reads: SingleFlight[str, SessionState] = SingleFlight()
        self._writing = asyncio.Lock()
        self._unwritten: set[Revocation] = set()
        self._rotate_after = 0.0

    async def get_state(self, *, max_age_seconds: float | None = None) -> SessionState:
        """Return a state of the last `max_age_seconds` (STATE_SECONDS), or older while the API server does not answer.

        Raises:
            ApiUnavailable: when it does not answer and there is no state that is new enough for that.
            ApiOverloaded: when it refuses to answer more requests.
            KubeError: when the gateway may not read or create the Secret, or the Secret holds no key.
        """
        state = self._state
        age = float("inf") if state is None else self._monotonic() - state.read_at
        if state is not None and age < (STATE_SECONDS if max_age_seconds is None else max_age_seconds):
            return state
        try:
            return await self._reads.run(self._name, self._read_state, require_new=True)
        except ApiUnavailable as error:
            if isinstance(error, ApiOverloaded) or state is None or age >= STALE_STATE_SECONDS:
                raise
            return state

    async def revoke(self, revocation: Revocation) -> None:
        """Add a revocation; concurrent calls share a write.

        Raises:
            NotReady: when the list is full.
            KubeError: when the Secret cannot be written.
        """
        self._unwritten.add(revocation)
        async with self._writing:
            if revocation not in self._unwritten:
                return  # written together with that of another call
            together = frozenset(self._unwritten)
            try:
                await self._write_revocations(together)
                self._unwritten -= together
            finally:
                self._unwritten.discard(revocation)  # the others try by themselves

    async def _write_revocations(self, new: frozenset[Revocation]) -> None:
        for _ in range(WRITE_ATTEMPTS):
            started_at = self._monotonic()
            secret = await self._get_or_create()
            now = int(time.time())
            revocations = _decode_revocations(secret).with_new(
                new, now=now, session_max_seconds=self._session_max_seconds
            )
            changes: JsonObject = {REVOCATIONS_ENTRY: base64.b64encode(revocations.encode()).decode()}
            written = await self._try_to_patch(secret, changes)
            if written is not None:
                self._remember(written, read_at=started_at)
                return
        raise Conflict("other replicas keep changing the list of signed-out sessions: send the request again")

    async def _read_state(self) -> SessionState:
        started_at = self._monotonic()
        secret = await self._get_or_create()
        if self._is_rotation_due(secret, started_at):
            secret = await self._rotate(secret, started_at)
        return self._remember(secret, read_at=started_at)

    def _is_rotation_due(self, secret: JsonObject, now: float) -> bool:
        keys = _decode_keys(secret)
        return bool(keys) and time.time() - max(keys) >= self._key_seconds and now >= self._rotate_after

    async def _rotate(self, secret: JsonObject, started_at: float) -> JsonObject:
        """Add a key and remove those that no session can have; another replica may be first."""
        now = int(time.time())
        names = sorted(_decode_keys(secret))
        # A key was replaced when its successor was made; the last replica noticed within the skew of the clocks.
        lifetime = self._session_max_seconds + CLOCK_SKEW_SECONDS
        retired = [name for name, successor in pairwise(names) if now - successor > lifetime]
        changes: JsonObject = {str(now): _make_key(), **dict.fromkeys(map(str, retired))}
        self._rotate_after = started_at + ROTATION_RETRY_SECONDS
        try:
            rotated = await self._try_to_patch(secret, changes)
        except KubeError as error:
            # The old key still serves.
            _log.warning("session key not rotated", namespace=self._namespace, name=self._name, error=error.message)
            return secret
        if rotated is None:
            return await self._get_or_create()
        _log.info("session key rotated", namespace=self._namespace, name=self._name, removed=len(retired))
        return rotated

    def _remember(self, secret: JsonObject, *, read_at: float) -> SessionState:
        keys = _decode_keys(secret)
        if not keys:
            raise KubeError(
                f"the Secret {self._namespace}/{self._name} holds no session key: each entry must be named by a number "
                f"and hold {KEY_BYTES} bytes; delete the Secret, and the gateway creates a new one"
            )
        fernets = {name: Fernet(base64.urlsafe_b64encode(key)) for name, key in keys.items()}
        self._state = SessionState(fernets, _decode_revocations(secret), read_at)
        return self._state

    async def _get_or_create(self) -> JsonObject:
        try:
            try:
                return await self._kube.get(SECRETS, self._name, namespace=self._namespace)
            except NotFound:
                return await self._create()
        except (AccessDenied, Unauthenticated) as error:
            raise self._missing_right("get or create") from error

    async def _create(self) -> JsonObject:
        body: JsonObject = {
            "apiVersion": SECRETS.api_version,
            "kind": SECRETS.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "type": SECRET_TYPE,
            "data": {str(int(time.time())): _make_key()},
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

    async def _try_to_patch(self, secret: JsonObject, changes: Mapping[str, Json]) -> JsonObject | None:
        """Change entries of the Secret (None removes one) and return it, or None if it has changed meanwhile."""
        version = text(obj(secret, "metadata"), "resourceVersion")
        body: JsonObject = {"metadata": {"resourceVersion": version}, "data": dict(changes)}
        try:
            return await self._kube.patch(SECRETS, self._name, body, namespace=self._namespace)
        except (Conflict, NotFound):
            return None
        except (AccessDenied, Unauthenticated) as error:
            raise self._missing_right("patch") from error

    def _missing_right(self, verbs: str) -> KubeError:
        return KubeError(
            f"the gateway may not {verbs} the Secret {self._namespace}/{self._name}, which holds the keys of sessions: "
            "give its service account that right, name another Secret in XAPP_SESSION_NAMESPACE and "
            "XAPP_SESSION_SECRET, or send a bearer token with each request"
        )


def _make_key() -> str:
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def _decode_keys(secret: JsonObject) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for name, value in obj(secret, "data").items():
        if not (name.isascii() and name.isdecimal() and isinstance(value, str)):
            continue
        try:
            key = base64.b64decode(value, validate=True)
        except binascii.Error:
            continue
        if len(key) == KEY_BYTES:
            found[int(name)] = key
    return found


def _decode_revocations(secret: JsonObject) -> Revocations:
    try:
        return Revocations.parse(base64.b64decode(text(obj(secret, "data"), REVOCATIONS_ENTRY), validate=True))
    except ValueError as error:
        # To go on without the list would bring back sessions that were signed out.
        raise KubeError(
            f"the entry {REVOCATIONS_ENTRY} of the session Secret is damaged: delete the Secret, which ends "
            "all sessions"
        ) from error
