"""Which XApp works on which Helm release: several may name the same one, and only one helm may work on it at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xapp_operator.errors import ReleaseHeld
from xapp_operator.reconcile.work.work_queue import NamespacedName


class HeldReleases:
    """The releases that somebody holds, each by its namespace and name, and the uid of the XApp that holds it.

    Whoever runs helm holds the release until that process is gone and what it did is known. Nobody waits for a release:
    what was planned is not true any more afterwards. Instead, `on_free` is called with the release and the uid. A
    release is held by its own namespace only, and for no longer than one helm step of an XApp there lasts.
    """

    def __init__(self, *, on_free: Callable[[NamespacedName, str], None]) -> None:
        self._holders: dict[NamespacedName, str] = {}
        self._on_free = on_free

    def is_held_by_other(self, release: NamespacedName, uid: str) -> bool:
        """Return whether another XApp holds the release; an earlier one of the same name is another one too."""
        return self._holders.get(release, uid) != uid

    @contextmanager
    def hold(self, release: NamespacedName, uid: str) -> Iterator[None]:
        """Hold the release until the block ends.

        Raises:
            ReleaseHeld: when it is held already, also by the same XApp.
        """
        if release in self._holders:
            raise ReleaseHeld(f"another helm process works on the release {release[1]}")
        self._holders[release] = uid
        try:
            yield
        finally:
            del self._holders[release]
            self._on_free(release, uid)
