"""The types of texts in a status. Their bounds are in the schema only.

`status_bounds` cuts what is written to these bounds. What is read is taken as it is, because a stored status may be
older than a bound.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import WithJsonSchema

MESSAGE_MAX: Final = 1024
CAUSE_MAX: Final = 2048
"""Characters of the reason for a state: a whole message of an Event (1,024), and the names of what it is about."""
CONDITIONS_MAX: Final = 16
STATUS_TEXT_MAX: Final = 256
"""Characters of a name, a version or a single word."""
DIGEST_MAX: Final = 64
CONDITION_TYPE_MAX: Final = 316
CONDITION_MESSAGE_MAX: Final = 32768

StatusText = Annotated[str, WithJsonSchema({"type": "string", "maxLength": STATUS_TEXT_MAX})]
StatusMessage = Annotated[str, WithJsonSchema({"type": "string", "maxLength": MESSAGE_MAX})]
DigestText = Annotated[str, WithJsonSchema({"type": "string", "maxLength": DIGEST_MAX})]
CauseMessage = Annotated[str, WithJsonSchema({"type": "string", "maxLength": CAUSE_MAX})]
ConditionType = Annotated[str, WithJsonSchema({"type": "string", "maxLength": CONDITION_TYPE_MAX})]
ConditionMessage = Annotated[str, WithJsonSchema({"type": "string", "maxLength": CONDITION_MESSAGE_MAX})]
