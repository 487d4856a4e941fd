"""What is a secret in values: the cases of redaction_cases.json, which the tests of the dashboard read too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

CASES: Final[dict[str, list[Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""`values`: values and what is shown of them. `secretTexts`: texts with their secrets in «», and what they are."""
