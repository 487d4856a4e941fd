"""A small chart with a Deployment, a Service and an optional hook, whose values make it healthy or not."""

from __future__ import annotations

from tests.support.charts import chart_archive

VALUES = """\
greeting: hello
replicas: 1
fail: ""
extra: {}
hookSeconds: ""
global:
  kubeIp: ""
"""

CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  greeting: {{ .Values.greeting | quote }}
  kubeIp: {{ .Values.global.kubeIp | quote }}
  {{- range $key, $value := .Values.extra }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels:
        app: {{ .Release.Name }}
        {{- with .Values.fail }}
        xapp-operator.io/test-fail: {{ . }}
        {{- end }}
      annotations:
        greeting: {{ .Values.greeting | quote }}
    spec:
      containers:
        - name: main
          image: registry.example.com/main:1
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {app: {{ .Release.Name }}}
  ports:
    - {name: http, port: 8080, targetPort: 8080}
    - {name: metrics, port: 9090, targetPort: 9090}
"""

HOOK = """\
{{- with .Values.hookSeconds }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-prepare
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    metadata:
      annotations:
        xapp-operator.io/test-complete-after: {{ . }}
    spec:
      restartPolicy: Never
      containers:
        - name: prepare
          image: registry.example.com/prepare:1
{{- end }}
"""

FILES = {
    "values.yaml": VALUES,
    "templates/configmap.yaml": CONFIGMAP,
    "templates/deployment.yaml": DEPLOYMENT,
    "templates/service.yaml": SERVICE,
    "templates/hook.yaml": HOOK,
}


def workload_chart(*, name: str = "workload", version: str = "0.1.0", **files: str) -> bytes:
    """Return the packed chart. `files` are added or replace others; `__` in a name stands for `/`."""
    added = {path.replace("__", "/") + ".yaml": content for path, content in files.items()}
    return chart_archive({**FILES, **added}, name=name, version=version)
