"""The request that starts a supervisor, and the timeouts of both sides."""

import json
from dataclasses import asdict, dataclass

from tests.localcluster.processes import ProcessIdentity

READY_SECONDS = 90.0
"""Timeout of each step of the start, long enough for a machine under load."""
STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """The cluster that the supervisor has to run."""

    directory: str
    binaries: dict[str, str]
    nodes: dict[str, int]
    owner: ProcessIdentity | None

    def to_json(self) -> str:
        """Return the request as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "StartRequest":
        """Parse the result of to_json."""
        raw = json.loads(text)
        owner = raw.pop("owner")
        return cls(**raw, owner=ProcessIdentity(**owner) if owner else None)
