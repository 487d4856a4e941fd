"""The charts of a run that belong to it, with an object whose name changes from one revision to the next."""

from __future__ import annotations

import hashlib
from typing import Final

from tests.support.workload import workload_chart

GREETING_KEY: Final = "namedAfter"
"""In the data of the ConfigMap that is named after the greeting, and in no other."""
DIGEST_LENGTH: Final = 8

_NAMED: Final = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{{{ .Release.Name }}}}-{{{{ .Values.greeting | sha256sum | trunc {DIGEST_LENGTH} }}}}
data:
  {GREETING_KEY}: {{{{ .Values.greeting | quote }}}}
"""


def greeting_chart(*, name: str = "workload", version: str = "0.1.0", **files: str) -> bytes:
    """Return the packed chart of tests/support/workload.py with a ConfigMap that is named after the greeting.

    What helm leaves of a revision shows only in an object that the next revision does not have.
    """
    return workload_chart(name=name, version=version, templates__named=_NAMED, **files)


def named_config_map(release: str, greeting: str) -> str:
    """Return the name of the ConfigMap that is named after the greeting."""
    return f"{release}-{hashlib.sha256(greeting.encode()).hexdigest()[:DIGEST_LENGTH]}"
