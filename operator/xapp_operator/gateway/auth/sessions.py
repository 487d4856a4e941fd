"""Sessions: a bearer token becomes a cookie and a proof, which together sign requests in until they end.

The server keeps no sessions. It shares keys, and the list of sessions that were signed out (`session_secret`). The
cluster decides at each use whether the token is still valid.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xapp_operator.config.settings import Settings
from xapp_operator.domain.caller_groups import group_of_user
from xapp_operator.errors import NextRequest, SessionEnded, SessionProofRequired, Unauthenticated
from xapp_operator.gateway.auth.session_cookies import (
    ID_BYTES,
    OWNER_BYTES,
    Session,
    jwt_expiry,
    key_name_of,
    make_proof,
    proof_digest,
    seal,
    session_ended_error,
    unseal,
)
from xapp_operator.gateway.auth.session_revocations import Revocation
from xapp_operator.gateway.auth.session_secret import STATE_SECONDS, SessionSecret, SessionState
from xapp_operator.kube.client import KubeClient


@dataclass(frozen=True, slots=True)
class NewSession:
    """What signing in returns: the cookie for the browser, the proof for its page. `expires`: seconds since 1970."""

    cookie: str = field(repr=False)
    proof: str = field(repr=False)
    expires: int
    seconds: int


class Sessions:
    """Begins, opens and ends sessions."""

    def __init__(
        self, kube: KubeClient, settings: Settings, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._secret = SessionSecret(kube, settings, monotonic=monotonic)
        self._max_seconds = settings.session_max_seconds
        self._monotonic = monotonic

    async def begin(self, token: str, *, user: str) -> NewSession:
        """Return a new session of the owner of `token`; it ends with the token, or after XAPP_SESSION_MAX_SECONDS.

        Raises:
            Unauthenticated: when the token has expired, which the API server may not have noticed yet.
            KubeError: when the keys can be neither read nor created.
        """
        now = int(time.time())
        expiry = jwt_expiry(token)
        if expiry is not None and expiry <= now:
            raise Unauthenticated("this token has expired: sign in with a new one")
        seconds = self._max_seconds if expiry is None else min(expiry - now, self._max_seconds)
        proof = make_proof()
        state = await self._secret.get_state()
        session = Session(
            key_name=state.newest_key,
            id=secrets.token_bytes(ID_BYTES),
            user=_owner_digest(user),
            group=_owner_digest(group_of_user(user)),
            issued_at=now,
            expires=now + seconds,
            proof_digest=proof_digest(proof),
            token=token,
        )
        return NewSession(seal(session, key=state.keys[session.key_name]), proof, session.expires, seconds)

    async def open_any(self, cookies: Sequence[str], *, proof: str) -> Session:
        """Return the session of the one cookie that `proof` belongs to.

        Another server of the same host can set cookies of the same name, but does not know the proof.

        Raises:
            SessionEnded: when each has expired or was signed out, or is not sealed with one of the keys.
            SessionProofRequired: when a session is open, and `proof` is not that of any.
            KubeError: when the keys cannot be read.
        """
        key_names = {cookie: name for cookie in cookies if (name := key_name_of(cookie)) is not None}
        if not key_names:
            raise session_ended_error()
        received_at = self._monotonic()
        state = await self._secret.get_state()
        session, refusal = _find_session(key_names, state, proof=proof)
        added = [cookie for cookie, name in key_names.items() if name > state.newest_key]
        if session is None and added:
            # Another replica may have sealed one with a key that has just been added. Anyone can make up such cookies;
            # all of a request wait once, and those of all requests cause at most one read in STATE_SECONDS.
            await asyncio.sleep(max(0.0, state.read_at + STATE_SECONDS - self._monotonic()))
            state = await self._secret.get_state(max_age_seconds=self._monotonic() - received_at)
            session, later = _find_session(added, state, proof=proof)
            refusal = later if isinstance(later, SessionProofRequired) else refusal
        if session is None:
            raise refusal
        return session

    async def open(self, cookie: str, *, proof: str) -> Session:
        """Return the session of one cookie. Raises as `open_any`."""
        return await self.open_any((cookie,), proof=proof)

    async def require_open(self, session: Session) -> None:
        """Check a session again that a long response or a WebSocket still uses.

        Raises:
            SessionEnded: when it has expired or was signed out, or its key is gone.
            ApiUnavailable: when that cannot be known.
        """
        _require_open(session, await self._secret.get_state())

    async def end(self, session: Session) -> None:
        """Sign a session out on every replica.

        Raises:
            NotReady, KubeError: when that cannot be written; the session then goes on.
        """
        await self._secret.revoke(Revocation.of(session))
        await asyncio.sleep(STATE_SECONDS)


def _find_session(
    cookies: Iterable[str], state: SessionState, *, proof: str
) -> tuple[Session | None, SessionEnded | SessionProofRequired]:
    """Return the open session that `proof` belongs to, or None and why no cookie has it."""
    refusal: SessionEnded | SessionProofRequired = session_ended_error()
    for cookie in cookies:
        try:
            session = unseal(cookie, keys=state.keys)
            _require_open(session, state)
        except SessionEnded:
            continue
        if session.is_proved_by(proof):
            return session, refusal
        refusal = SessionProofRequired(
            "the session cookie comes without its proof: sign in again, or send the proof from the answer of the "
            "sign-in as X-Session-Proof"
        ).with_next(NextRequest("POST", "/api/session"))
    return None, refusal


def _require_open(session: Session, state: SessionState) -> None:
    if time.time() >= session.expires or session.key_name not in state.keys or state.revocations.ends(session):
        raise session_ended_error()


def _owner_digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:OWNER_BYTES]
