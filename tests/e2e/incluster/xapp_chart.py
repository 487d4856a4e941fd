"""The image and chart of an xApp that runs on the real node."""

from tests.localcluster.realnode.node import NODE_LABELS, NODE_TAINT
from tests.support.charts import chart_archive

XAPP_IMAGE = "localhost/testpod:1"

_DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{{{ .Release.Name }}}}
spec:
  selector:
    matchLabels: {{app: {{{{ .Release.Name }}}}}}
  template:
    metadata:
      labels: {{app: {{{{ .Release.Name }}}}}}
    spec:
      nodeSelector: {{{", ".join(f"{key}: {value}" for key, value in NODE_LABELS.items())}}}
      tolerations: [{{key: {NODE_TAINT}, operator: Exists, effect: NoSchedule}}]
      terminationGracePeriodSeconds: 2
      securityContext:
        runAsNonRoot: true
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: main
        image: {XAPP_IMAGE}
        imagePullPolicy: Never
        args: [serve]
        readinessProbe:
          httpGet: {{path: /ready, port: 8080}}
          periodSeconds: 1
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {{drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{{{ .Release.Name }}}}
spec:
  selector: {{app: {{{{ .Release.Name }}}}}}
  ports: [{{name: http, port: 80, targetPort: 8080}}]
"""


def running_chart() -> bytes:
    """Return a chart whose pod complies with restricted Pod Security and becomes ready on the real node."""
    return chart_archive({"templates/deployment.yaml": _DEPLOYMENT}, name="runs")
