"""Charts in the style of other RICs: of dRAX, with its labels, and of SD-RAN, without any labels."""

from __future__ import annotations

from typing import Final

from tests.support.charts import chart_archive

DRAX_VALUES: Final = "name: hello-world\ngreeting: hello\nbroken: ''\n"

DRAX_HELPERS: Final = """\
{{- define "labels" -}}
drax/role: xapp
{{- with .Values.name }}
drax/xapp-name: {{ . }}
{{- end }}
drax/xapp-component-name: {{ .component }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}
"""

DRAX_DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "labels" (merge (dict "component" "core") .) | nindent 4 }}
spec:
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels:
        app: {{ .Release.Name }}
        {{- include "labels" (merge (dict "component" "core") .) | nindent 8 }}
        {{- with .Values.broken }}
        xapp-operator.io/test-fail: {{ . }}
        {{- end }}
    spec:
      containers:
        - name: core
          image: registry.example.com/core:1
"""

DRAX_SERVICE: Final = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-api
  labels: {{- include "labels" (merge (dict "component" "api") .) | nindent 4 }}
spec:
  selector: {app: {{ .Release.Name }}}
  ports:
    - {name: http, port: 8080, targetPort: 8080}
"""

DRAX_CONFIGMAP: Final = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-config
  labels: {{- include "labels" (merge (dict "component" "config") .) | nindent 4 }}
data:
  greeting: {{ .Values.greeting | quote }}
"""

DRAX_STATEFULSET: Final = """\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "labels" (merge (dict "component" "store") .) | nindent 4 }}
spec:
  serviceName: {{ .Release.Name }}-api
  selector:
    matchLabels: {app: {{ .Release.Name }}-store}
  template:
    metadata:
      labels:
        app: {{ .Release.Name }}-store
        {{- include "labels" (merge (dict "component" "store") .) | nindent 8 }}
    spec:
      containers:
        - name: store
          image: registry.example.com/store:1
  volumeClaimTemplates:
    - metadata:
        name: data
        labels: {{- include "labels" (merge (dict "component" "store") .) | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 1Mi}}
"""

SDRAN_DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    matchLabels: {name: {{ .Release.Name }}}
  template:
    metadata:
      labels: {name: {{ .Release.Name }}}
    spec:
      containers:
        - name: main
          image: registry.example.com/kpimon:1
"""

SDRAN_SERVICE: Final = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {name: {{ .Release.Name }}}
  ports:
    - {name: grpc, port: 5150, targetPort: 5150, appProtocol: grpc}
    - {name: gnmi, port: 9339, targetPort: 9339, appProtocol: grpc}
    - {name: prometheus, port: 7070, targetPort: metrics}
    - {name: sctp, port: 36421, protocol: SCTP}
"""


def drax_chart(*, name: str = "hello-world", version: str = "0.2.1", **files: str) -> bytes:
    """Return a chart whose objects and pods have the dRAX labels; `files` are additional templates."""
    return chart_archive(
        {
            "values.yaml": DRAX_VALUES,
            "templates/_helpers.tpl": DRAX_HELPERS,
            "templates/deployment.yaml": DRAX_DEPLOYMENT,
            "templates/service.yaml": DRAX_SERVICE,
            "templates/configmap.yaml": DRAX_CONFIGMAP,
            **{f"templates/{path}.yaml": content for path, content in files.items()},
        },
        name=name,
        version=version,
        app_version="7.1",
    )


def sdran_chart() -> bytes:
    """Return a chart with several named ports, some of them gRPC, and without labels that identify the xApp."""
    return chart_archive(
        {"templates/deployment.yaml": SDRAN_DEPLOYMENT, "templates/service.yaml": SDRAN_SERVICE}, name="kpimon"
    )
