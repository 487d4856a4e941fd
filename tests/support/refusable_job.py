"""The template of a Job that the API server refuses if a value says so, after helm has applied what comes before it."""

from __future__ import annotations

from typing import Final

JOB: Final = """\
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}"}
spec:
  suspend: true
  completions: {{ .Values.completions }}
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.invalid/main}]}
"""
REFUSED: Final = -1
"""The value of `completions` with which the API server refuses the Job."""
