"""What a starter asks of a supervisor, and the deadlines that both go by."""

import json
from dataclasses import asdict, dataclass

from tests.localcluster.processes import ProcessIdentity

READY_SECONDS = 90.0
"""Each step of the start may take this long: generous, for machines under load."""
STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What the supervisor is asked to run."""

    directory: str
    binaries: dict[str, str]
    nodes: dict[str, int]
    owner: ProcessIdentity | None

    def to_json(self) -> str:
        """Write the order as one JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "StartRequest":
        """Read what to_json wrote."""
        raw = json.loads(text)
        owner = raw.pop("owner")
        return cls(**raw, owner=ProcessIdentity(**owner) if owner else None)
